/* steps: a numbering in steps that grow with the numbers: equally many steps for each doubling, and
 * below the first doubling a step for each number. Size classes, bins of spans and lists of free
 * blocks are numbered this way.
 *
 *   steps_log2 2, four steps a doubling:
 *     number  0 1 2 3 | 4 5 6 7 | 8-9 10-11 12-13 14-15 | 16-19 20-23 ...
 *     step    0 1 2 3 | 4 5 6 7 |  8    9    10    11   |  12    13   ...
 *
 * C11 and C++17. (Users: tarn/detail/tlsf_blocks.h, and the library.)
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_STEPS_H
#define TARN_STEPS_H

#include "language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#define TARN_STEPS_FUNCTION __attribute__((always_inline)) TARN_CONSTANT
#else
#define TARN_STEPS_FUNCTION __attribute__((always_inline, unused)) static inline
#endif

/* The number of the highest bit. pre: word != 0 */
TARN_STEPS_FUNCTION unsigned tarn_highest_bit(size_t word) {
  return sizeof(size_t) == 8 ? 63U - (unsigned)__builtin_clzll((unsigned long long)word)
                             : 31U - (unsigned)__builtin_clz((unsigned)word);
}

/* The step that `number` lies in. It has no branch. */
TARN_STEPS_FUNCTION size_t tarn_step_of(size_t number, unsigned steps_log2) {
  const unsigned halvings = tarn_highest_bit(number | (size_t)1 << steps_log2) - steps_log2;
  return ((size_t)halvings << steps_log2) + (number >> halvings);
}

/* The least number in the step. */
TARN_STEPS_FUNCTION size_t tarn_step_begin(size_t step, unsigned steps_log2) {
  const size_t halvings = (step >> steps_log2) - (step >> steps_log2 != 0);
  return (step - (halvings << steps_log2)) << halvings;
}

/* As tarn_step_of, but with a step for each number below 2^exact_log2. pre: exact_log2 >
 * steps_log2 */
TARN_STEPS_FUNCTION size_t tarn_step_after(size_t number, unsigned exact_log2,
                                           unsigned steps_log2) {
  if (number >> exact_log2 == 0) return number;
  return ((size_t)1 << exact_log2) - ((size_t)1 << steps_log2) +
         tarn_step_of(number >> (exact_log2 - steps_log2), steps_log2);
}

#ifdef __cplusplus
}
#endif

#endif
#endif
