/* tlsf_blocks: blocks and free lists of a TLSF heap (tarn/heap/tlsf.h, tarn/heap/tlsf.hpp). C11 and
 * C++17; no OS, no library. Two-level segregated fit, after M. Masmano, I. Ripoll, A. Crespo and J.
 * Real, "TLSF: a New Dynamic Memory Allocator for Real-Time Systems", ECRTS 2004.
 *
 *   region  next | end | bytes | block | block | ... | end: a header of 0 bytes, live
 *   block   header: bytes, FREE or LIVE, BEFORE_FREE | the user's bytes ...
 *   free    header | next in list | before in list | ... | bytes      (at least four words)
 *   levels  map of lists | 16 lists: blocks of nearly one size, a sixteenth of a power of two apart
 *
 * The user's bytes begin at a multiple of two words, and all sizes are multiples of two words. No
 * two free blocks lie side by side. A heap whose bytes are all zero has no regions.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_TLSF_BLOCKS_H
#define TARN_TLSF_BLOCKS_H

#include "language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>

#include "static_bits.h"
#include "steps.h"
#include "watch.h"

#ifdef __cplusplus
extern "C" {
#define TARN_TLSF_FUNCTION TARN_WATCH_PASSES inline
#else
#define TARN_TLSF_FUNCTION TARN_WATCH_PASSES __attribute__((unused)) static
#endif

#define TARN_TLSF_GRAIN (2 * sizeof(size_t)) /* Sizes and alignments are multiples of it. */
#define TARN_TLSF_LEAST (4 * sizeof(size_t)) /* The smallest block. */
#define TARN_TLSF_LISTS_LOG2 4
#define TARN_TLSF_LISTS 16 /* In a level: 2 ^ TARN_TLSF_LISTS_LOG2. */

/* How many levels blocks of up to `bytes` bytes need: one for all blocks below 16 grains, and one
 * for each power of two above. */
#define TARN_TLSF_LEVELS(bytes) \
  ((size_t)(61 - __builtin_clzll((unsigned long long)(bytes) / TARN_TLSF_GRAIN | 8)))
/* All blocks on that many levels are smaller than this. */
#define TARN_TLSF_LIMIT(levels) (TARN_TLSF_LISTS * TARN_TLSF_GRAIN << ((levels)-1))
/* The largest region that a heap can have: 1 TiB, or 512 MiB with words of 32 bits. */
#define TARN_TLSF_BYTES_MAX ((size_t)1 << (sizeof(size_t) == 8 ? 40 : 29))

/* A word of a region, whatever type its memory was declared with. */
typedef size_t __attribute__((may_alias)) tarn_tlsf_word;

/* The record at the start of a region. */
typedef struct __attribute__((may_alias)) tarn_tlsf_region {
  struct tarn_tlsf_region* next;
  tarn_tlsf_word* end; /* The header behind the last block. */
  size_t bytes;        /* The bytes of all its blocks. */
} tarn_tlsf_region;

/* The lists of free blocks of one level. */
typedef struct tarn_tlsf_level {
  size_t map; /* Bit i: list i has a block. */
  size_t lists[TARN_TLSF_LISTS];
} tarn_tlsf_level;

/* A TLSF heap, without its levels. */
typedef struct tarn_tlsf {
  size_t map; /* Bit i: level i has a block. */
  tarn_tlsf_region* regions;
  size_t bytes;    /* The bytes of all blocks, with their headers. */
  size_t in_use;   /* The bytes of all live blocks, with their headers. */
  size_t peak;     /* The most that in_use has been. */
  size_t blocks;   /* How many blocks are live. */
  size_t failures; /* How many requests were not served. */
} tarn_tlsf;

/* What a TLSF heap has. */
typedef struct tarn_tlsf_stats {
  size_t bytes;         /* The bytes of all blocks: in_use_bytes + free_bytes. */
  size_t in_use_bytes;  /* The bytes of live blocks, with their headers. */
  size_t free_bytes;    /* The bytes of free blocks, with their headers. */
  size_t peak_bytes;    /* The most that in_use_bytes has been. */
  size_t largest_bytes; /* The largest request that would be served now; 0: at most one of 0. */
  size_t blocks;        /* How many blocks are live. */
  size_t failures;      /* How many requests were not served. */
} tarn_tlsf_stats;

/* The low bits of a header. When a block is joined with the free one before it, its header becomes
 * a FREE one of 0 bytes, so that a second free of it is found. */
