/* region_no_os: a heap in a region makes no call of the operating system: from its first line on
 * main() is one that the kernel kills for any but read, write, sigreturn and exit.
 *
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tarn/tarn.h"

static unsigned char memory[1 << 20];

static void say(const char* text) {
  if (write(2, text, strlen(text)) < 0) syscall(SYS_exit, 3);
}

#define STRING(x) STRING_OF(x)
#define STRING_OF(x) #x
#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      say("region_no_os.c:" STRING(__LINE__) ": not true: " #condition "\n"); \
      syscall(SYS_exit, 1);                                                   \
    }                                                                         \
  } while (0)

static int count(const tarn_heap_item* item, void* context) {
  if (item->kind == TARN_HEAP_BLOCK || item->kind == TARN_HEAP_LARGE_BLOCK) ++*(size_t*)context;
  return 0;
}

static void live(int threads) {
  const tarn_heap_options options =
      TARN_HEAP_OPTIONS(.name = "region", .threads = threads, .ceiling_bytes = 900000,
                        .region = memory + 100, .region_bytes = sizeof memory - 100);
  static void* blocks[20000];
  const tarn_heap heap = tarn_heap_create(&options);
  CHECK(heap.record != NULL);
  for (int turn = 0; turn < 3; ++turn) {
    size_t n = 0;
    while ((blocks[n] = tarn_heap_allocate(heap, n * 37 % 3000)) != NULL) ++n;
    CHECK(errno == ENOMEM && n > 300);
    size_t seen = 0;
    CHECK(tarn_heap_walk(heap, 0, count, &seen) == 0 && seen == n);
    tarn_heap_stats stats = TARN_HEAP_STATS();
    CHECK(tarn_heap_get_stats(heap, &stats) == 0 && stats.live_blocks == n);
    for (size_t i = 0; i < n; i += 2) tarn_free(blocks[i]);
    for (size_t i = 1; i < n; i += 2) {
      void* const moved = tarn_heap_reallocate(heap, blocks[i], 100);
      CHECK(moved != NULL);
      tarn_free(moved);
    }
    tarn_heap_trim(heap, 0);
    void* const large = tarn_heap_allocate(heap, 400000);
    CHECK(large != NULL && tarn_heap_owns(heap, large));
    CHECK(tarn_heap_try_expand(large, 500000) == 1);
    tarn_free(large);
    const tarn_fixed fixed = tarn_heap_fixed(heap, 24, 8);
    CHECK(fixed.record != NULL);
    for (int i = 0; i < 500; ++i) CHECK(tarn_fixed_allocate(fixed) != NULL);
    CHECK(tarn_heap_clear(heap) == 0);
  }
  CHECK(tarn_heap_destroy(heap) == 0);
}

int main(void) {
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) return 77; /* Not here: skipped. */
  live(TARN_HEAP_SHARED);
  live(TARN_HEAP_SERIALISED);
  live(TARN_HEAP_CONFINED);
  syscall(SYS_exit, 0);
  return 0;
}
