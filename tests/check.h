/* check: for tests in C, which have no framework: the first CHECK that does not hold ends the
 * program with status 1.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_TESTS_CHECK_H
#define TARN_TESTS_CHECK_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))

static inline void check_failed(const char* file, int line, const char* condition) {
  fprintf(stderr, "%s:%d: not true: %s (errno %d)\n", file, line, condition, errno);
  exit(1);
}

#endif
