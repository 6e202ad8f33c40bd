/* buffer_source.h: chunks from memory that the program provides, in C. (C++:
 * tarn/source/buffer_source.hpp.) Released chunks are used again, in any order. Free neighbours are
 * joined, and bytes that alignment skips are not lost.
 *
 *   static unsigned char memory[2000];
 *   tarn_buffer_source buffer;
 *   tarn_buffer_source_init(&buffer, memory, sizeof memory);
 *   const tarn_source source = tarn_buffer_source_get(&buffer);   // for a pool, an arena, ...
 *
 * Free ranges (gaps) are linked in the order of addresses, through their first bytes. A request is
 * served from the first gap that is large enough (D. Knuth, The Art of Computer Programming 1,
 * 2.5). Taking and giving back are linear in the gaps, of which there is at most one more than
 * chunks that are out. One thread at a time. Header only; needs no library and no OS.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_BUFFER_SOURCE_H
#define TARN_BUFFER_SOURCE_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "source.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Lies at the start of each gap. Offsets count from the base, so that the list may lie in a file,
 * and in memory that processes map at different addresses. */
typedef struct tarn_gap {
  size_t next; /* The offset of the next gap; TARN_NO_GAP: there is none. */
  size_t bytes;
} tarn_gap;

#define TARN_NO_GAP SIZE_MAX

/* The base, offsets and lengths are multiples of this. A chunk has at least so many bytes. */
#define TARN_GAP_GRAIN sizeof(tarn_gap)

/* The gaps of a range. free_bytes + bytes of chunks out == bytes. */
typedef struct tarn_gaps {
  size_t bytes; /* The length of the range. */
  size_t first; /* The offset of the first gap. */
  size_t free_bytes;
  size_t free_bytes_min; /* The least that free_bytes has been. */
  size_t chunks;         /* Chunks that are out. */
  uint64_t acquired;     /* Chunks taken since the beginning. */
  uint64_t refused;      /* Requests that did not fit. */
} tarn_gaps;

typedef struct tarn_buffer_source {
  char* base;
  tarn_gaps gaps;
} tarn_buffer_source;

/* What follows, up to the next comment of this kind, serves all sources that keep such a list. */

static inline tarn_gap tarn_gap_read(const char* base, size_t at) {
  tarn_gap gap;
  memcpy(&gap, base + at, sizeof gap);
  return gap;
}

/* Makes the link from gap `before`, or the first link if that is TARN_NO_GAP, lead to gap `to`. */
static inline void tarn_gap_link(char* base, tarn_gaps* gaps, size_t before, size_t to) {
  if (before == TARN_NO_GAP) {
    gaps->first = to;
  } else {
    memcpy(base + before, &to, sizeof to);
  }
}

static inline void tarn_gap_write(char* base, size_t at, size_t next, size_t bytes) {
  tarn_gap gap;
  gap.next = next;
  gap.bytes = bytes;
  memcpy(base + at, &gap, sizeof gap);
}

/* Begins a range without memory. tarn_gaps_give adds it. */
static inline void tarn_gaps_begin(tarn_gaps* gaps) {
  memset(gaps, 0, sizeof *gaps);
  gaps->first = TARN_NO_GAP;
}

/* Takes so many bytes, aligned by their address, and returns their offset. *granted is how many
 * bytes they are. Returns TARN_NO_GAP, and changes nothing, when they do not fit. */
static inline size_t tarn_gaps_take(char* base, tarn_gaps* gaps, size_t bytes, size_t alignment,
                                    size_t* granted) {
  size_t before = TARN_NO_GAP;
  size_t at = gaps->first;
  if (bytes > gaps->free_bytes || alignment == 0 || (alignment & (alignment - 1)) != 0) {
    return TARN_NO_GAP;
  }
  /* Does not wrap: free_bytes is a multiple of the grain. */
  bytes = bytes == 0 ? TARN_GAP_GRAIN : (bytes + TARN_GAP_GRAIN - 1) & ~(TARN_GAP_GRAIN - 1);
  while (at != TARN_NO_GAP) {
    const tarn_gap gap = tarn_gap_read(base, at);
    const size_t skipped = (size_t)(0 - ((uintptr_t)base + at)) & (alignment - 1);
    if (skipped <= gap.bytes && bytes <= gap.bytes - skipped) {
      const size_t rest = gap.bytes - skipped - bytes;
      const size_t behind = rest == 0 ? gap.next : at + skipped + bytes;
      if (rest != 0) tarn_gap_write(base, behind, gap.next, rest);
      if (skipped != 0) {
        tarn_gap_write(base, at, behind, skipped);
      } else {
        tarn_gap_link(base, gaps, before, behind);
      }
      gaps->free_bytes -= bytes;
      *granted = bytes;
      return at + skipped;
    }
    before = at;
    at = gap.next;
  }
  return TARN_NO_GAP;
}

