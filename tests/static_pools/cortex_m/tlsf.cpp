// tlsf: TLSF heaps on a processor without an OS: what comes and goes, with contents, checks, misuse
// and two regions; QEMU writes down each instruction, and count_steps.py finds the most of one
// operation.
//
// SPDX-License-Identifier: MIT
#include "tarn/heap/tlsf.hpp"

#include "board.h"
#include "critical_section.hpp"
#include "tarn/heap/tlsf.h"

TARN_STATIC_TLSF(c_heap, 800)
static struct c_heap c_heap_object;

namespace {

tarn::StaticTlsfHeap<6000, CriticalSection> heap;
alignas(8) unsigned char more[1500];
volatile unsigned misuses;

}  // namespace

extern "C" void tarn_static_misuse(const char*, const void*, const void*) { misuses = misuses + 1; }
extern "C" void tick() {}

// The names that are counted.
#define COUNTED extern "C" __attribute__((noinline))
COUNTED void* allocate_bytes(std::size_t bytes) { return heap.try_allocate(bytes); }
COUNTED void* allocate_aligned(std::size_t bytes, std::size_t alignment) {
  return heap.try_allocate(bytes, alignment);
}
COUNTED void* allocate_by_resize(void* p, std::size_t bytes) {
  return heap.try_reallocate(p, bytes);
}
COUNTED void deallocate_block(void* p) { heap.deallocate(p); }

namespace {

struct Block {
  unsigned char* p;
  std::size_t bytes;
};
Block blocks[60];
std::size_t live;

std::size_t random_below(std::size_t n) {
  static std::uint32_t state;
  state = state * 1664525 + 1013904223;
  return (state >> 16) % n;
}

void mark(const Block& block) {
  for (std::size_t i = 0; i < block.bytes; ++i) {
    block.p[i] = static_cast<unsigned char>(block.bytes);
  }
}
void require_whole(const Block& block, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    REQUIRE(block.p[i] == static_cast<unsigned char>(block.bytes));
  }
}

void exercise() {
  for (int step = 0; step < 800; ++step) {
    const std::size_t what = random_below(8);
    Block& block = blocks[what < 4 ? live : random_below(live + 1)];
    if (what < 4 && live < 60) {
      block.bytes = random_below(150);
      block.p = static_cast<unsigned char*>(what == 0 ? allocate_aligned(block.bytes, 64)
                                                      : allocate_bytes(block.bytes));
      if (block.p == nullptr) continue;
      REQUIRE(tarn_tlsf_distance(nullptr, block.p) % (what == 0 ? 64 : 8) == 0);
      mark(block);
      ++live;
    } else if (what == 4 && &block != blocks + live) {
      require_whole(block, block.bytes);
      const std::size_t bytes = block.bytes / 2;
      REQUIRE(allocate_by_resize(block.p, bytes) == block.p);
      require_whole(block, bytes);
      block.bytes = bytes;
      mark(block);
    } else if (&block != blocks + live) {
      require_whole(block, block.bytes);
      deallocate_block(block.p);
      block = blocks[--live];
    }
    if (step % 16 == 0) REQUIRE(heap.check());
  }
}

}  // namespace

int main() {
  exercise();
  REQUIRE(heap.add_region(more, sizeof more) && !heap.add_region(more, sizeof more));
  REQUIRE(allocate_bytes(5900) == nullptr);
  void* const large = heap.try_allocate(1400);
  REQUIRE(large != nullptr && heap.owns(large) && heap.check());
  exercise();
  while (live != 0) deallocate_block(blocks[--live].p);
  deallocate_block(large);
  deallocate_block(large);
  deallocate_block(more + 1);
  deallocate_block(nullptr);
  REQUIRE(misuses == 2 && heap.stats().in_use_bytes == 0 && heap.check());
  void* const p = c_heap_reallocate(&c_heap_object, c_heap_allocate(&c_heap_object, 20, 1), 200, 1);
  REQUIRE(p != nullptr && c_heap_check(&c_heap_object));
  c_heap_deallocate(&c_heap_object, p);
  board_print_number("bytes of StaticTlsfHeap<6000>: ", sizeof heap);
  board_print("passed\n");
  return 0;
}
