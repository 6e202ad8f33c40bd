/* source: where big pieces of memory come from, in C. (C++: tarn/source/source.hpp.) Heaps, pools
 * and arenas take chunks from a source and give them back; a source is asked once for many blocks,
 * so it is two functions behind pointers, and nothing else depends on what it is.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_SOURCE_H
#define TARN_SOURCE_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>

#include "../detail/api.h"
#include "../detail/sized.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tarn_chunk {
  void* data;   /* Null: there is none. */
  size_t bytes; /* What was granted, at least what was asked for. */
} tarn_chunk;

/* A user of a source copies the struct; what `context` leads to must outlive the last chunk. The
 * thread that needs or frees memory calls the functions, with no lock of tarn's held. They may use
 * other heaps, pools and arenas, but not the one that calls them. When a heap calls them, malloc
 * serves from its own heap, whatever the thread's default (tarn_heap_set_default). */
typedef struct tarn_source {
  size_t bytes; /* sizeof(tarn_source); TARN_SOURCE(...) sets it. */

  /* At least `bytes` of readable and writable memory aligned to `alignment`, a power of two. A null
   * chunk when there is none: nothing is reported then, since the caller may ask for less. */
  tarn_chunk (*acquire)(void* context, size_t bytes, size_t alignment);

  /* Takes a chunk back, whole, as it was granted; null: nothing ever goes back. */
  void (*release)(void* context, tarn_chunk chunk);

  void* context; /* Handed to both. */

  /* For heaps: the smallest chunk that they ask for, except that they ask for less after a null. 0:
   * 1 MiB. Pools and arenas have options of their own. */
  size_t chunk_bytes;
  int zeroed; /* Not 0: chunks read as zero. Zeroed blocks need not be written then. */
} tarn_source;

#define TARN_SOURCE(...) TARN_SIZED(tarn_source, __VA_ARGS__)

/* The chunks of pools and arenas that are given no source: blocks of malloc's own heap (see
 * tarn/heap/heap.h), which keeps memory warm. Any thread. Where the library is built without an
 * operating system there is none: `acquire` is null. */
TARN_API tarn_source tarn_source_default(void);

/* Chunks from the program's malloc (aligned_alloc, free). Where tarn itself is the program's
 * malloc, they come from libc's, as for passthrough heaps. `acquire` is null where that cannot be
 * had. */
TARN_API tarn_source tarn_source_malloc(void);

/* Chunks that end at an OS page which faults, kept back for a while when they are released: blocks
 * of a guarded heap (see tarn/heap/heap.h) that is made once. */
TARN_API tarn_source tarn_source_guarded(void);

/* Ends the process with `tarn: double free: FUNCTION(ADDRESS)`, or `invalid free` if `twice` is 0:
 * for sources that are only headers. */
TARN_API TARN_WEAK void tarn_source_misuse(int twice, const char* function, const void* data);

#ifdef __cplusplus
}
#endif

#endif
#endif