enum { TARN_TLSF_FREE = 1, TARN_TLSF_BEFORE_FREE = 2, TARN_TLSF_LIVE = 4, TARN_TLSF_FLAGS = 7 };

TARN_STATIC_INLINE size_t tarn_tlsf_bytes(const tarn_tlsf_word* b) {
  return b[0] & ~(size_t)TARN_TLSF_FLAGS;
}
/* The header of the block at p. The assembler statement makes the compiler forget which object p
 * points to, since the header lies outside of it. */
TARN_STATIC_INLINE tarn_tlsf_word* tarn_tlsf_header(const void* p) {
  uintptr_t header = (uintptr_t)p - sizeof(size_t);
  __asm__("" : "+r"(header));
  return (tarn_tlsf_word*)header;
}
TARN_STATIC_INLINE tarn_tlsf_word* tarn_tlsf_at(const tarn_tlsf_word* b, size_t bytes) {
  return (tarn_tlsf_word*)((uintptr_t)b + bytes);
}
TARN_STATIC_INLINE size_t tarn_tlsf_distance(const void* from, const void* to) {
  return (size_t)((uintptr_t)to - (uintptr_t)from);
}
/* A link is the address behind the header, so that it never looks like a live header. */
TARN_STATIC_INLINE size_t tarn_tlsf_link(const tarn_tlsf_word* b) {
  return (size_t)(uintptr_t)(b + 1);
}
TARN_STATIC_INLINE tarn_tlsf_word* tarn_tlsf_linked(size_t link) {
  return (tarn_tlsf_word*)(link - sizeof(tarn_tlsf_word));
}
TARN_STATIC_INLINE tarn_tlsf_word* tarn_tlsf_first(const tarn_tlsf_region* region) {
  return (tarn_tlsf_word*)(uintptr_t)(region + 1);
}
/* The number of the list that has blocks of `grains` grains, counted through all levels; and the
 * size of the smallest blocks of a list. */
TARN_STATIC_CONSTANT size_t tarn_tlsf_list(size_t grains) {
  return tarn_step_of(grains, TARN_TLSF_LISTS_LOG2);
}
TARN_STATIC_CONSTANT size_t tarn_tlsf_list_begin(size_t list) {
  return tarn_step_begin(list, TARN_TLSF_LISTS_LOG2);
}

TARN_STATIC_INLINE void tarn_tlsf_insert(tarn_tlsf* heap, tarn_tlsf_level* levels,
                                         tarn_tlsf_word* b, size_t bytes) {
  const size_t list = tarn_tlsf_list(bytes / TARN_TLSF_GRAIN);
  tarn_tlsf_level* const level = levels + list / TARN_TLSF_LISTS;
  const size_t head = level->lists[list % TARN_TLSF_LISTS];
  b[0] = bytes | TARN_TLSF_FREE;
  b[1] = head;
  b[2] = 0;
  tarn_tlsf_at(b, bytes)[-1] = bytes;
  if (head != 0) tarn_tlsf_linked(head)[2] = tarn_tlsf_link(b);
  level->lists[list % TARN_TLSF_LISTS] = tarn_tlsf_link(b);
  level->map |= (size_t)1 << list % TARN_TLSF_LISTS;
  heap->map |= (size_t)1 << list / TARN_TLSF_LISTS;
}

TARN_STATIC_INLINE void tarn_tlsf_remove(tarn_tlsf* heap, tarn_tlsf_level* levels,
                                         const tarn_tlsf_word* b) {
  const size_t next = b[1], before = b[2];
  if (next != 0) tarn_tlsf_linked(next)[2] = before;
  if (before != 0) {
    tarn_tlsf_linked(before)[1] = next;
    return;
  }
  const size_t list = tarn_tlsf_list(tarn_tlsf_bytes(b) / TARN_TLSF_GRAIN);
  tarn_tlsf_level* const level = levels + list / TARN_TLSF_LISTS;
  level->lists[list % TARN_TLSF_LISTS] = next;
  if (next != 0) return;
  level->map &= ~((size_t)1 << list % TARN_TLSF_LISTS);
  if (level->map == 0) heap->map &= ~((size_t)1 << list / TARN_TLSF_LISTS);
}

/* Finds a free block of at least `bytes` bytes and leaves it in its list; null when no list is sure
 * to have one. In the list of that size itself only the head is tried: so a block that was just
 * freed serves the next request of its size. */
