/* tlsf_bounds: the functions of a TLSF heap that change nothing: its check, its walk, statistics,
 * and how large a region must be so that no request fails. Used by tarn/heap/tlsf.h and
 * tarn/heap/tlsf.hpp. C11 and C++17.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_TLSF_BOUNDS_H
#define TARN_TLSF_BOUNDS_H

#include "language.h"
#if defined(TARN_LANGUAGE)

#include "tlsf_blocks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most that a block for a request of `bytes` takes: with its header, rounding, and a rest that
 * is too small to be a block. pre: bytes is below SIZE_MAX / 4 */
TARN_STATIC_CONSTANT size_t tarn_tlsf_room(size_t bytes) {
  return tarn_tlsf_need(bytes) + TARN_TLSF_GRAIN;
}

/* How many bytes a region must have to serve every request, in whatever order blocks come and go;
 * SIZE_MAX when the number does not fit. This holds while the live blocks and the one asked for
 *   - are at most `blocks_max` (0: the number is not known),
 *   - take at most `live_max` bytes together (the sum of their tarn_tlsf_room),
 *   - have each been asked for with at most `largest` bytes.
 * An aligned request counts as one of bytes + alignment + 4 words. While reallocate moves a block,
 * it counts twice.
 *
 *   blocks = M - m + k (n - g) + g
 *
 * M: live_max; m: the room of the smallest block; k: blocks_max, at most M / m; g: two words;
 * n: what a block of `largest` needs, rounded up to the size at which a list begins. The reason:
 * when a request fails, each free block is smaller than n. No two free blocks are neighbours, so
 * there is at most one more of them than of live blocks, and of these there are at most k - 1. With
 * k = M / m this is the M n of best fit (J. M. Robson, Worst case fragmentation of first fit and
 * best fit storage allocation strategies, The Computer Journal 20(3), 1977), with this heap's
 * roundings. */
TARN_STATIC_CONSTANT size_t tarn_tlsf_worst_case(size_t live_max, size_t largest,
                                                 size_t blocks_max) {
  if (largest >= TARN_TLSF_BYTES_MAX) return SIZE_MAX;
  const size_t m = tarn_tlsf_room(0);
  const size_t live = live_max > tarn_tlsf_room(largest) ? live_max : tarn_tlsf_room(largest);
  const size_t k = blocks_max != 0 && blocks_max < live / m ? blocks_max : live / m;
  const size_t grains = tarn_tlsf_need(largest) / TARN_TLSF_GRAIN;
  const size_t n = tarn_tlsf_list_begin(tarn_tlsf_list(grains - 1) + 1) * TARN_TLSF_GRAIN;
  /* The record, the last header, and what aligns the region. */
  const size_t beside = 4 * sizeof(size_t) + TARN_TLSF_GRAIN;
  size_t bytes = 0;
  if (__builtin_mul_overflow(k, n - TARN_TLSF_GRAIN, &bytes) ||
      __builtin_add_overflow(bytes, live - m, &bytes) ||
      __builtin_add_overflow(bytes, TARN_TLSF_GRAIN + beside, &bytes)) {
    return SIZE_MAX;
  }
  return bytes;
}

TARN_STATIC_INLINE int tarn_tlsf_owns(const tarn_tlsf* heap, const void* p) {
  return tarn_tlsf_region_of(heap, (const tarn_tlsf_word*)p) != NULL;
}
TARN_STATIC_INLINE int tarn_tlsf_is_live(const tarn_tlsf* heap, const void* p) {
  return tarn_tlsf_wrong(heap, p) == NULL;
}

/* The bytes of a block beyond those that were asked for are closed to tools that watch, until the
 * program asks for their number here. */
TARN_TLSF_FUNCTION size_t tarn_tlsf_usable_watched(const void* p) {
  TARN_WATCH_PASS();
  const size_t bytes = tarn_tlsf_bytes(tarn_tlsf_header(p)) - sizeof(size_t);
  const size_t rest_max = 2 * TARN_TLSF_LEAST; /* A block exceeds its need by less than LEAST. */
  const size_t rest = bytes < rest_max ? bytes : rest_max;
  tarn_watch_open_rest((const unsigned char*)p + (bytes - rest), rest);
  return bytes;
}

/* How many bytes of a live block the user has. */
TARN_STATIC_INLINE size_t tarn_tlsf_usable(const void* p) {
  if (TARN_WATCH) return tarn_tlsf_usable_watched(p);
  return tarn_tlsf_bytes(tarn_tlsf_header(p)) - sizeof(size_t);
}

/* The first live block from header b on, in this region or those behind it in the list; or null. */
TARN_TLSF_FUNCTION void* tarn_tlsf_live_from(const tarn_tlsf_region* region, tarn_tlsf_word* b) {
  TARN_WATCH_PASS();
  for (;;) {
    while (b != region->end && (b[0] & TARN_TLSF_LIVE) == 0) {
      b = tarn_tlsf_at(b, tarn_tlsf_bytes(b));
    }
    if (b != region->end) return b + 1;
    region = region->next;
    if (region == NULL) return NULL;
    b = tarn_tlsf_first(region);
  }
}

