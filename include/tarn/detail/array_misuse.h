/* array_misuse: what array pools do with a pointer that is no live block of theirs: a line
 * `tarn: <kind>: ...` on standard error, and the end of the process by SIGABRT. It needs no library
 * and no header of one; where there is no `write` and no `abort`, the end is a trap.
 *
 * A program that wants to know first, or that has another way to tell, defines
 *
 *   void tarn_array_misused(const char* kind, const char* function, const void* p);
 *
 * (C linkage): it is called before the line is written, and may end the program itself.
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

/* The C library's, under a name of tarn's, so that it collides with no header's declaration; null
 * in a program without it. */
void tarn_array_abort(void) __asm__("abort") __attribute__((weak, noreturn));

/* kind: "invalid free", "double free"; what: what is wrong, in words. */
__attribute__((cold, noinline, noreturn, unused)) static void tarn_array_misuse(
    const char* kind, const char* function, const void* p, const char* what) {
  if (tarn_array_misused != NULL) tarn_array_misused(kind, function, p);
  tarn_misuse_line(kind, function, p, what);
  if (tarn_array_abort != NULL) tarn_array_abort();
  __builtin_trap();
}

#ifdef __cplusplus
}
#endif

#endif
#endif
