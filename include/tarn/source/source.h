/* source.h: where large pieces of memory come from, in C. (C++: tarn/source/source.hpp.) Heaps,
 * pools and arenas take chunks from a source and give them back. A source is asked once for many
 * blocks, so two function pointers are fast enough, and no other code depends on what the source
 * is.
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
  size_t bytes; /* How many bytes were granted: at least as many as were asked for. */
} tarn_chunk;

/* A user of a source copies the struct; what `context` leads to must outlive the last chunk. The
 * thread that needs or frees memory calls the functions, with no lock of tarn's held. They may use
 * other heaps, pools and arenas, but not the one that calls them. When a heap calls them, malloc
 * serves from its own heap, whatever the thread's default (tarn_heap_set_default). */
typedef struct tarn_source {
  size_t bytes; /* sizeof(tarn_source); TARN_SOURCE(...) sets it. */

  /* Returns at least `bytes` bytes of readable and writable memory aligned to `alignment`, a power
   * of two; or a null chunk when there is none. It must not report that, since the caller may ask
   * for less. */
  tarn_chunk (*acquire)(void* context, size_t bytes, size_t alignment);

  /* Takes a whole chunk back, as it was granted. A null pointer here: nothing ever goes back. */
  void (*release)(void* context, tarn_chunk chunk);

  void* context; /* Passed to both functions. */

  /* The smallest chunk that a heap asks for, except that it asks for less after a null chunk. 0: 1
   * MiB. Pools and arenas have options of their own for this. */
  size_t chunk_bytes;
  int zeroed; /* Not 0: chunks read as zero, so that zeroed blocks need not be written. */
} tarn_source;

#define TARN_SOURCE(...) TARN_SIZED(tarn_source, __VA_ARGS__)

/* The source of pools and arenas that are given none. Its chunks are blocks of malloc's own heap
 * (see tarn/heap/heap.h), whose memory is often in the processor's caches. Any thread. In a library
 * that is built without an operating system there is no such source, and `acquire` is null. */
TARN_API tarn_source tarn_source_default(void);

/* A source whose chunks come from the program's malloc (aligned_alloc, free). If tarn itself is the
 * program's malloc, they come from libc's, as for passthrough heaps. If that is not available,
 * `acquire` is null. */
TARN_API tarn_source tarn_source_malloc(void);

/* A source whose chunks end at an OS page that faults, and stay in quarantine for a while after
 * they are released. They are blocks of one guarded heap (see tarn/heap/heap.h) for the whole
 * process. */
TARN_API tarn_source tarn_source_guarded(void);

/* Reports `tarn: double free: FUNCTION(ADDRESS)`, or `invalid free` if `twice` is 0, and ends the
 * process. Sources that are headers only call this. */
TARN_API TARN_WEAK void tarn_source_misuse(int twice, const char* function, const void* data);

#ifdef __cplusplus
}
#endif

#endif
#endif
