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

#include <stddef.h>
#include <stdint.h>

#include "tarn/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

void tarn_array_misused(const char* kind, const char* function, const void* p)
    __attribute__((weak));

/* The C library's, under names of tarn's, so that they collide with no header's declarations; null
 * in a program without them. */
ptrdiff_t tarn_array_write(int file, const void* text, size_t bytes)
    __asm__("write") __attribute__((weak));
void tarn_array_abort(void) __asm__("abort") __attribute__((weak, noreturn));

static inline size_t tarn_array_append(char* line, size_t length, size_t room, const char* words) {
  while (*words != '\0' && length < room) line[length++] = *words++;
  return length;
}

/* Writes the line, and has tools that watch say what p is. */
__attribute__((always_inline, unused)) static inline void tarn_array_tell(
    const char* kind, const char* function, const void* p, const char* what) {
  char line[240];
  const size_t room = sizeof line - 1; /* The newline's place is kept. */
  size_t length = tarn_array_append(line, 0, room, "tarn: ");
  length = tarn_array_append(line, length, room, kind);
  length = tarn_array_append(line, length, room, ": ");
  length = tarn_array_append(line, length, room, function);
  length = tarn_array_append(line, length, room, "(0x");
  int shift = (int)(sizeof(uintptr_t) * 8) - 4;
  while (shift > 0 && ((uintptr_t)p >> shift) == 0) shift -= 4;
  for (; shift >= 0; shift -= 4) {
    line[length++] = "0123456789abcdef"[((uintptr_t)p >> shift) & 15];
  }
  length = tarn_array_append(line, length, room, "): ");
  length = tarn_array_append(line, length, room, what);
  line[length++] = '\n';
  if (tarn_array_write != NULL) (void)!tarn_array_write(2, line, length);
  tarn_watch_explain(p);
}

/* kind: "invalid free", "double free"; what: what is wrong, in words. */
__attribute__((cold, noinline, noreturn, unused)) static inline void tarn_array_misuse(
    const char* kind, const char* function, const void* p, const char* what) {
  if (tarn_array_misused != NULL) tarn_array_misused(kind, function, p);
  tarn_array_tell(kind, function, p, what);
  if (tarn_array_abort != NULL) tarn_array_abort();
  __builtin_trap();
}

#ifdef __cplusplus
}
#endif

#endif
