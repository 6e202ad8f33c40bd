/* api: the attributes that public functions are declared with, and hints for the compiler.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_API_H
#define TARN_API_H

#include "language.h"
#if defined(TARN_LANGUAGE)

#if defined(__GNUC__)
#define TARN_API __attribute__((visibility("default")))
#define TARN_ALLOCATES(...) __attribute__((malloc, alloc_size(__VA_ARGS__), warn_unused_result))
#define TARN_ALLOCATES_ONE __attribute__((malloc, warn_unused_result))
/* TARN_ALLOCATES for functions that are passed a tarn_heap. clang counts that as two arguments, so
 * it would take the wrong argument for the size. */
#if defined(__clang__)
#define TARN_ALLOCATES_IN_HEAP(...) TARN_ALLOCATES_ONE
#else
#define TARN_ALLOCATES_IN_HEAP(...) TARN_ALLOCATES(__VA_ARGS__)
#endif
#define TARN_MUST_USE __attribute__((warn_unused_result))
/* TARN_ALLOCATES for functions whose result may alias another pointer. */
#define TARN_ALLOCATES_SHARED(...) __attribute__((alloc_size(__VA_ARGS__), warn_unused_result))
/* For inline functions over what notes its caller's address, so that this is in the program even
 * where nothing is optimised. (Not with -Og: there gcc refuses it for some functions whose address
 * is taken.) */
#if defined(__OPTIMIZE__)
#define TARN_NOTES_CALLER
#else
#define TARN_NOTES_CALLER __attribute__((always_inline))
#endif
#define TARN_WEAK __attribute__((weak)) /* Null unless something linked defines it. */
#define TARN_LIKELY(x) (__builtin_expect(!!(x), 1))
#define TARN_UNLIKELY(x) (__builtin_expect(!!(x), 0))
#define TARN_ASSUME(x) ((x) ? (void)0 : __builtin_unreachable())
#else
#define TARN_API
#define TARN_ALLOCATES(...)
#define TARN_ALLOCATES_ONE
#define TARN_ALLOCATES_IN_HEAP(...)
#define TARN_MUST_USE
#define TARN_ALLOCATES_SHARED(...)
#define TARN_NOTES_CALLER
#define TARN_WEAK
#define TARN_LIKELY(x) (x)
#define TARN_UNLIKELY(x) (x)
#define TARN_ASSUME(x) ((void)0)
#endif

#endif
#endif
