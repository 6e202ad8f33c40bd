/* blocks: lists of blocks of random sizes, all written.
 *
 * SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "task.h"

const sizes small_sizes = {16, 2000};
const sizes large_sizes = {100 << 10, 8 << 20};

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators" (2016). */
uint64_t random_next(uint64_t* state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return (*state * 0x2545F4914F6CDD1D) >> 16;
}

block* block_take(size_t size) {
  block* taken = malloc(size);
  if (taken == NULL) {
    static const char said[] = "returns: no memory\n";
    if (write(STDERR_FILENO, said, sizeof said - 1) < 0) _exit(1);
    _exit(NO_MEMORY);
  }
  memset(taken, 1, size);
  taken->next = NULL;
  return taken;
}

static atomic_long lists_taken;

long blocks_of_lists(void) { return atomic_load_explicit(&lists_taken, memory_order_relaxed); }

void list_fill(list* to, size_t bytes, sizes range, uint64_t* random) {
  long count = 0;
  for (size_t filled = 0; filled < bytes; ++count) {
    size_t size = range.least + random_next(random) % (range.most - range.least + 1);
    if (size > bytes - filled && bytes - filled >= sizeof(block)) size = bytes - filled;
    block* taken = block_take(size);
    if (to->last != NULL) {
      to->last->next = taken;
    } else {
      to->first = taken;
    }
    to->last = taken;
    filled += size;
  }
  atomic_fetch_add_explicit(&lists_taken, count, memory_order_relaxed);
}

void list_free(list* from) {
  for (block* each = from->first; each != NULL;) {
    block* next = each->next;
    free(each);
    each = next;
  }
  from->first = from->last = NULL;
}
