/* language: the languages that the public headers need, C11 or C++17. In an older language each
 * header is empty, so that the line below is all that the compiler says about them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_LANGUAGE_H
#define TARN_LANGUAGE_H

#if defined(__cplusplus)
#if __cplusplus >= 201703L
#define TARN_LANGUAGE 1
#endif
#elif defined(__STDC_VERSION__)
#if __STDC_VERSION__ >= 201112L
#define TARN_LANGUAGE 1
#endif
#endif

#if !defined(TARN_LANGUAGE)
#error "tarn needs C11 or C++17: compile with -std=c11 or -std=c++17, or with a later one"
#endif

#endif
