/* growth_bound: a few large blocks are resized again and again. What the process maps, has resident
 * and has in mappings is bounded by what is live, not by how often blocks grew: address space that
 * a block left is used for others.
 *
 * SPDX-License-Identifier: MIT */
#include "load.h"

enum { BLOCKS = 24, STEPS = 60000, MAPPINGS_MORE = 2000 };

static const size_t least_bytes = 130000;
static const size_t spread_bytes = 500000;

static void touch(load_block* block, size_t size) {
  block->size = size;
  for (size_t i = sizeof *block; i < size; i += 4096) ((char*)block)[i] = (char)size;
}

static load_block* step(load_block* block, uint64_t* state) {
  const size_t size = least_bytes + random_next(state) % spread_bytes;
  if (block != NULL && random_next(state) % 4 == 0) {
    FAMILY(free)(block);
    return NULL;
  }
  const size_t before = block == NULL ? 0 : block->size;
  block = block == NULL ? FAMILY(malloc)(size) : FAMILY(realloc)(block, size);
  CHECK(block != NULL && (before == 0 || block->size == before));
  touch(block, size);
  return block;
}

int main(void) {
  begin(60);
  static load_block* blocks[BLOCKS];
  uint64_t state = 12345;
  const size_t mapped = mapped_bytes();
  const size_t mappings = mapping_count();
  const int steps = SCALED(STEPS);
  for (int i = 1; i <= steps; ++i) {
    const size_t index = random_next(&state) % BLOCKS;
    blocks[index] = step(blocks[index], &state);
    if (i % (steps / 4) != 0) continue;
    dprintf(STDERR_FILENO, "%d steps: %zu MiB mapped, %zu MiB resident, %zu mappings\n", i,
            mapped_bytes() / MEBIBYTE, resident_bytes() / MEBIBYTE, mapping_count());
  }
  CHECK(TARN_TEST_DIVISOR > 1 || mapped_bytes() < mapped + 512 * MEBIBYTE);
  CHECK(TARN_TEST_DIVISOR > 1 || mapping_count() < mappings + MAPPINGS_MORE);
  for (size_t i = 0; i < BLOCKS; ++i) FAMILY(free)(blocks[i]);
  (void)FAMILY(malloc_trim)(0);
  CHECK_RESIDENT_BELOW(32 * MEBIBYTE);
  return 0;
}
