/* check.h: what the tests in C expect.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SOURCES_CHECK_H
#define SOURCES_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                      \
    }                                                                               \
  } while (0)

#endif