/* Makes a range a gap and joins it to its neighbours. Returns 1; 0 when part of the range is in a
 * gap already; or -1 when it is no range that was ever granted. After 0 and -1 nothing has changed.
 * */
static inline int tarn_gaps_give(char* base, tarn_gaps* gaps, size_t at, size_t bytes) {
  size_t before = TARN_NO_GAP;
  size_t next = gaps->first;
  tarn_gap earlier = {TARN_NO_GAP, 0};
  if ((at | bytes) % TARN_GAP_GRAIN != 0 || bytes == 0 || at > gaps->bytes ||
      bytes > gaps->bytes - at) {
    return -1;
  }
  while (next != TARN_NO_GAP && next < at) {
    earlier = tarn_gap_read(base, next);
    before = next;
    next = earlier.next;
  }
  if (next != TARN_NO_GAP && next < at + bytes) return 0;
  if (before != TARN_NO_GAP && before + earlier.bytes > at) return 0;
  gaps->free_bytes += bytes;
  if (next != TARN_NO_GAP && next == at + bytes) {
    const tarn_gap later = tarn_gap_read(base, next);
    bytes += later.bytes;
    next = later.next;
  }
  if (before != TARN_NO_GAP && before + earlier.bytes == at) {
    tarn_gap_write(base, before, next, earlier.bytes + bytes);
  } else {
    tarn_gap_write(base, at, next, bytes);
    tarn_gap_link(base, gaps, before, at);
  }
  return 1;
}

/* 1 when the byte lies in no gap. pre: at < gaps->bytes */
static inline int tarn_gaps_out(const char* base, const tarn_gaps* gaps, size_t at) {
  size_t gap_at = gaps->first;
  while (gap_at != TARN_NO_GAP && gap_at <= at) {
    const tarn_gap gap = tarn_gap_read(base, gap_at);
    if (at - gap_at < gap.bytes) return 0;
    gap_at = gap.next;
  }
  return 1;
}

/* 1 when the gaps are in order, do not touch, lie inside the range, and add up to free_bytes. */
static inline int tarn_gaps_check(const char* base, const tarn_gaps* gaps) {
  size_t end = 0;
  size_t sum = 0;
  size_t count = 0;
  size_t at = gaps->first;
  while (at != TARN_NO_GAP) {
    tarn_gap gap;
    if (at % TARN_GAP_GRAIN != 0 || at >= gaps->bytes || gaps->bytes - at < sizeof gap ||
        (count != 0 && at <= end)) {
      return 0;
    }
    gap = tarn_gap_read(base, at);
    if (gap.bytes == 0 || gap.bytes % TARN_GAP_GRAIN != 0 || gap.bytes > gaps->bytes - at) return 0;
    end = at + gap.bytes;
    sum += gap.bytes;
    at = gap.next;
    ++count;
  }
  return sum == gaps->free_bytes && gaps->free_bytes_min <= sum && count <= gaps->chunks + 1 &&
         (gaps->chunks != 0 || sum == gaps->bytes);
}

/* The functions of a tarn_source. A release of a chunk that is not out ends the process, with a
 * report if the library is linked. */
static inline tarn_chunk tarn_gaps_acquire(char* base, tarn_gaps* gaps, size_t bytes,
                                           size_t alignment) {
  tarn_chunk chunk = {NULL, 0};
  const size_t at = tarn_gaps_take(base, gaps, bytes, alignment, &chunk.bytes);
  if (at == TARN_NO_GAP) {
    ++gaps->refused;
    return chunk;
  }
  chunk.data = base + at;
  ++gaps->chunks;
  ++gaps->acquired;
  if (gaps->free_bytes < gaps->free_bytes_min) gaps->free_bytes_min = gaps->free_bytes;
  return chunk;
}

