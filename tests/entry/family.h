/* family: the names of the malloc family under test, so that one body tests every form of tarn.
 *
 * FAMILY(malloc) is `malloc` in programs that link or preload the drop-in, and `tarn_malloc`
 * where TARN_PREFIXED is defined: the plain library, which is the form that sanitizers accept.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_TESTS_ENTRY_FAMILY_H
#define TARN_TESTS_ENTRY_FAMILY_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef TARN_PREFIXED
#include <tarn/tarn.h>
#define FAMILY(name) tarn_##name
#else
#include <malloc.h>
#define FAMILY(name) name
/* C23 has these two; the C library of the oldest supported system does not declare them yet. */
#ifdef __cplusplus
extern "C" {
void free_sized(void* block, size_t size) noexcept;
void free_aligned_sized(void* block, size_t alignment, size_t size) noexcept;
}
#else
void free_sized(void* block, size_t size);
void free_aligned_sized(void* block, size_t alignment, size_t size);
#endif
#endif

#endif
