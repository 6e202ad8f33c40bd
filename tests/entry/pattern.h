/* pattern: bytes that tell one block's content from another's, and values that the compiler
 * cannot see through (it would otherwise warn about, or fold away, the very calls under test).
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_TESTS_ENTRY_PATTERN_H
#define TARN_TESTS_ENTRY_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* Blocks above this are written and read in strides: one byte in every page is enough there. */
#define PATTERN_DENSE_BYTES ((size_t)65536)
#define PATTERN_STRIDE ((size_t)509)

static inline size_t opaque(size_t value) {
  volatile size_t hidden = value;
  return hidden;
}

static inline void* opaque_block(const void* block) {
  const void* volatile hidden = block;
  return (void*)(uintptr_t)hidden;
}

static inline unsigned char pattern_byte(size_t index, unsigned seed) {
  return (unsigned char)(index * 31u + (index >> 8) + seed * 17u + 1u);
}

static inline size_t pattern_stride(size_t size) {
  return size <= PATTERN_DENSE_BYTES ? 1 : PATTERN_STRIDE;
}

static inline void pattern_fill(void* block, size_t size, unsigned seed) {
  unsigned char* bytes = (unsigned char*)opaque_block(block);
  for (size_t i = 0; i < size; i += pattern_stride(size)) bytes[i] = pattern_byte(i, seed);
  if (size != 0) bytes[size - 1] = pattern_byte(size - 1, seed);
}

/* Whether the first `size` bytes still hold what pattern_fill wrote into a block of `filled`. */
static inline int pattern_holds_prefix(const void* block, size_t size, size_t filled,
                                       unsigned seed) {
  const unsigned char* bytes = (const unsigned char*)opaque_block(block);
  for (size_t i = 0; i < size; i += pattern_stride(filled)) {
    if (bytes[i] != pattern_byte(i, seed)) return 0;
  }
  return size == 0 || size < filled || bytes[size - 1] == pattern_byte(size - 1, seed);
}

static inline int pattern_holds(const void* block, size_t size, unsigned seed) {
  return pattern_holds_prefix(block, size, size, seed);
}

static inline int is_aligned(const void* block, size_t alignment) {
  return ((uintptr_t)block & (alignment - 1)) == 0;
}

/* A small generator of our own: the same sequence in every C library. */
static inline uint64_t random_next(uint64_t* state) {
  uint64_t x = *state;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return *state = x;
}

#endif
