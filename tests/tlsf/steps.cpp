// steps: single-steps every operation of the heaps in stepped.cpp with few blocks and with many,
// joined and split in all ways, and prints the most instructions that one took, from
// its first to its return. There is a bound, and a heap of many blocks takes no more than it.
//
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <utility>

#include "../support/stepper.hpp"
#include "stepped.hpp"

namespace {

constexpr std::size_t blocks_max = 300;

struct Random {
  std::uint32_t state = 1;
  std::size_t below(std::size_t n) {
    state = state * 1664525 + 1013904223;
    return (state >> 8) % n;
  }
};

// Runs in the child. `count` blocks at a time at most.
int exercise(const Stepped& heap, std::size_t count) {
  static void* blocks[blocks_max];
  Random random;
  std::size_t live = 0;
  for (int step = 0; step < 400; ++step) {
    const std::size_t bytes = random.below(random.below(8) == 0 ? 3000 : 300);
    const std::size_t what = random.below(8);
    if (what < 4 && live < count) {
      void* const p = what != 0 ? heap.allocate(bytes)
                                : heap.allocate_aligned(bytes, std::size_t{16} << random.below(6));
      if (p != nullptr) blocks[live++] = p;
    } else if (what < 6 && live != 0) {
      // Where it is: smaller, or a little larger.
      void*& p = blocks[random.below(live)];
      void* const other = heap.resize(p, what == 4 ? 0 : 20);
      if (other != nullptr) p = other;
    } else if (live != 0) {
      std::swap(blocks[random.below(live)], blocks[live - 1]);
      heap.deallocate(blocks[--live]);
    }
  }
  if (heap.allocate(SIZE_MAX / 2) != nullptr) return 1;
  while (live != 0) heap.deallocate(blocks[--live]);
  heap.deallocate(nullptr);
  return 0;
}

}  // namespace

int main() {
  // What docs/static_pools.md says, and some for other compilers. Each resize stays in place: one
  // that moves is an allocation, a copy and a deallocation.
  const unsigned bounds[4] = {260, 300, 290, 290};
  bool good = true;
  std::printf("%-28s %6s %8s %8s %8s %10s\n", "", "blocks", "allocate", "aligned", "resize",
              "deallocate");
  for (std::size_t i = 0; i < stepped_count; ++i) {
    for (const std::size_t blocks : {std::size_t{10}, blocks_max}) {
      if (i != 0 && blocks == 10) continue;
      const Stepped& heap = stepped[i];
      const auto most = support::most_steps([&] { return exercise(heap, blocks); }, heap.allocate,
                                            heap.allocate_aligned, heap.resize, heap.deallocate);
      bool within = true;
      for (std::size_t k = 0; k < 4; ++k) {
        within = within && most.steps[k] <= bounds[k] && most.steps[k] > 10 && most.calls[k] > 10;
      }
      std::printf("%-28s %6zu %8u %8u %8u %10u%s\n", heap.name, blocks, most.steps[0],
                  most.steps[1], most.steps[2], most.steps[3],
                  within ? "" : "  <-- above the bound, or not counted");
      good = good && within;
    }
  }
  return good ? 0 : 1;
}
