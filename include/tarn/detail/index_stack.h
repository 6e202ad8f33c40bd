/* index_stack: the free list of a pool that never touches its blocks. It holds the numbers of free
 * blocks in an array of 8, 16 or 32 bits each. C11 and C++17. (Users: tarn/pool/array_pool.hpp,
 * region_array_pool.h.)
 *
 *   indices   | the first `free`: a stack | ...      blocks 0 .. carved-1 were handed out once
 *
 * Walks and checks go over the blocks in windows, and over the whole stack for each window. So they
 * need no memory but one window.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_INDEX_STACK_H
#define TARN_INDEX_STACK_H

#include "language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The bytes of an index in a pool of so many blocks: 1, 2 or 4. pre: block_count > 0 */
static inline unsigned tarn_index_bytes(size_t block_count) {
  return block_count - 1 <= UINT8_MAX ? 1 : block_count - 1 <= UINT16_MAX ? 2 : 4;
}

/* The index at place `at` of the array. */
static inline size_t tarn_index_get(const void* indices, unsigned index_bytes, size_t at) {
  if (index_bytes == 1) return ((const uint8_t*)indices)[at];
  if (index_bytes == 2) return ((const uint16_t*)indices)[at];
  return ((const uint32_t*)indices)[at];
}

/* Writes index `i` to place `at` of the array. */
static inline void tarn_index_set(void* indices, unsigned index_bytes, size_t at, size_t i) {
  if (index_bytes == 1) {
    ((uint8_t*)indices)[at] = (uint8_t)i;
  } else if (index_bytes == 2) {
    ((uint16_t*)indices)[at] = (uint16_t)i;
  } else {
    ((uint32_t*)indices)[at] = (uint32_t)i;
  }
}

/* Whether block i is live in the map that pools with exact checks keep, one bit for each block. */
static inline int tarn_index_is_live(const uint32_t* live, size_t i) {
  return (int)(live[i / 32] >> i % 32 & 1);
}

/* The stack, as checks see it. */
typedef struct tarn_index_stack {
  const void* indices;
  unsigned index_bytes;
  size_t free;   /* The number of indices on the stack. */
  size_t carved; /* The number of blocks that were handed out at least once. */
} tarn_index_stack;

#define TARN_INDEX_WINDOW ((size_t)4096)

/* Which of TARN_INDEX_WINDOW blocks in a row are free, one bit for each. */
typedef struct tarn_index_window {
  uint32_t bits[TARN_INDEX_WINDOW / 32];
} tarn_index_window;

/* Whether block i of the window is free. */
static inline int tarn_index_is_free(const tarn_index_window* window, size_t i) {
  return (int)(window->bits[i / 32] >> i % 32 & 1);
}

/* Fills in the window from block `first` on. False when an index is on the stack twice, or belongs
 * to no block that was handed out. */
static inline int tarn_index_mark_free(tarn_index_stack stack, size_t first,
                                       tarn_index_window* window) {
  for (size_t w = 0; w != TARN_INDEX_WINDOW / 32; ++w) window->bits[w] = 0;
  for (size_t at = 0; at != stack.free; ++at) {
    const size_t i = tarn_index_get(stack.indices, stack.index_bytes, at);
    if (i >= stack.carved) return 0;
    if (i - first >= TARN_INDEX_WINDOW) continue;
    const uint32_t bit = (uint32_t)1 << (i - first) % 32;
    if ((window->bits[(i - first) / 32] & bit) != 0) return 0;
    window->bits[(i - first) / 32] |= bit;
  }
  return 1;
}

/* Whether the invariants hold: the counts are within their bounds; each free index is that of a
 * block which was handed out, and is on the stack once; and the live bits, if there are any, are
 * exactly those of the other blocks. */
static inline int tarn_index_check(tarn_index_stack stack, size_t block_count,
                                   const uint32_t* live) {
  if (stack.carved > block_count || stack.free > stack.carved) return 0;
  if (stack.free == stack.carved && stack.carved != 0) return 0;
  tarn_index_window window;
  for (size_t first = 0; first < stack.carved; first += TARN_INDEX_WINDOW) {
    if (!tarn_index_mark_free(stack, first, &window)) return 0;
    if (live == NULL) continue;
    for (size_t i = 0; i != TARN_INDEX_WINDOW && first + i != stack.carved; ++i) {
      if (tarn_index_is_free(&window, i) == tarn_index_is_live(live, first + i)) return 0;
    }
  }
  return 1;
}

#ifdef __cplusplus
}
#endif

#endif
#endif
