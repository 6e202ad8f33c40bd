/* huge_growth: a heap that grows beyond huge_from_kib does so by huge pages, takes hardly more
 * memory and no more mappings than without them, and has given it back when it is empty: what is
 * dropped of a huge page is not filled up again. `off`: without them. `long`: in long blocks that
 * are written to. `unwritten`: in long blocks that are not, after one that was: they stay out of
 * memory. `heap`: in small blocks of a heap of one's own.
 *
 * SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <malloc.h>
#include <stdbool.h>
#include <tarn/heap/heap.h>

#include "peak.h"

static const size_t from = 8 * (size_t)MEBIBYTE;
static const size_t to = 192 * (size_t)MEBIBYTE;
static const size_t window = 2 * (size_t)MEBIBYTE;
static const size_t long_block = 6 * (size_t)MEBIBYTE;

static size_t huge_bytes(void) { return peak_read("/proc/self/smaps_rollup", "AnonHugePages:"); }

static void check_unwritten(void) {
  peak_block* little = peak_fill(2 * from, 48, 20);
  peak_block* one = peak_take(2 * from);
  void* blocks[32];
  for (int i = 0; i < 32; ++i) {
    CHECK((blocks[i] = malloc((size_t)(i % 3 + 1) * long_block)) != NULL);
  }
  CHECK_RESIDENT_BELOW(8 * from);
  free(one);
  for (int i = 0; i < 32; ++i) free(blocks[i]);
  peak_free(little);
}

static void* found(const char* name) {
  void* function = dlsym(RTLD_DEFAULT, name);
  CHECK(function != NULL);
  return function;
}

/* One class, so that its pages become long. */
static void check_heap(void) {
  tarn_heap (*create)(const tarn_heap_options*) = NULL;
  void* (*allocate)(tarn_heap, size_t) = NULL;
  *(void**)&create = found("tarn_heap_create");
  *(void**)&allocate = found("tarn_heap_allocate");
  tarn_heap heap = create(NULL);
  for (size_t filled = 0; filled < to; filled += 64) {
    void* block = allocate(heap, 64);
    CHECK(block != NULL);
    memset(block, 1, 64);
  }
  dprintf(STDERR_FILENO, "%zu MiB in huge pages\n", huge_bytes() / MEBIBYTE);
  CHECK(huge_bytes() > to / 2);
}

int main(int count, char** words) {
  const char* mode = count > 1 ? words[1] : "";
  /* Not never, and not always, where they are nobody's doing. */
  if (!huge_pages_are("[madvise]")) skip("this kernel gives no huge pages for the asking");
  alarm(120);
  const bool off = strcmp(mode, "off") == 0;
  const size_t least = strcmp(mode, "long") == 0 ? long_block : 48;
  peak_block* blocks = peak_fill(from / 2, 48, 20);
  CHECK(huge_bytes() == 0);
  if (strcmp(mode, "unwritten") == 0) {
    check_unwritten();
    peak_free(blocks);
    return 0;
  }
  if (strcmp(mode, "heap") == 0) {
    check_heap();
    return 0;
  }
  const size_t mappings_before = mapping_count();
  peak_block* more = peak_fill(to, least, 20);
  const size_t huge = huge_bytes();
  const size_t peak = peak_bytes();
  const size_t mappings_now = mapping_count();
  dprintf(STDERR_FILENO, "%zu MiB in huge pages, %zu MiB at most, %zu mappings\n", huge / MEBIBYTE,
          peak / MEBIBYTE, mappings_now);
  CHECK(off ? huge == 0 : huge > to / 2);
  CHECK(peak < from / 2 + to + (from + to) / 8 + 4 * window);
  CHECK(mappings_now < mappings_before + 24);
  peak_free(blocks);
  peak_free(more);
  CHECK(malloc_trim(0) == 1);
  CHECK_RESIDENT_BELOW(8 * (size_t)MEBIBYTE);
  CHECK(huge_bytes() <= window);
  return 0;
}
