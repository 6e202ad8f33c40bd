/* peak: blocks that fill memory, and the most memory that the process ever had.
 *
 * Blocks are linked through their own first word, so that the program has no memory but what malloc
 * gave; every byte is written.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_TESTS_LIFE_PEAK_H
#define TARN_TESTS_LIFE_PEAK_H

#include <stdbool.h>
#include <stdint.h>

#include "check.h"

typedef struct peak_block {
  struct peak_block* next;
} peak_block;

/* Reads a file of the kernel's; false, with an empty text, where there is none. */
static inline bool peak_text(const char* path, char text[4096]) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t length = file < 0 ? -1 : read(file, text, 4095);
  if (file >= 0) close(file);
  text[length > 0 ? length : 0] = '\0';
  return length > 0;
}

/* Whether transparent huge pages are set to `choice`: "[always]", "[madvise]" or "[never]". */
static inline bool huge_pages_are(const char* choice) {
  char text[4096];
  return peak_text("/sys/kernel/mm/transparent_hugepage/enabled", text) &&
         strstr(text, choice) != NULL;
}

/* The number of KiB after `key` in a file of /proc, as bytes; 0 where it is not said. */
static inline size_t peak_read(const char* path, const char* key) {
  char text[4096];
  if (!peak_text(path, text)) return 0;
  const char* at = strstr(text, key);
  return at == NULL ? 0 : strtoul(at + strlen(key), NULL, 10) * 1024;
}

static inline size_t peak_bytes(void) { return peak_read("/proc/self/status", "VmHWM:"); }

static inline peak_block* peak_take(size_t size) {
  peak_block* block = (peak_block*)malloc(size);
  CHECK(block != NULL);
  memset(block, 1, size);
  return block;
}

/* Blocks of `least` bytes and up, in steps of 16, `kinds` sizes in turn: the newest first. */
static inline peak_block* peak_fill(size_t bytes, size_t least, size_t kinds) {
  peak_block* newest = NULL;
  for (size_t i = 0, filled = 0; filled < bytes; ++i) {
    const size_t size = least + i * 7919 % kinds * 16;
    peak_block* block = peak_take(size);
    block->next = newest;
    newest = block;
    filled += size;
  }
  return newest;
}

static inline void peak_free(peak_block* newest) {
  while (newest != NULL) {
    peak_block* next = newest->next;
    free(newest);
    newest = next;
  }
}

#endif
