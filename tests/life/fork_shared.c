/* fork_shared: the child of a fork, which has not touched what it shares with its parent: what
 * leads from there to blocks does so all the same. Memory of mmap, and a heap in such memory.
 *
 * SPDX-License-Identifier: MIT */
#include <sys/mman.h>

#include "check.h"
#include "tarn/diagnose/unreachable.h"
#include "tarn/tarn.h"

enum { blocks = 50, region_bytes = 4 << 20, holder_bytes = 256 << 10 };

static void** holder; /* A block in the region. */

static unsigned long long lost_in(tarn_heap heap) {
  const tarn_unreachable_options options =
      TARN_UNREACHABLE_OPTIONS(.heaps = &heap, .heap_count = 1);
  tarn_unreachable_result result = TARN_UNREACHABLE_RESULT();
  CHECK(tarn_find_unreachable(&options, NULL, NULL, &result) == 0);
  CHECK(result.live_blocks >= 2 * blocks);
  return result.blocks;
}

static void* shared_memory(size_t bytes) {
  void* const p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(p != MAP_FAILED);
  return p;
}

int main(void) {
  begin(60);
  const tarn_heap_options plain = TARN_HEAP_OPTIONS();
  const tarn_heap heap = tarn_heap_create(&plain);
  const tarn_heap_options apart =
      TARN_HEAP_OPTIONS(.region = shared_memory(region_bytes), .region_bytes = region_bytes);
  const tarn_heap shared = tarn_heap_create(&apart);
  CHECK(heap.record != NULL && shared.record != NULL);
  void** const memory = shared_memory(holder_bytes);
  holder = tarn_heap_allocate(shared, holder_bytes);
  CHECK(holder != NULL);
  for (size_t i = 0; i < blocks; ++i) {
    memory[i * 600] = tarn_heap_allocate(heap, 100);
    holder[i * 600] = tarn_heap_allocate(heap, 100);
    CHECK(memory[i * 600] != NULL && holder[i * 600] != NULL);
  }
  CHECK(lost_in(heap) == 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    CHECK(lost_in(heap) == 0);
    _exit(0);
  }
  CHECK(status_of_child(child) == 0);
  return 0;
}