TARN_STATIC_INLINE tarn_tlsf_word* tarn_tlsf_find(const tarn_tlsf* heap,
                                                  const tarn_tlsf_level* levels, size_t level_count,
                                                  size_t bytes) {
  const size_t grains = bytes / TARN_TLSF_GRAIN;
  const size_t own = tarn_tlsf_list(grains);
  const size_t head = levels[own / TARN_TLSF_LISTS].lists[own % TARN_TLSF_LISTS];
  if (head != 0 && tarn_tlsf_bytes(tarn_tlsf_linked(head)) >= bytes) return tarn_tlsf_linked(head);
  /* All blocks of the next list, and of those above it, are large enough. */
  size_t level = (own + 1) / TARN_TLSF_LISTS;
  size_t map =
      level < level_count ? levels[level].map & (~(size_t)0 << (own + 1) % TARN_TLSF_LISTS) : 0;
  if (map == 0) {
    const size_t above = heap->map & (~(size_t)0 << level << 1);
    if (above == 0) return NULL;
    level = tarn_static_lowest(above);
    map = levels[level].map;
  }
  return tarn_tlsf_linked(levels[level].lists[tarn_static_lowest(map)]);
}

/* Makes block b, which has `bytes` bytes and is in no list, a live one of `need` bytes. The rest
 * becomes a free block if it is large enough. pre: the block behind b is live */
TARN_STATIC_INLINE void tarn_tlsf_trim(tarn_tlsf* heap, tarn_tlsf_level* levels, tarn_tlsf_word* b,
                                       size_t bytes, size_t need) {
  tarn_tlsf_word* const next = tarn_tlsf_at(b, bytes);
  if (bytes - need >= TARN_TLSF_LEAST) {
    next[0] |= TARN_TLSF_BEFORE_FREE;
    tarn_tlsf_insert(heap, levels, tarn_tlsf_at(b, need), bytes - need);
    bytes = need;
  } else {
    next[0] &= ~(size_t)TARN_TLSF_BEFORE_FREE;
  }
  b[0] = bytes | TARN_TLSF_LIVE | (b[0] & TARN_TLSF_BEFORE_FREE);
  heap->in_use += bytes;
  if (heap->in_use > heap->peak) heap->peak = heap->in_use;
}

/* The size of a block for a request of `bytes` bytes. pre: bytes is far below SIZE_MAX */
TARN_STATIC_CONSTANT size_t tarn_tlsf_need(size_t bytes) {
  return bytes + sizeof(size_t) <= TARN_TLSF_LEAST
             ? TARN_TLSF_LEAST
             : (bytes + sizeof(size_t) + TARN_TLSF_GRAIN - 1) & ~(TARN_TLSF_GRAIN - 1);
}

/* See name_allocate in tarn/heap/tlsf.h. */
TARN_TLSF_FUNCTION void* tarn_tlsf_allocate(tarn_tlsf* heap, tarn_tlsf_level* levels,
                                            size_t level_count, size_t bytes, size_t alignment) {
  TARN_WATCH_PASS();
  const size_t limit = TARN_TLSF_LIMIT(level_count);
  tarn_tlsf_word* b = NULL;
  size_t need = 0, gap = 0;
  if (TARN_LIKELY(bytes < limit && alignment - 1 < limit && (alignment & (alignment - 1)) == 0)) {
    need = tarn_tlsf_need(bytes);
    /* There must be room for a free block in front of the aligned one. */
    const size_t more = alignment > TARN_TLSF_GRAIN ? alignment + TARN_TLSF_GRAIN : 0;
    if (need + more < limit) b = tarn_tlsf_find(heap, levels, level_count, need + more);
  }
  if (TARN_UNLIKELY(b == NULL)) {
    ++heap->failures;
    return NULL;
  }
  tarn_tlsf_remove(heap, levels, b);
  size_t have = tarn_tlsf_bytes(b);
  if (((uintptr_t)(b + 1) & (alignment - 1)) != 0) {
    const uintptr_t p = (uintptr_t)(b + 1) + TARN_TLSF_LEAST;
    gap = (size_t)(((p + alignment - 1) & ~(uintptr_t)(alignment - 1)) - (uintptr_t)(b + 1));
    tarn_tlsf_insert(heap, levels, b, gap);
    b = tarn_tlsf_at(b, gap);
    have -= gap;
  }
  b[0] = gap != 0 ? TARN_TLSF_BEFORE_FREE : 0;
  tarn_tlsf_trim(heap, levels, b, have, need);
  ++heap->blocks;
  if (TARN_WATCH) tarn_watch_open(b + 1, bytes);
  return b + 1;
}

