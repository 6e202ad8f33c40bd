/* compat/Fault.h: the assertions of D. Lafreniere's Allocator and xallocator. One that does not
 * hold prints a line `tarn: fault: FILE:LINE` on standard error and ends the process by SIGABRT.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_COMPAT_FAULT_H
#define TARN_COMPAT_FAULT_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stdio.h>
#include <stdlib.h>

#define ASSERT() FaultHandler(__FILE__, (unsigned short)__LINE__)
#define ASSERT_TRUE(condition)  \
  do {                          \
    if (!(condition)) ASSERT(); \
  } while (0)

#if defined(__GNUC__)
__attribute__((noreturn, unused))
#endif
static inline void
FaultHandler(const char* file, unsigned short line) {
  fprintf(stderr, "tarn: fault: %s:%u\n", file, (unsigned)line);
  abort();
}

#endif
#endif
