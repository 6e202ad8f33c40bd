/* refused_calls: a seccomp filter refuses system calls that an allocator relies on.
 *
 * Usage: refused_calls KIND ERRNO. After `map`, memory ends in null and ENOMEM, whatever the kernel
 * said, and what was there serves on. After `remap` (mremap, madvise, prctl) everything still
 * succeeds, by slower ways. After `unmap`, free copes. After `ask` (membarrier, process_vm_readv,
 * mincore, sysinfo), other threads' work is waited for, and searches and heaps do without.
 *
 * SPDX-License-Identifier: MIT */
#include <sys/resource.h>

#include "filter.h"
#include "load.h"

/* Takes blocks of `size` until there are none, and frees all of them; returns how many. */
static size_t take_all(size_t size, size_t count_max) {
  void** first = NULL;
  size_t count = 0;
  errno = 0;
  for (void** block; count < count_max && (block = malloc(size)) != NULL; ++count) {
    *block = first;
    first = block;
  }
  if (count < count_max) CHECK(errno == ENOMEM);
  while (first != NULL) {
    void** next = *first;
    free(first);
    first = next;
  }
  return count;
}

static void without_map(int error) {
  const long calls[] = {SYS_mmap, SYS_mremap};
  enum { KEPT = 1000 };
  static void* kept[KEPT];
  const struct rlimit none = {0, 0};
  CHECK(take_all(1000, 20000) == 20000);
  for (size_t i = 0; i < KEPT; ++i) {
    kept[i] = malloc(i * 40 + 1);
    CHECK(kept[i] != NULL);
    pattern_fill(kept[i], i * 40 + 1, (unsigned)i);
  }
  CHECK(setrlimit(RLIMIT_DATA, &none) == 0); /* No memory from brk either. */
  refuse(calls, 2, error);
  errno = 0;
  CHECK(malloc(opaque((size_t)1 << 32)) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(realloc(kept[KEPT - 1], opaque((size_t)1 << 32)) == NULL && errno == ENOMEM);
  for (int round = 0; round < 3; ++round) {
    CHECK(take_all(1000, 1000000) < 1000000);
    (void)take_all(64, 1000);
    (void)take_all(50000, 100000);
    (void)take_all(3000000, 1000);
    (void)take_all(24, 1000);
  }
  for (size_t i = 0; i < KEPT; ++i) {
    CHECK(pattern_holds(kept[i], i * 40 + 1, (unsigned)i));
    free(kept[i]);
  }
  CHECK(take_all(1000, 10) == 10);
}

static void grow_and_clear(void) {
  char* block = NULL;
  size_t filled = 0;
  for (size_t size = 1000; size < 100000000; size *= 3) {
    block = realloc(block, size);
    CHECK(block != NULL && pattern_holds_prefix(block, filled, filled, 6));
    pattern_fill(block, size, 6);
    filled = size;
  }
  free(block);
  for (size_t size = 100; size < 30000000; size *= 4) {
    block = malloc(size);
    CHECK(block != NULL);
    memset(block, 0xEE, size);
    free(block);
    block = calloc(size, 1);
    CHECK(block != NULL && block[0] == 0 && memcmp(block, block + 1, size - 1) == 0);
    memset(block, 0xEE, size);
    free(block);
  }
  (void)malloc_trim(0);
}

static void go_on_without(const long* calls, size_t count, int error) {
  static load background;
  load_churn(3, 1000, NULL);
  refuse(calls, count, error);
  for (uint64_t round = 0; round < 5; ++round) {
    grow_and_clear();
    load_churn(round + 1, 3000, NULL);
    CHECK(take_all(1000, 100000) == 100000);
    CHECK(take_all(1000000, 50) == 50);
  }
  load_start(&background, 2);
  load_churn(9, 20000, background.shared);
  load_stop(&background);
}

/* What looks at other threads' memory and lists. By name: a malloc may lack them. */
static void look_without(void) {
  typedef struct {
    void* record;
    uint64_t id;
  } heap_handle;
  typedef heap_handle create(const void*);
  typedef void* allocate(heap_handle, size_t);
  typedef int end(heap_handle);
  typedef int print(int, const void*, void*);
  create* const heap_create = (create*)dlsym(RTLD_DEFAULT, "tarn_heap_create");
  if (heap_create == NULL) return;
  allocate* const heap_allocate = (allocate*)dlsym(RTLD_DEFAULT, "tarn_heap_allocate");
  end* const heap_destroy = (end*)dlsym(RTLD_DEFAULT, "tarn_heap_destroy");
  print* const print_unreachable = (print*)dlsym(RTLD_DEFAULT, "tarn_print_unreachable");
  const heap_handle heap = heap_create(NULL);
  for (size_t i = 0; i < 1000; ++i) CHECK(heap_allocate(heap, i + 1) != NULL);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  CHECK(nowhere >= 0 && print_unreachable(nowhere, NULL, NULL) >= 0);
  CHECK(heap_destroy(heap) == 0);
  CHECK(mallinfo2().arena != 0);
}

int main(int argc, char** argv) {
  begin(60);
  CHECK(argc == 3);
  const int error = strcmp(argv[2], "EPERM") == 0 ? EPERM : ENOMEM;
  const long remap_calls[] = {SYS_mremap, SYS_madvise, SYS_prctl};
  const long unmap_calls[] = {SYS_munmap};
  const long ask_calls[] = {SYS_membarrier, SYS_process_vm_readv, SYS_mincore, SYS_sysinfo};
  if (strcmp(argv[1], "map") == 0) {
    without_map(error);
  } else if (strcmp(argv[1], "remap") == 0) {
    go_on_without(remap_calls, 3, error);
  } else if (strcmp(argv[1], "unmap") == 0) {
    go_on_without(unmap_calls, 1, error);
  } else {
    go_on_without(ask_calls, 4, error);
    look_without();
  }
  return 0;
}
