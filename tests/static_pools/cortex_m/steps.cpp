// steps: every operation of some pools through fresh, recycled and exhausted states; QEMU writes
// down each instruction, and count_steps.py finds the most of one operation.
//
// SPDX-License-Identifier: MIT
#include "board.h"
#include "critical_section.hpp"
#include "tarn/pool/static_pool.hpp"

namespace {

using tarn::StaticPool;

// For the main loop and a handler: without a lock where the processor can.
using Shared =
    std::conditional_t<__GCC_ATOMIC_POINTER_LOCK_FREE == 2, tarn::LockFree, CriticalSection>;

StaticPool<24, 32> one_word;
StaticPool<24, 100> many_words;
StaticPool<24, 32, 8, CriticalSection> masked;
StaticPool<24, 32, 8, Shared> shared_one_word;
StaticPool<24, 100, 8, Shared> shared_many_words;

}  // namespace

// The names that are counted.
#define STEPS_OF(pool)                                                                         \
  extern "C" __attribute__((noinline)) void* allocate_##pool() { return pool.try_allocate(); } \
  extern "C" __attribute__((noinline)) void deallocate_##pool(void* p) { pool.deallocate(p); }

STEPS_OF(one_word)
STEPS_OF(many_words)
STEPS_OF(masked)
STEPS_OF(shared_one_word)
STEPS_OF(shared_many_words)

namespace {

void exercise(void* (*allocate)(), void (*deallocate)(void*), std::size_t n) {
  static void* blocks[100];
  for (std::size_t i = 0; i < n; ++i) blocks[i] = allocate();
  REQUIRE(blocks[n - 1] != nullptr && allocate() == nullptr);
  for (std::size_t step = 1; step < 40; step += 6) {
    for (std::size_t i = step / 2; i < n; i += step) deallocate(blocks[i]);
    for (std::size_t i = step / 2; i < n; i += step) blocks[i] = allocate();
    REQUIRE(allocate() == nullptr);
  }
  deallocate(nullptr);
  for (std::size_t i = n; i > 0; --i) deallocate(blocks[i - 1]);
}

}  // namespace

extern "C" void tick() {}

int main() {
  exercise(allocate_one_word, deallocate_one_word, 32);
  exercise(allocate_many_words, deallocate_many_words, 100);
  exercise(allocate_masked, deallocate_masked, 32);
  exercise(allocate_shared_one_word, deallocate_shared_one_word, 32);
  exercise(allocate_shared_many_words, deallocate_shared_many_words, 100);
  board_print("passed\n");
  return 0;
}
