/* exact_index: the number of a block from its address by one multiplication, for blocks of any size
 * that lie side by side. C11 and C++17. (Users: tarn/detail/array_blocks.h,
 * tarn/detail/static_bits.h, tarn/pool/array_pool.hpp, and the library.)
 *
 *   stride = odd << shift;  inverse * odd = 1 modulo 2^bits of size_t
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_EXACT_INDEX_H
#define TARN_EXACT_INDEX_H

#include "language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define TARN_EXACT_INLINE __attribute__((always_inline)) inline
#define TARN_EXACT_CONSTANT __attribute__((always_inline)) TARN_CONSTANT
#else
#define TARN_EXACT_INLINE __attribute__((always_inline, unused)) static inline
#define TARN_EXACT_CONSTANT TARN_EXACT_INLINE
#endif

/* The number of the block that starts at `p`, among blocks of `stride` bytes from `first` on. When
 * p is not the start of a block, the result is no block's number. It takes one multiplication and
 * is exact: the inverse of an odd number modulo 2^n takes its multiples to small numbers, and
 * everything else to large ones (T. Granlund, P. Montgomery, Division by Invariant Integers using
 * Multiplication, 1994, section 9). inverse and shift: those of the stride, from the two functions
 * below. */
TARN_EXACT_INLINE size_t tarn_exact_index(const void* first, const void* p, size_t inverse,
                                          unsigned shift) {
  const size_t scaled = ((size_t)(uintptr_t)p - (size_t)(uintptr_t)first) * inverse;
  const unsigned back = (unsigned)(sizeof(size_t) * 8) - shift;
  return shift == 0 ? scaled : scaled >> shift | scaled << back;
}

/* The shift of a stride: the power of two in it. The rest is odd, so it has an inverse. */
TARN_EXACT_CONSTANT unsigned tarn_exact_shift(size_t stride) {
  return sizeof(size_t) == 8 ? (unsigned)__builtin_ctzll((unsigned long long)stride)
                             : (unsigned)__builtin_ctz((unsigned)stride);
}

/* The inverse of the odd part of a stride modulo 2^bits of size_t, by Newton's iteration: an odd x
 * is its own inverse modulo 8, and each step doubles the number of correct bits. */
TARN_EXACT_CONSTANT size_t tarn_exact_inverse(size_t stride) {
  const size_t odd = stride >> tarn_exact_shift(stride);
  size_t x = odd;
  x *= 2 - odd * x;
  x *= 2 - odd * x;
  x *= 2 - odd * x;
  x *= 2 - odd * x;
  x *= 2 - odd * x;
  return x;
}

#ifdef __cplusplus
}
#endif

#endif
#endif
