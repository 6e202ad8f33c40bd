/* os_source.h: chunks straight from the operating system, in C. (C++: tarn/source/os_source.hpp.)
 * Chunks are whole pages and read as zero. They are backed by memory when they are touched, or at
 * once if the options say so. A released chunk goes back at once.
 *
 *   tarn_os_source pages;
 *   tarn_os_source_init(&pages, &TARN_OS_SOURCE_OPTIONS(.flags = TARN_OS_SOURCE_HUGE));
 *   const tarn_source source = tarn_os_source_get(&pages);
 *
 * Any thread. Each acquire and release makes one or a few calls of the operating system, however
 * many chunks there are. docs/sources.md.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_OS_SOURCE_H
#define TARN_OS_SOURCE_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>

#include "../detail/sized.h"
#include "source.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tarn_os_source_flag {
  TARN_OS_SOURCE_HUGE = 1,     /* Chunks have a multiple of 2 MiB and are aligned to 2 MiB. The
                                  kernel is asked for huge pages, and uses them if it has some. */
  TARN_OS_SOURCE_POPULATE = 2, /* Chunks are backed at once: no page faults later. */
  TARN_OS_SOURCE_LOCK = 4,     /* Chunks are never swapped out, and are backed at once. */
  TARN_OS_SOURCE_NODE = 8,     /* Chunks are memory of the NUMA node `node` and no other. */
  TARN_OS_SOURCE_HIDE = 16     /* Chunks are left out of core dumps, and read as zero in the child
                                  of a fork. */
};

typedef struct tarn_os_source_options {
  size_t bytes;   /* sizeof(tarn_os_source_options); TARN_OS_SOURCE_OPTIONS(...) sets it. */
  unsigned flags; /* Of enum tarn_os_source_flag. */
  unsigned node;
  size_t chunk_bytes; /* How much pools, arenas and heaps take at a time. 0: what they prefer, or 2
                         MiB with huge pages. */
  const char* name;   /* Shown in /proc/PID/maps if the kernel can do that. Printable, without \ ` $
                         [ and ]; not copied. Null: none. */
} tarn_os_source_options;

#define TARN_OS_SOURCE_OPTIONS(...) TARN_SIZED(tarn_os_source_options, __VA_ARGS__)

typedef struct tarn_os_source_stats {
  size_t bytes;        /* sizeof(tarn_os_source_stats); TARN_OS_SOURCE_STATS(...) sets it. */
  uint64_t chunks;     /* Chunks that are out. */
  uint64_t held_bytes; /* The bytes of these chunks. */
  uint64_t held_bytes_peak;
  uint64_t acquired;   /* Chunks taken since the beginning. */
  uint64_t refused;    /* Requests that the system refused. */
  uint64_t kept_bytes; /* Bytes that were released and that the system has not taken back yet. */
} tarn_os_source_stats;

#define TARN_OS_SOURCE_STATS(...) TARN_SIZED(tarn_os_source_stats, __VA_ARGS__)

/* All of it is the source's own; it must not be copied or moved. */
typedef struct tarn_os_source {
  tarn_os_source_options options;
  uint64_t chunks;
  uint64_t held_bytes;
  uint64_t held_bytes_peak;
  uint64_t acquired;
  uint64_t refused;
  uint64_t kept_bytes;
  void* kept; /* Ranges that the system has refused to take back. Later calls try again. */
} tarn_os_source;

/* Makes a source; options may be null. Returns 0, or -1 with EINVAL for options that make no sense,
 * with ENOTSUP for a flag that the system does not have, or not for this process (a node that does
 * not exist; no right or no room to lock memory), and with ENOMEM. Each flag is tried on one chunk,
 * which goes back. After a failure the source never has a chunk. */
TARN_API int tarn_os_source_init(tarn_os_source* source, const tarn_os_source_options* options);

/* Ends the source; all chunks must have been released. Tries once more to give back the ranges that
 * the system has refused. What it still refuses is lost until the process ends. Returns the bytes
 * of these ranges. */
TARN_API size_t tarn_os_source_destroy(tarn_os_source* source);

/* Takes a chunk of at least `bytes` bytes, rounded up to pages and aligned to `alignment`; 0 bytes
 * count as a page. Returns a null chunk when the system refuses any step, for an alignment that is
 * no power of two, and for more than PTRDIFF_MAX / 2. errno is kept. */
TARN_API tarn_chunk tarn_os_source_acquire(tarn_os_source* source, size_t bytes, size_t alignment);

/* Gives a chunk back; null is ignored. If the system refuses it, as it may at its limit of
 * mappings, the memory behind the chunk goes back now, and its addresses with a later call. */
TARN_API void tarn_os_source_release(tarn_os_source* source, tarn_chunk chunk);

/* Fills in *stats. Returns 0, or -1 with EINVAL. While other threads use the source, the numbers
 * may be of different moments. */
TARN_API int tarn_os_source_get_stats(const tarn_os_source* source, tarn_os_source_stats* stats);

/* The tarn_source for heaps, pools and arenas. It refers to `source`, which must stay where it is.
 * Chunks read as zero. */
TARN_API tarn_source tarn_os_source_get(tarn_os_source* source);

#ifdef __cplusplus
}
#endif

#endif
#endif