/* The live block after live block p, or the first one for null; null at the end. */
TARN_TLSF_FUNCTION void* tarn_tlsf_next(const tarn_tlsf* heap, const void* p) {
  TARN_WATCH_PASS();
  if (heap->regions == NULL) return NULL;
  if (p == NULL) return tarn_tlsf_live_from(heap->regions, tarn_tlsf_first(heap->regions));
  const tarn_tlsf_word* const b = tarn_tlsf_header(p);
  return tarn_tlsf_live_from(tarn_tlsf_region_of(heap, b), tarn_tlsf_at(b, tarn_tlsf_bytes(b)));
}

TARN_TLSF_FUNCTION tarn_tlsf_stats tarn_tlsf_stats_of(const tarn_tlsf* heap,
                                                      const tarn_tlsf_level* levels) {
  TARN_WATCH_PASS();
  tarn_tlsf_stats stats;
  stats.bytes = heap->bytes;
  stats.in_use_bytes = heap->in_use;
  stats.free_bytes = heap->bytes - heap->in_use;
  stats.peak_bytes = heap->peak;
  stats.blocks = heap->blocks;
  stats.failures = heap->failures;
  stats.largest_bytes = 0;
  if (heap->map != 0) {
    /* The head of the last list: a request above the list's least size tries no other block. */
    const tarn_tlsf_level* const level = levels + tarn_highest_bit(heap->map);
    const size_t head = level->lists[tarn_highest_bit(level->map)];
    stats.largest_bytes = tarn_tlsf_bytes(tarn_tlsf_linked(head)) - sizeof(size_t);
  }
  return stats;
}

/* Checks each block of a region: the sizes lead to its end, the flags agree with the neighbours,
 * and no two free blocks lie side by side. Adds the live bytes and the numbers of live and free
 * blocks to *live, *blocks and *frees. */
TARN_TLSF_FUNCTION int tarn_tlsf_check_region(const tarn_tlsf_region* region, size_t* live,
                                              size_t* blocks, size_t* frees) {
  const tarn_tlsf_word* b = tarn_tlsf_first(region);
  int before_free = 0;
  if (tarn_tlsf_at(b, region->bytes) != region->end) return 0;
  while (b != region->end) {
    const size_t bytes = tarn_tlsf_bytes(b), flags = b[0] & TARN_TLSF_FLAGS;
    if (bytes < TARN_TLSF_LEAST || bytes % TARN_TLSF_GRAIN != 0) return 0;
    if (bytes > tarn_tlsf_distance(b, region->end)) return 0;
    if (((flags & TARN_TLSF_BEFORE_FREE) != 0) != before_free) return 0;
    before_free = (flags & TARN_TLSF_FREE) != 0;
    if (((flags & TARN_TLSF_LIVE) != 0) == before_free) return 0;
    if (before_free && !tarn_tlsf_is_free(region, b)) return 0;
    *(before_free ? frees : blocks) += 1;
    *live += before_free ? 0 : bytes;
    b = tarn_tlsf_at(b, bytes);
  }
  return b[0] == (TARN_TLSF_LIVE | (before_free ? (size_t)TARN_TLSF_BEFORE_FREE : 0));
}

/* Checks one list: it has free blocks of its sizes, and each knows the one before it. Takes their
 * number off *frees, and fails if that would go below 0, so that it ends for a list that is a
 * circle. */
TARN_TLSF_FUNCTION int tarn_tlsf_check_list(const tarn_tlsf* heap, size_t head, size_t list,
                                            size_t* frees) {
  size_t before = 0;
  for (size_t link = head; link != 0;) {
    const tarn_tlsf_word* const b = tarn_tlsf_linked(link);
    if (link % TARN_TLSF_GRAIN != 0 || (*frees)-- == 0) return 0;
    const tarn_tlsf_region* const region = tarn_tlsf_region_of(heap, b);
    if (region == NULL || !tarn_tlsf_is_free(region, b) || b[2] != before) return 0;
    if (tarn_tlsf_list(tarn_tlsf_bytes(b) / TARN_TLSF_GRAIN) != list) return 0;
    before = link;
    link = b[1];
  }
  return 1;
}

/* Checks every invariant: all blocks, all lists, both kinds of maps, and the counts. */
TARN_TLSF_FUNCTION int tarn_tlsf_check(const tarn_tlsf* heap, const tarn_tlsf_level* levels,
                                       size_t level_count) {
  TARN_WATCH_PASS();
  size_t live = 0, blocks = 0, frees = 0, bytes = 0;
  for (const tarn_tlsf_region* r = heap->regions; r != NULL; r = r->next) {
    bytes += r->bytes;
    if (!tarn_tlsf_check_region(r, &live, &blocks, &frees)) return 0;
  }
  if (live != heap->in_use || blocks != heap->blocks || bytes != heap->bytes) return 0;
  if (heap->peak < live || heap->peak > bytes || (heap->map >> (level_count - 1)) > 1) return 0;
  for (size_t i = 0; i < level_count; ++i) {
    if ((levels[i].map != 0) != ((heap->map >> i & 1) != 0)) return 0;
    if (levels[i].map >> TARN_TLSF_LISTS != 0) return 0;
    for (size_t k = 0; k < TARN_TLSF_LISTS; ++k) {
      const size_t head = levels[i].lists[k];
      if ((head != 0) != ((levels[i].map >> k & 1) != 0)) return 0;
      if (!tarn_tlsf_check_list(heap, head, i * TARN_TLSF_LISTS + k, &frees)) return 0;
    }
  }
  return frees == 0;
}

#ifdef __cplusplus
}
#endif

#endif
#endif
