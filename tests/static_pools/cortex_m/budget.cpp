// budget: a StaticHeap with three classes, and the stack, in 2,000 bytes of RAM in all.
//
// SPDX-License-Identifier: MIT
#include "board.h"
#include "tarn/pool/static_heap.hpp"

namespace {

using tarn::Class;

tarn::StaticHeap<Class<16, 32>, Class<48, 10>, Class<128, 3>> heap;
// Sixteen bytes of bookkeeping for each class, and eight of padding.
static_assert(heap.footprint_bytes() == 32 * 16 + 10 * 48 + 3 * 128 + 3 * 16 + 8);

// Any sizes in any order against what must hold; the blocks are found again by walking the heap.
std::uint32_t churn() {
  std::uint32_t state = 1, served = 0;
  for (std::uint32_t i = 0; i < 20000; ++i) {
    state = state * 1664525 + 1013904223;
    const std::size_t most = state >> 30 == 0 ? 128 : 16;  // Small ones mostly.
    void* const p = heap.try_allocate((state >> 8) % most + 1);
    if (auto* const block = static_cast<unsigned char*>(p)) {
      const std::size_t bytes = heap.block_bytes_of(block);
      for (std::size_t at = 0; at < bytes; ++at) block[at] = static_cast<unsigned char>(bytes);
      ++served;
    }
    if ((state >> 16) % 2 == 0) continue;
    std::uint32_t skip = (state >> 24) % 16;
    heap.for_each([&](void* p) {
      if (skip-- != 0) return true;
      const std::size_t bytes = heap.block_bytes_of(p);
      for (std::size_t at = 0; at < bytes; ++at) {
        REQUIRE(static_cast<unsigned char*>(p)[at] == bytes);
      }
      heap.deallocate(p);
      return false;
    });
  }
  return served;
}

}  // namespace

extern "C" void tick() {}

int main() {
  const std::uint32_t served = churn();
  REQUIRE(served > 1000 && heap.check());
  heap.for_each([](void* p) { heap.deallocate(p); });
  heap.for_each_class([](const tarn::StaticStats& stats) {
    REQUIRE(stats.in_use == 0 && stats.peak == stats.blocks && stats.failures != 0);
  });
  REQUIRE(heap.check());
  board_print_number("heap, bytes: ", heap.footprint_bytes());
  board_print_number("stack, bytes: ", board_stack_bytes());
  board_print_number("of these never used: ", board_stack_untouched_bytes());
  REQUIRE(board_stack_untouched_bytes() > 0);
  board_print("passed\n");
  return 0;
}
