/* mapping_limit: the process has as many mappings as it may (vm.max_map_count). Large blocks grow,
 * come and go there: each call succeeds or gives null and ENOMEM, no content is lost, and once the
 * mappings are fewer everything works as before.
 *
 * SPDX-License-Identifier: MIT */
#include <sys/mman.h>

#include "load.h"

enum { BLOCKS = 24, FILLERS_MAX = 200000, ROUNDS = 12 };

static load_block* blocks[BLOCKS];
static void* fillers[FILLERS_MAX];
static size_t filler_count;
static long refused;

static void fill(load_block* block, size_t size) {
  block->size = size;
  pattern_fill(block + 1, size - sizeof *block, (unsigned)size);
}

/* May fail, but then the block is as it was. */
static void try_resize(size_t index, size_t size) {
  load_block* old = blocks[index];
  const size_t before = old->size;
  const size_t kept = before < size ? before : size;
  errno = 0;
  load_block* resized = FAMILY(realloc)(old, size);
  if (resized == NULL) {
    CHECK(errno == ENOMEM);
    load_check(old);
    ++refused;
    return;
  }
  CHECK(resized->size == before);
  CHECK(pattern_holds_prefix(resized + 1, kept - sizeof *old, before - sizeof *old,
                             (unsigned)before));
  fill(resized, size);
  blocks[index] = resized;
}

static void try_replace(size_t index, size_t size) {
  errno = 0;
  load_block* fresh = FAMILY(malloc)(size);
  if (fresh == NULL) {
    CHECK(errno == ENOMEM);
    ++refused;
    return;
  }
  fill(fresh, size);
  load_give(blocks[index]);
  blocks[index] = fresh;
}

static void try_small_blocks(void) {
  void* small[64];
  for (size_t i = 0; i < 64; ++i) {
    errno = 0;
    small[i] = FAMILY(malloc)(i * i * 10);
    CHECK(small[i] != NULL || errno == ENOMEM);
    if (small[i] != NULL) memset(small[i], 7, i * i * 10);
  }
  for (size_t i = 0; i < 64; ++i) FAMILY(free)(small[i]);
}

/* Neighbours with different rights cannot become one mapping. */
static void* add_mapping(void) {
  const int rights = filler_count % 2 == 0 ? PROT_NONE : PROT_READ;
  return mmap(NULL, os_page_bytes(), rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void use_up_mappings(void) {
  for (;;) {
    if (filler_count == FILLERS_MAX) skip("vm.max_map_count is too high to be reached here");
    void* filler = add_mapping();
    if (filler == MAP_FAILED) break;
    fillers[filler_count++] = filler;
  }
  CHECK(errno == ENOMEM);
}

static void give_back_mappings(size_t kept) {
  while (filler_count > kept) CHECK(munmap(fillers[--filler_count], os_page_bytes()) == 0);
}

static void resize_at_the_limit(uint64_t* state) {
  for (int round = 0; round < ROUNDS; ++round) {
    for (size_t i = 0; i < BLOCKS; ++i) {
      load_check(blocks[i]);
      const size_t size = blocks[i]->size;
      if ((i + (size_t)round) % 4 == 0) {
        try_replace(i, 262144 + random_next(state) % 1000000);
      } else if (size > 6 * MEBIBYTE) {
        try_resize(i, size / 5);
      } else {
        try_resize(i, size + size / 8 + random_next(state) % size);
      }
    }
    try_small_blocks();
    if (round % 4 == 3) (void)FAMILY(malloc_trim)(0);
    if (round % 3 == 2) {
      /* A few mappings less, so that calls come to the limit at each of their steps. */
      give_back_mappings(filler_count - (size_t)round);
    }
  }
}

int main(void) {
  begin(60);
  uint64_t state = 9;
  for (size_t i = 0; i < BLOCKS; ++i) {
    const size_t size = 262144 + (i % 8) * 100000;
    blocks[i] = FAMILY(malloc)(size);
    CHECK(blocks[i] != NULL);
    fill(blocks[i], size);
  }
  use_up_mappings();
  resize_at_the_limit(&state);
  use_up_mappings();
  resize_at_the_limit(&state);
  give_back_mappings(0);
  refused = 0;
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < BLOCKS; ++i) try_resize(i, blocks[i]->size * 2);
  }
  try_replace(0, 512 * MEBIBYTE);
  CHECK(refused == 0);
  for (size_t i = 0; i < BLOCKS; ++i) load_give(blocks[i]);
  load_churn(3, 5000, NULL);
  return 0;
}
