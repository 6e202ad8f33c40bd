/* pairs ROW COUNT [bare]: runs one loop of malloc+free pairs, for bench/instructions to count.
 *
 *   same    one block of 32 bytes over and over
 *   stack   64 blocks of 32 bytes, then all are freed in reverse
 *   small   sizes 1..512 in 8192 random slots
 *   large   S2.5's: sizes 0..65534 in 1024 random slots
 *
 * COUNT is in pairs. With `bare` the same loop runs without malloc and free; the difference of the
 * two is the allocator and the way there: the calls, their arguments and the PLT.
 *
 * SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The loops are inlined with these as constants, so that the calls are direct, as in programs. */
typedef void* (*Take)(size_t);
typedef void (*Give)(void*);

#define TARN_INLINE static inline __attribute__((always_inline))

static char bare_block[64];

TARN_INLINE void* bare_take(size_t bytes) {
  __asm__ volatile("" : : "r"(bytes));
  return bare_block;
}

TARN_INLINE void bare_give(void* block) { __asm__ volatile("" : : "r"(block)); }

TARN_INLINE uint64_t next(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 32;
}

TARN_INLINE void run_same(uint64_t count, Take take, Give give) {
  for (uint64_t i = 0; i < count; ++i) {
    give(take(32));
  }
}

TARN_INLINE void run_stack(uint64_t count, Take take, Give give) {
  enum { blocks = 64 };
  void* slots[blocks];
  for (uint64_t i = 0; i < count; i += blocks) {
    for (int b = 0; b < blocks; ++b) {
      slots[b] = take(32);
    }
    for (int b = blocks; b > 0; --b) {
      give(slots[b - 1]);
    }
  }
}

TARN_INLINE void run_slots(uint64_t count, Take take, Give give, uint64_t slot_count,
                           uint64_t sizes, unsigned shift) {
  static void* slots[8192];
  uint64_t state = 25;
  for (uint64_t i = 0; i < slot_count; ++i) {
    slots[i] = take((size_t)((next(&state) % sizes + (shift == 0)) << shift));
  }
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t bits = next(&state);
    void** slot = &slots[bits % slot_count];
    give(*slot);
    *slot = take((size_t)(((bits >> 13) % sizes + (shift == 0)) << shift));
  }
}

TARN_INLINE int run(const char* row, uint64_t count, Take take, Give give) {
  if (strcmp(row, "same") == 0) {
    run_same(count, take, give);
  } else if (strcmp(row, "stack") == 0) {
    run_stack(count, take, give);
  } else if (strcmp(row, "small") == 0) {
    run_slots(count, take, give, 8192, 512, 0);
  } else if (strcmp(row, "large") == 0) {
    run_slots(count, take, give, 1024, 32768, 1);
  } else {
    fputs("pairs: the row is one of same, stack, small, large\n", stderr);
    return 2;
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fputs("usage: pairs same|stack|small|large COUNT [bare]\n", stderr);
    return 2;
  }
  const uint64_t count = strtoull(argv[2], NULL, 10);
  if (argc > 3 && strcmp(argv[3], "bare") == 0) {
    return run(argv[1], count, bare_take, bare_give);
  }
  return run(argv[1], count, malloc, free);
}
