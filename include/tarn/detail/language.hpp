// language: the language that the C++ headers (*.hpp) need, C++17; language.h has those of the C
// ones. In an older language each header is empty, so that the line below is all that the compiler
// says about them.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_LANGUAGE_HPP
#define TARN_LANGUAGE_HPP

#if defined(__cplusplus) && __cplusplus >= 201703L
#define TARN_LANGUAGE_17 1
#else
#error "tarn needs C++17 for this header: compile with -std=c++17 or with a later one"
#endif

#endif
