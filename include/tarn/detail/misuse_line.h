/* misuse_line: writes a line on standard error about a misuse, and ends the program by SIGABRT, if
 * the program has a C library. None is needed: without one the processor traps. (Users:
 * tarn/detail/array_misuse.h, tarn/detail/static_bits.h.)
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_MISUSE_LINE_H
#define TARN_MISUSE_LINE_H

#include "language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>

#include "hexadecimal.h"
#include "watch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The C library's, under names of tarn's so that they collide with no header's declaration. Null in
 * a program without it. */
ptrdiff_t tarn_misuse_write(int file, const void* text, size_t bytes) __asm__("write")
    __attribute__((weak));
void tarn_misuse_abort(void) __asm__("abort") __attribute__((weak, noreturn));

/* Appends words to the line as far as there is room. Returns the new length. */
static inline size_t tarn_misuse_append(char* line, size_t length, size_t room, const char* words) {
  while (*words != '\0' && length < room) line[length++] = *words++;
  return length;
}

/* Writes the line `tarn: KIND: FUNCTION(0xP): WHAT`, and lets tools that watch memory say what p
 * is. */
__attribute__((always_inline, unused)) static inline void tarn_misuse_line(const char* kind,
                                                                           const char* function,
                                                                           const void* p,
                                                                           const char* what) {
  char line[240];
  const size_t room = sizeof line - 1; /* The newline's place is kept. */
  size_t length = tarn_misuse_append(line, 0, room, "tarn: ");
  length = tarn_misuse_append(line, length, room, kind);
  length = tarn_misuse_append(line, length, room, ": ");
  length = tarn_misuse_append(line, length, room, function);
  length = tarn_misuse_append(line, length, room, "(0x");
  char digits[TARN_HEXADECIMAL_MAX + 1];
  digits[TARN_HEXADECIMAL_MAX] = '\0';
  const size_t first = tarn_hexadecimal(digits, (uintptr_t)p);
  length = tarn_misuse_append(line, length, room, digits + first);
  length = tarn_misuse_append(line, length, room, "): ");
  length = tarn_misuse_append(line, length, room, what);
  line[length++] = '\n';
  if (tarn_misuse_write != NULL) (void)!tarn_misuse_write(2, line, length);
  tarn_watch_explain(p);
}

/* The line, and the end. */
__attribute__((always_inline, unused, noreturn)) static inline void tarn_misuse_end(
    const char* kind, const char* function, const void* p, const char* what) {
  tarn_misuse_line(kind, function, p, what);
  if (tarn_misuse_abort != NULL) tarn_misuse_abort();
  __builtin_trap();
}

#ifdef __cplusplus
}
#endif

#endif
#endif
