/* language: the languages that the C headers (*.h) need, C99 or C++11; language.hpp has that of the
 * C++ ones. In an older language each header is empty, so that the line below is all that the
 * compiler says about them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_LANGUAGE_H
#define TARN_LANGUAGE_H

#if defined(__cplusplus)
#if __cplusplus >= 201103L
#define TARN_LANGUAGE 1
#endif
#elif defined(__STDC_VERSION__)
#if __STDC_VERSION__ >= 199901L
#define TARN_LANGUAGE 1
#endif
#endif

/* For inline functions of more than one statement, which C++11 has no constants from. */
#if defined(__cplusplus) && __cplusplus >= 201402L
#define TARN_CONSTANT constexpr
#elif defined(__cplusplus)
#define TARN_CONSTANT inline
#endif

/* A result that a caller must look at, or cast to void. */
#if defined(__cplusplus) && __cplusplus >= 201703L
#define TARN_NODISCARD [[nodiscard]]
#else
#define TARN_NODISCARD
#endif

#if !defined(TARN_LANGUAGE)
#error "tarn needs C99 or C++11: compile with -std=c99 or -std=c++11, or with a later one"
#endif

#endif
