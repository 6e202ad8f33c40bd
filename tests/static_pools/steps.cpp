// steps: single-steps every operation of the pools in stepped.cpp through fresh, recycled and
// exhausted states, and prints the most instructions that one took, from its first to its return.
// At most 30 for pools that are not LockFree; heaps add some for each class, and LockFree for its
// atomic operations, while nobody else is at work.
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstring>

#include "../support/stepper.hpp"
#include "stepped.hpp"

std::size_t stepped_bytes = 160;

namespace {

// Fresh blocks to exhaustion, refused requests, blocks from everywhere freed and taken again (whole
// words, single ones), and all freed. Runs in the child; no call but those that are counted.
int exercise(const Stepped& pool) {
  static void* blocks[700];
  const std::size_t n = pool.blocks;
  const std::size_t again = n < 300 ? n : 300;
  for (std::size_t i = 0; i < n; ++i) blocks[i] = pool.allocate();
  if (pool.allocate() != nullptr || blocks[n - 1] == nullptr) return 1;
  for (std::size_t step = 1; step < 70; step += 9) {
    for (std::size_t i = step / 2; i < again; i += step) pool.deallocate(blocks[i]);
    for (std::size_t i = step / 2; i < again; i += step) blocks[i] = pool.allocate();
    if (pool.allocate() != nullptr) return 1;
  }
  pool.deallocate(nullptr);
  for (std::size_t i = n; i > 0; --i) pool.deallocate(blocks[i - 1]);
  return 0;
}

}  // namespace

int main() {
  bool good = true;
  std::printf("%-36s %8s %10s %8s\n", "", "allocate", "deallocate", "calls");
  for (std::size_t i = 0; i < stepped_count; ++i) {
    const Stepped& pool = stepped[i];
    const auto most =
        support::most_steps([&] { return exercise(pool); }, pool.allocate, pool.deallocate);
    const auto [allocate, deallocate] = most.steps;
    const unsigned long calls = most.calls[0] + most.calls[1];
    const bool lock_free = std::strstr(pool.name, "LockFree") != nullptr;
    const bool heap = std::strstr(pool.name, "Heap") != nullptr;
    const unsigned bound = lock_free ? 80 : heap ? 40 : 30;
    const bool within = allocate <= bound && deallocate <= bound;
    const bool counted = calls > 2 * pool.blocks && allocate > 3 && deallocate > 3;
    std::printf("%-36s %8u %10u %8lu%s\n", pool.name, allocate, deallocate, calls,
                within && counted ? "" : "  <-- above the bound, or not counted");
    good = good && within && counted;
  }
  return good ? 0 : 1;
}
