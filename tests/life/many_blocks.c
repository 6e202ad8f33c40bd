/* many_blocks: more live large blocks than a process may have mappings (65,530 by default). They
 * are taken, freed in an order that leaves a hole beside each, and taken again.
 *
 * Only address space is used: nothing is written to the blocks.
 *
 * SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <sys/resource.h>

#include "check.h"
#include "family.h"
#include "pattern.h"

enum { BLOCKS = 70000 };

static const size_t block_bytes = 300 * 1024;
static void* blocks[BLOCKS];
static uintptr_t sorted[BLOCKS];

static int compare(const void* a, const void* b) {
  const uintptr_t left = *(const uintptr_t*)a;
  const uintptr_t right = *(const uintptr_t*)b;
  return left < right ? -1 : left > right;
}

static void take_missing(void) {
  for (size_t i = 0; i < BLOCKS; ++i) {
    if (blocks[i] != NULL) continue;
    blocks[i] = malloc(block_bytes);
    if (blocks[i] == NULL) dprintf(STDERR_FILENO, "block %zu of %d failed\n", i, BLOCKS);
    CHECK(blocks[i] != NULL && is_aligned(blocks[i], 16));
  }
}

static void check_apart(void) {
  for (size_t i = 0; i < BLOCKS; ++i) sorted[i] = (uintptr_t)blocks[i];
  qsort(sorted, BLOCKS, sizeof sorted[0], compare);
  for (size_t i = 1; i < BLOCKS; ++i) CHECK(sorted[i] - sorted[i - 1] >= block_bytes);
}

static void require_address_space(void) {
  struct rlimit limit;
  char mode = '0';
  CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
  const int file = open("/proc/sys/vm/overcommit_memory", O_RDONLY);
  if (file >= 0 && read(file, &mode, 1) != 1) mode = '0';
  if (file >= 0) close(file);
  if (limit.rlim_cur != RLIM_INFINITY || mode == '2') skip("the address space is limited here");
}

int main(void) {
  begin(60);
  require_address_space();
  const size_t before = resident_bytes();
  take_missing();
  check_apart();
  for (size_t i = 0; i < BLOCKS; i += 2) {
    free(blocks[i]);
    blocks[i] = NULL;
  }
  take_missing();
  check_apart();
  for (size_t i = 0; i < BLOCKS; i += 7) {
    blocks[i] = realloc(blocks[i], 2 * block_bytes);
    CHECK(blocks[i] != NULL);
  }
  check_apart();
  for (size_t i = 1; i < BLOCKS; i += 2) free(blocks[i]);
  for (size_t i = 0; i < BLOCKS; i += 2) free(blocks[i]);
  CHECK_RESIDENT_BELOW(before + 400 * MEBIBYTE);
  void* last = malloc((size_t)1 << 30);
  CHECK(last != NULL);
  free(last);
  return 0;
}