/* The region in which a header at b lies; null: none. Takes a few instructions for each region. */
TARN_STATIC_INLINE const tarn_tlsf_region* tarn_tlsf_region_of(const tarn_tlsf* heap,
                                                               const tarn_tlsf_word* b) {
  const tarn_tlsf_region* region = heap->regions;
  while (region != NULL && tarn_tlsf_distance(tarn_tlsf_first(region), b) >= region->bytes) {
    region = region->next;
  }
  return region;
}

/* Whether b, in this region, has the header and the last word of a free block. */
TARN_STATIC_INLINE int tarn_tlsf_is_free(const tarn_tlsf_region* region, const tarn_tlsf_word* b) {
  const size_t bytes = tarn_tlsf_bytes(b);
  return (b[0] & TARN_TLSF_FLAGS) == TARN_TLSF_FREE && bytes >= TARN_TLSF_LEAST &&
         bytes <= tarn_tlsf_distance(b, region->end) && tarn_tlsf_at(b, bytes)[-1] == bytes &&
         (tarn_tlsf_at(b, bytes)[0] & TARN_TLSF_BEFORE_FREE) != 0;
}

/* Says why p is no live block, or null if it is one. Its header must agree with what the neighbours
 * say of it. pre: p is not null */
TARN_TLSF_FUNCTION const char* tarn_tlsf_wrong(const tarn_tlsf* heap, const void* p) {
  TARN_WATCH_PASS();
  const tarn_tlsf_word* const b = tarn_tlsf_header(p);
  const tarn_tlsf_region* const region = tarn_tlsf_region_of(heap, b);
  if (region == NULL || (uintptr_t)p % TARN_TLSF_GRAIN != 0) return "invalid free";
  const size_t bytes = tarn_tlsf_bytes(b);
  if (TARN_UNLIKELY((b[0] & (TARN_TLSF_LIVE | TARN_TLSF_FREE)) != TARN_TLSF_LIVE)) {
    return b[0] == TARN_TLSF_FREE || tarn_tlsf_is_free(region, b) ? "double free" : "invalid free";
  }
  if (bytes < TARN_TLSF_LEAST || bytes > tarn_tlsf_distance(b, region->end) ||
      bytes % TARN_TLSF_GRAIN != 0) {
    return "invalid free";
  }
  const tarn_tlsf_word* const next = tarn_tlsf_at(b, bytes);
  if ((next[0] & TARN_TLSF_BEFORE_FREE) != 0) return "invalid free";
  if ((next[0] & TARN_TLSF_LIVE) == 0 && !tarn_tlsf_is_free(region, next)) return "overrun";
  if ((b[0] & TARN_TLSF_BEFORE_FREE) == 0) return NULL;
  const size_t before = b[-1];
  const int inside = before >= TARN_TLSF_LEAST && before % TARN_TLSF_GRAIN == 0 &&
                     before <= tarn_tlsf_distance(tarn_tlsf_first(region), b);
  return inside && tarn_tlsf_at(b, 0 - before)[0] == (before | TARN_TLSF_FREE) ? NULL : "overrun";
}

/* Frees block p and joins it with its free neighbours. Returns null, or what tarn_tlsf_wrong says
 * of p; then nothing has changed. */
TARN_TLSF_FUNCTION const char* tarn_tlsf_deallocate(tarn_tlsf* heap, tarn_tlsf_level* levels,
                                                    void* p) {
  TARN_WATCH_PASS();
  const char* const wrong = tarn_tlsf_wrong(heap, p);
  if (TARN_UNLIKELY(wrong != NULL)) return wrong;
  tarn_tlsf_word* b = tarn_tlsf_header(p);
  size_t bytes = tarn_tlsf_bytes(b);
  tarn_tlsf_word* const next = tarn_tlsf_at(b, bytes);
  if (TARN_WATCH && tarn_watch_lasts(p)) tarn_watch_freed(p, bytes - sizeof(size_t));
  heap->in_use -= bytes;
  --heap->blocks;
  if ((b[0] & TARN_TLSF_BEFORE_FREE) != 0) {
    const size_t before = b[-1];
    b[0] = TARN_TLSF_FREE;
    b = tarn_tlsf_at(b, 0 - before);
    bytes += before;
    tarn_tlsf_remove(heap, levels, b);
  }
  if ((next[0] & TARN_TLSF_FREE) != 0) {
    bytes += tarn_tlsf_bytes(next);
    tarn_tlsf_remove(heap, levels, next);
    next[0] = TARN_TLSF_FREE;
  } else {
    next[0] |= TARN_TLSF_BEFORE_FREE;
  }
  tarn_tlsf_insert(heap, levels, b, bytes);
  return NULL;
}

