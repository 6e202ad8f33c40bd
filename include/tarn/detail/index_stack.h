/* index_stack: the free list of a pool that never touches its blocks. It is an array of their
 * numbers, of 8, 16 or 32 bits each. C11 and C++17. Used by tarn/pool/array_pool.hpp and
 * region_array_pool.h.
 *
 *   indices   | the first `free`: a stack | ...      blocks 0 .. carved-1 were handed out once
 *
 * Walks and checks take the blocks window by window, and go through the stack once for each window.
 * So they need no memory but for one window.
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

/* Whether block i is live, in the bits of an exact pool. */
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

/* Has a bit for each of so many blocks in a row; it is set if the block is free. */
typedef struct tarn_index_window {
  uint32_t bits[TARN_INDEX_WINDOW / 32];
} tarn_index_window;

/* Whether block i of the window is free. */
static inline int tarn_index_is_free(const tarn_index_window* window, size_t i) {
  return (int)(window->bits[i / 32] >> i % 32 & 1);
}

/* Fills the window of the blocks from `first` on. False when an index on the stack is of no block
 * that was handed out, or is there twice. */
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

/* Whether the counts are within their bounds, each index on the stack is of a block that was handed
 * out and is there once, and the live bits, if there are any, are those of all other blocks. */
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
