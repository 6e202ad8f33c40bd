/* scratch.h: a buffer on the stack that falls back to malloc's heap when it does not suffice, in C.
 * (C++: tarn/arena/scratch.hpp.)
 *
 *   TARN_SCRATCH(char, line, 256, length + 1);  // gone at the end of the block
 *   if (line == NULL) return -1;                // out of memory, or the product overflowed
 *
 * A site counts how often that happens, so that the number on the stack can be chosen:
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

/* What was asked for at one place of a program, by all its threads: to be zero at first. */
typedef struct tarn_scratch_site {
  uint64_t uses;
  uint64_t spills;    /* Of these, those that the stack did not suffice for. */
  uint64_t bytes_max; /* The largest one. */
} tarn_scratch_site;

/* A consistent copy is not promised while others count; each number is right. */
TARN_API tarn_scratch_site tarn_scratch_read(const tarn_scratch_site* site);

typedef struct tarn_scratch {
  void* spilled; /* Null: nothing is to be given back. */
} tarn_scratch;

/* The rest of tarn_scratch_begin. */
TARN_API void* tarn_scratch_spill(tarn_scratch* scratch, size_t count, size_t bytes);
TARN_API void tarn_scratch_count(tarn_scratch_site* site, size_t stack_bytes, size_t bytes);
TARN_API void tarn_scratch_free(void* spilled);

/* Memory for count * bytes (0 is all right): `stack` if its stack_bytes suffice, else a block of
 * malloc's heap, aligned to 16. Null and ENOMEM when there is none, or the product overflows. site
 * may be null; counting takes some nanoseconds. */
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

/* Gives back what was spilled. */
static inline void tarn_scratch_end(tarn_scratch* scratch) {
  if (TARN_UNLIKELY(scratch->spilled != NULL)) tarn_scratch_free(scratch->spilled);
}

#if defined(__GNUC__)
/* Declares `type* const name`, for `count` objects, with room for stack_count on the stack. It ends
 * with the block it is declared in, however that is left (not by longjmp). */
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
