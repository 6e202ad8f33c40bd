/* guards: a malloc whose blocks have a guard page each. Where the kernel has markers for that
 * (Linux 6.13), any number of live blocks takes no mappings; else, or where a filter refuses them,
 * the mappings that a process may have are not used up, and all blocks are served. Either way a
 * write behind a block faults, and one to a freed block.
 *
 * Usage: guards with_markers BLOCKS | refused BLOCKS; the second as early as it can be.
 *
 * SPDX-License-Identifier: MIT */
#include <signal.h>
#include <sys/mman.h>

#include "filter.h"
#include "load.h"

enum { BLOCKS_MOST = 150000, BLOCK_BYTES = 48, MAPPINGS_MOST = 40000, GUARD_INSTALL = 102 };

static bool has_markers(void) {
  void* const page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED);
  const bool has = madvise(page, 4096, GUARD_INSTALL) == 0;
  CHECK(munmap(page, 4096) == 0);
  return has;
}

static void expect_fault_at(volatile char* p) {
  const pid_t child = fork();
  if (child == 0) {
    fall_silent();
    *p = 1;
    _exit(0);
  }
  const int status = status_of_child(child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

int main(int argc, char** argv) {
  static char* blocks[BLOCKS_MOST];
  begin(120);
  CHECK(argc == 3);
  const size_t count = strtoul(argv[2], NULL, 10);
  CHECK(count > 200 && count <= BLOCKS_MOST);
  const bool is_refused = strcmp(argv[1], "refused") == 0;
  if (!is_refused && !has_markers()) skip("this kernel has no guard markers");
  const long calls[] = {SYS_madvise};
  if (is_refused) refuse(calls, 1, EINVAL);
  for (size_t i = 0; i < count; ++i) {
    blocks[i] = malloc(BLOCK_BYTES);
    CHECK(blocks[i] != NULL);
    pattern_fill(blocks[i], BLOCK_BYTES, (unsigned)i);
  }
  CHECK(mapping_count() < (is_refused ? MAPPINGS_MOST : MAPPINGS_MOST / 40));
  expect_fault_at(blocks[100] + BLOCK_BYTES);
  if (!is_refused) expect_fault_at(blocks[count - 1] + BLOCK_BYTES);
  for (size_t i = 0; i < count; ++i) {
    CHECK(pattern_holds(blocks[i], BLOCK_BYTES, (unsigned)i));
    free(blocks[i]);
  }
  if (!is_refused) { /* Locked memory takes no markers; other memory still does. */
    char* const locked = malloc(BLOCK_BYTES);
    CHECK(mlock(locked, BLOCK_BYTES) == 0);
    free(locked);
    expect_fault_at(opaque_block(locked));
    CHECK(mapping_count() < MAPPINGS_MOST / 40);
    for (size_t i = 0; i < count; ++i) CHECK((blocks[i] = malloc(BLOCK_BYTES)) != NULL);
    CHECK(mapping_count() < MAPPINGS_MOST / 40);
    expect_fault_at(blocks[count - 1] + BLOCK_BYTES);
    for (size_t i = 0; i < count; ++i) free(blocks[i]);
  }
  char* const freed = malloc(BLOCK_BYTES);
  free(freed);
  expect_fault_at(opaque_block(freed));
  load_churn(3, SCALED(20000), NULL);
  return 0;
}