/* Tells tools that watch that block p, all of whose `had` bytes are open, has `bytes` bytes now. */
TARN_STATIC_INLINE void tarn_tlsf_watch_resized(const void* p, size_t had, size_t bytes) {
  const unsigned char* const start = (const unsigned char*)p;
  if (bytes > had) tarn_watch_open(start + had, bytes - had);
  if (bytes < had && tarn_watch_lasts(p)) tarn_watch_close(start + bytes, had - bytes);
}

/* Resizes block p to `bytes` bytes where it is, and gives back what it has beyond that. Returns 0,
 * and does nothing, when the memory behind it does not suffice or p is not aligned to `alignment`.
 * pre: p is a live block */
TARN_TLSF_FUNCTION int tarn_tlsf_resize(tarn_tlsf* heap, tarn_tlsf_level* levels,
                                        size_t level_count, void* p, size_t bytes,
                                        size_t alignment) {
  TARN_WATCH_PASS();
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) return 0;
  if (((uintptr_t)p & (alignment - 1)) != 0) return 0;
  if (bytes >= TARN_TLSF_LIMIT(level_count)) return 0;
  tarn_tlsf_word* const b = tarn_tlsf_header(p);
  const size_t need = tarn_tlsf_need(bytes);
  const size_t had = tarn_tlsf_bytes(b);
  tarn_tlsf_word* const next = tarn_tlsf_at(b, had);
  const size_t more = (next[0] & TARN_TLSF_FREE) != 0 ? tarn_tlsf_bytes(next) : 0;
  if (had + more < need) return 0;
  if (more != 0) {
    tarn_tlsf_remove(heap, levels, next);
    next[0] = TARN_TLSF_FREE;
  }
  heap->in_use -= had;
  tarn_tlsf_trim(heap, levels, b, had + more, need);
  if (TARN_WATCH) tarn_tlsf_watch_resized(p, had - sizeof(size_t), bytes);
  return 1;
}

/* Adds `memory` to the heap as a region. Returns 0, and does nothing, when it is too small or too
 * large, or overlaps a region of the heap. */
TARN_TLSF_FUNCTION int tarn_tlsf_add(tarn_tlsf* heap, tarn_tlsf_level* levels, size_t level_count,
                                     void* memory, size_t bytes) {
  TARN_WATCH_PASS();
  const size_t skipped = (size_t)(0 - (uintptr_t)memory) & (TARN_TLSF_GRAIN - 1);
  const size_t least = sizeof(tarn_tlsf_region) + TARN_TLSF_LEAST + sizeof(size_t);
  if (memory == NULL || bytes > UINTPTR_MAX - (uintptr_t)memory) return 0;
  if (bytes < skipped || bytes - skipped < least) return 0;
  tarn_tlsf_region* const region = (tarn_tlsf_region*)((uintptr_t)memory + skipped);
  const size_t blocks =
      (bytes - skipped - sizeof *region - sizeof(size_t)) & ~(TARN_TLSF_GRAIN - 1);
  if (blocks >= TARN_TLSF_LIMIT(level_count)) return 0;
  for (const tarn_tlsf_region* r = heap->regions; r != NULL; r = r->next) {
    const uintptr_t end = (uintptr_t)(r->end + 1);
    if ((uintptr_t)memory < end && (uintptr_t)r < (uintptr_t)memory + bytes) return 0;
  }
  if (TARN_WATCH) tarn_watch_open(region, sizeof *region);
  if (TARN_WATCH && tarn_watch_lasts(region)) {
    tarn_watch_close(region + 1, blocks + sizeof(size_t));
  }
  region->next = heap->regions;
  region->bytes = blocks;
  region->end = tarn_tlsf_at(tarn_tlsf_first(region), blocks);
  region->end[0] = TARN_TLSF_LIVE | TARN_TLSF_BEFORE_FREE;
  heap->regions = region;
  heap->bytes += blocks;
  tarn_tlsf_insert(heap, levels, tarn_tlsf_first(region), blocks);
  return 1;
}

#ifdef __cplusplus
}
#endif

#endif
#endif
