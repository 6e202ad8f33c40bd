/* hexadecimal: numbers written in base 16 without a C library. C11 and C++17. (Users:
 * tarn/detail/misuse_line.h, and the library's reports.)
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_HEXADECIMAL_H
#define TARN_HEXADECIMAL_H

#include "language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TARN_HEXADECIMAL_MAX = 16 }; /* The digits of the largest number. */

/* The digit for the low four bits of the number. */
static inline char tarn_hexadecimal_digit(unsigned number) {
  return "0123456789abcdef"[number & 15];
}

/* Writes the number into the end of `digits`, without leading zeros and without a NUL, and returns
 * the index of the first digit. 0 is written as one digit. */
static inline size_t tarn_hexadecimal(char digits[TARN_HEXADECIMAL_MAX], uint64_t number) {
  size_t first = TARN_HEXADECIMAL_MAX;
  do {
    digits[--first] = tarn_hexadecimal_digit((unsigned)number);
    number >>= 4;
  } while (number != 0);
  return first;
}

#ifdef __cplusplus
}
#endif

#endif
#endif