static inline void tarn_gaps_release(char* base, tarn_gaps* gaps, tarn_chunk chunk,
                                     const char* function) {
  const size_t at = (size_t)((uintptr_t)chunk.data - (uintptr_t)base);
  int given;
  if (chunk.data == NULL) return;
  given = tarn_gaps_give(base, gaps, at, chunk.bytes);
  if (given == 1 && gaps->chunks != 0) {
    --gaps->chunks;
    return;
  }
  if (tarn_source_misuse != NULL) tarn_source_misuse(given == 0, function, chunk.data);
  __builtin_trap();
}

/* The functions of buffer sources. */

/* Makes a source of these bytes, which must not be used for anything else as long as the source is
 * used. It need not be destroyed. Up to 15 bytes at each end are left unused. Any region is
 * allowed; one that is null or too short never has a chunk. Constant time; 16 bytes are written. */
static inline void tarn_buffer_source_init(tarn_buffer_source* source, void* start, size_t bytes) {
  const size_t skipped = (size_t)(0 - (uintptr_t)start) & (TARN_GAP_GRAIN - 1);
  tarn_gaps_begin(&source->gaps);
  source->base = (char*)start;
  if (start == NULL || bytes < skipped + TARN_GAP_GRAIN || bytes > PTRDIFF_MAX) return;
  source->base += skipped;
  source->gaps.bytes = (bytes - skipped) & ~(TARN_GAP_GRAIN - 1);
  tarn_gaps_give(source->base, &source->gaps, 0, source->gaps.bytes);
  source->gaps.free_bytes_min = source->gaps.free_bytes;
}

/* Takes a chunk of `bytes` bytes, rounded up to a multiple of 16 and aligned to `alignment`; 0
 * bytes count as 16. Returns a null chunk when they do not fit, and for an alignment that is no
 * power of two. */
static inline tarn_chunk tarn_buffer_source_acquire(tarn_buffer_source* source, size_t bytes,
                                                    size_t alignment) {
  return tarn_gaps_acquire(source->base, &source->gaps, bytes, alignment);
}

/* Gives a whole chunk back; null is ignored. A chunk of another source, or one that is not out, is
 * misuse. */
static inline void tarn_buffer_source_release(tarn_buffer_source* source, tarn_chunk chunk) {
  tarn_gaps_release(source->base, &source->gaps, chunk, "tarn_buffer_source_release");
}

/* 1 when p lies in a chunk that is out, else 0. p: any pointer. Linear in the gaps. */
static inline int tarn_buffer_source_owns(const tarn_buffer_source* source, const void* p) {
  const size_t at = (size_t)((uintptr_t)p - (uintptr_t)source->base);
  return at < source->gaps.bytes && tarn_gaps_out(source->base, &source->gaps, at);
}

/* 1 when every invariant holds, else 0. Linear in the gaps. */
static inline int tarn_buffer_source_check(const tarn_buffer_source* source) {
  return tarn_gaps_check(source->base, &source->gaps);
}

/* How much pools and arenas over so many bytes should take at a time: an eighth, rounded to a power
 * of two of at least 256. From 2 MiB on 0, which means what they prefer. */
static inline size_t tarn_chunk_bytes_for(size_t range_bytes) {
  size_t bytes = 256;
  while (bytes < 256 * 1024 && bytes <= range_bytes / 16) bytes *= 2;
  return bytes < 256 * 1024 ? bytes : 0;
}
static inline size_t tarn_buffer_source_chunk_bytes(const tarn_buffer_source* source) {
  return tarn_chunk_bytes_for(source->gaps.bytes);
}

static inline tarn_chunk tarn_buffer_source_take(void* self, size_t bytes, size_t alignment) {
  return tarn_buffer_source_acquire((tarn_buffer_source*)self, bytes, alignment);
}
static inline void tarn_buffer_source_give(void* self, tarn_chunk chunk) {
  tarn_buffer_source_release((tarn_buffer_source*)self, chunk);
}

/* The tarn_source of the buffer. It refers to `source`, which must stay where it is. */
static inline tarn_source tarn_buffer_source_get(tarn_buffer_source* source) {
  tarn_source made = TARN_SOURCE();
  made.acquire = tarn_buffer_source_take;
  made.release = tarn_buffer_source_give;
  made.context = source;
  made.chunk_bytes = tarn_buffer_source_chunk_bytes(source);
  return made;
}

#ifdef __cplusplus
}
#endif

#endif
#endif
