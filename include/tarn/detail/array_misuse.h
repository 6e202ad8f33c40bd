/* array_misuse: what array pools do with a pointer that is no live block of theirs. They write a
 * line `tarn: <kind>: ...` to standard error and end the process by SIGABRT. No library and no
 * header of one is needed; where there is no `write` and no `abort`, the processor traps.
 *
 * A program that wants to know first, or that reports in another way, defines
 *
 *   void tarn_array_misused(const char* kind, const char* function, const void* p);
 *
 * with C linkage. It is called before the line is written, and may end the program itself.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_ARRAY_MISUSE_H
#define TARN_ARRAY_MISUSE_H

#include "language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>

#include "misuse_line.h"

#ifdef __cplusplus
extern "C" {
#endif

void tarn_array_misused(const char* kind, const char* function, const void* p)
    __attribute__((weak));

/* Reports a misuse and ends the program. kind: "invalid free" or "double free". what: what is
 * wrong, in words. */
__attribute__((cold, noinline, noreturn, unused)) static void tarn_array_misuse(
    const char* kind, const char* function, const void* p, const char* what) {
  if (tarn_array_misused != NULL) tarn_array_misused(kind, function, p);
  tarn_misuse_end(kind, function, p, what);
}

#ifdef __cplusplus
}
#endif

#endif
#endif
