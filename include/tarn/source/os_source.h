/* os_source.h: chunks straight from the operating system, in C. (C++: tarn/source/os_source.hpp.)
 * Whole pages, zero, not backed by memory until they are touched unless that is asked for; a
 * released chunk goes back at once.
 *
 *   tarn_os_source pages;
 *   tarn_os_source_init(&pages, &TARN_OS_SOURCE_OPTIONS(.flags = TARN_OS_SOURCE_HUGE));
 *   const tarn_source source = tarn_os_source_get(&pages);
 *
 * Any thread. A chunk costs a call or a few of the operating system, whatever is out.
 * docs/sources.md.
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
  TARN_OS_SOURCE_HUGE = 1,     /* Chunks are multiples of 2 MiB, so aligned, and asked to lie in
                                  huge pages, which the kernel gives when it has some. */
  TARN_OS_SOURCE_POPULATE = 2, /* Backed when it is acquired: no page faults later. */
  TARN_OS_SOURCE_LOCK = 4,     /* Never swapped out; backed, too. */
  TARN_OS_SOURCE_NODE = 8,     /* Memory of the NUMA node `node` and no other. */
  TARN_OS_SOURCE_HIDE = 16     /* Not in core dumps; reads as zero in the child of a fork. */
};

typedef struct tarn_os_source_options {
  size_t bytes;   /* sizeof(tarn_os_source_options); TARN_OS_SOURCE_OPTIONS(...) sets it. */
  unsigned flags; /* Of enum tarn_os_source_flag. */
  unsigned node;
  size_t chunk_bytes; /* What pools, arenas and heaps take at a time; 0: as they like, or 2 MiB
                         where pages are huge. */
  const char* name;   /* Shown in /proc/PID/maps where the kernel can: printable, without \ ` $ [
                         and ]. Not copied. Null: none. */
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
  void* kept; /* Ranges that the system has refused to take back; tried again at later calls. */
} tarn_os_source;

/* Null options: none. 0, or -1 with EINVAL for options that make no sense, ENOTSUP for a flag that
 * the system does not have, or not for this process (a node that is not there; no right or no room
 * to lock memory), ENOMEM. Each flag is tried on one chunk, which goes back. On failure the source
 * never has a chunk. */
TARN_API int tarn_os_source_init(tarn_os_source* source, const tarn_os_source_options* options);

/* For chunks that the system did not take back when they were released: tries once more. All others
 * must have been released. What it still refuses is lost until the process ends; returns its
 * bytes. */
TARN_API size_t tarn_os_source_destroy(tarn_os_source* source);

/* At least `bytes`, rounded up to pages, aligned to `alignment`; 0 bytes are a page. A null chunk
 * when the system refuses any step of it, for an alignment that is no power of two, and beyond
 * PTRDIFF_MAX / 2. errno stays. */
TARN_API tarn_chunk tarn_os_source_acquire(tarn_os_source* source, size_t bytes, size_t alignment);

/* Null is ignored. When the system refuses (it may, at its limit of mappings), the memory behind
 * the chunk goes back, and its addresses with a later call. */
TARN_API void tarn_os_source_release(tarn_os_source* source, tarn_chunk chunk);

/* Fills in *stats. 0, or -1 with EINVAL. While other threads use the source, the numbers may be of
 * different moments. */
TARN_API int tarn_os_source_get_stats(const tarn_os_source* source, tarn_os_source_stats* stats);

/* The source, which stays where it is, as one for heaps, pools and arenas. Chunks are zero. */
TARN_API tarn_source tarn_os_source_get(tarn_os_source* source);

#ifdef __cplusplus
}
#endif

#endif
#endif
