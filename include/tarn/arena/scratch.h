/* scratch.h: a buffer on the stack that falls back to malloc's heap when it is too small, in C.
 * (C++: tarn/arena/scratch.hpp.)
 *
 *   TARN_SCRATCH(char, line, 256, length + 1);  // gone at the end of the block
 *   if (line == NULL) return -1;                // out of memory, or the product overflowed
 *
 * A site counts how often it falls back, so that the number on the stack can be chosen:
 *
 *   static tarn_scratch_site lines;             // uses, spills, bytes_max
 *   TARN_SCRATCH_AT(&lines, char, line, 256, length + 1);
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_SCRATCH_H
#define TARN_SCRATCH_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>

#include "../detail/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Counts the requests at one place of a program, by all its threads. It must be zero at first. */
typedef struct tarn_scratch_site {
  uint64_t uses;
  uint64_t spills;    /* How many of the uses were too large for the stack. */
  uint64_t bytes_max; /* The largest request. */
} tarn_scratch_site;

/* Reads the counts. Each number is right, but while other threads count, the three may be of
 * different moments. */
TARN_API tarn_scratch_site tarn_scratch_read(const tarn_scratch_site* site);

typedef struct tarn_scratch {
  void* spilled; /* The block of malloc's heap; null: there is none. */
} tarn_scratch;

/* The rest of tarn_scratch_begin. */
TARN_API void* tarn_scratch_spill(tarn_scratch* scratch, size_t count, size_t bytes);
TARN_API void tarn_scratch_count(tarn_scratch_site* site, size_t stack_bytes, size_t bytes);
TARN_API void tarn_scratch_free(void* spilled);

/* Returns memory for count * bytes bytes (0 is allowed): `stack` if its stack_bytes suffice, else a
 * block of malloc's heap, aligned to 16. Null with ENOMEM when there is no memory or the product
 * overflows. site: may be null; counting takes some nanoseconds. */
TARN_MUST_USE static inline void* tarn_scratch_begin(tarn_scratch* scratch, void* stack,
                                                     size_t stack_bytes, size_t count, size_t bytes,
                                                     tarn_scratch_site* site) {
  const int fits = bytes == 0 || count <= stack_bytes / bytes;
  scratch->spilled = NULL;
  if (site != NULL) {
    const int is_size = bytes == 0 || count <= SIZE_MAX / bytes;
    tarn_scratch_count(site, stack_bytes, is_size ? count * bytes : SIZE_MAX);
  }
  return fits ? stack : tarn_scratch_spill(scratch, count, bytes);
}

/* Frees the block of malloc's heap, if there is one. */
static inline void tarn_scratch_end(tarn_scratch* scratch) {
  if (TARN_UNLIKELY(scratch->spilled != NULL)) tarn_scratch_free(scratch->spilled);
}

#if defined(__GNUC__)
/* Declares `type* const name` for `count` objects, with room for stack_count of them on the stack.
 * The memory ends with the block of code, however that is left, except by longjmp. */
#define TARN_SCRATCH_AT(site, type, name, stack_count, count)             \
  type name##_on_stack[stack_count];                                      \
  tarn_scratch name##_scratch __attribute__((cleanup(tarn_scratch_end))); \
  type* const name = (type*)tarn_scratch_begin(                           \
      &name##_scratch, name##_on_stack, sizeof name##_on_stack, (count), sizeof(type), (site))
#define TARN_SCRATCH(type, name, stack_count, count) \
  TARN_SCRATCH_AT(NULL, type, name, stack_count, count)
#endif

#ifdef __cplusplus
}
#endif

#endif
#endif
