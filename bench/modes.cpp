// modes: what the modes of heaps cost: processor time of a step (a free and an allocation, random
// sizes of 8..256 bytes, all of it written, among 512 live blocks), and what 10,000 live blocks of
// 132 bytes on average take: resident and committed bytes a block. Medians of the rounds, but the
// first one for resident bytes: what is freed then may stay.
//
//   modes [ROUNDS]
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "meter/figures.hpp"
#include "meter/process.h"
#include "tarn/tarn.h"
#include "workloads/random.hpp"

namespace tarn {
namespace {

constexpr std::size_t slot_count = 512;
constexpr int steps = 100'000;
constexpr std::size_t held_blocks = 10'000;

double resident_bytes() { return static_cast<double>(resident_kib()) * 1024; }

tarn_heap make(int mode) {
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.mode = mode;
  return tarn_heap_create(&options);
}

void* allocate(tarn_heap heap, Random& random) {
  const std::size_t bytes = random.between(8, 256);
  void* const p = tarn_heap_allocate(heap, bytes);
  if (p == nullptr) std::exit(1);
  std::memset(p, 1, bytes);
  return p;
}

double step_ns(int mode) {
  const tarn_heap heap = make(mode);
  Random random(1);
  std::vector<void*> slots(slot_count);
  for (void*& slot : slots) slot = allocate(heap, random);
  const double begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < steps; ++i) {
    void*& slot = slots[random.below(slot_count)];
    tarn_heap_deallocate(slot);
    slot = allocate(heap, random);
  }
  const double ns = (now_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / steps;
  tarn_heap_destroy(heap);
  return ns;
}

struct Held {
  double resident;
  double committed;
};

Held held_bytes(int mode) {
  tarn_malloc_trim(0);
  const tarn_heap heap = make(mode);
  Random random(2);
  const double before = resident_bytes();
  for (std::size_t i = 0; i < held_blocks; ++i) allocate(heap, random);
  const double resident = resident_bytes() - before;
  tarn_heap_stats stats = TARN_HEAP_STATS();
  tarn_heap_get_stats(heap, &stats);
  tarn_heap_destroy(heap);
  return {resident / held_blocks, static_cast<double>(stats.committed_bytes) / held_blocks};
}

}  // namespace
}  // namespace tarn

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  const char* const names[] = {"fast", "checked", "guarded", "passthrough"};
  std::vector<double> ns[4];
  std::vector<double> resident[4];
  std::vector<double> committed[4];
  for (int round = 0; round < rounds; ++round) {
    for (int mode = 0; mode < 4; ++mode) {
      ns[mode].push_back(tarn::step_ns(mode));
      const tarn::Held held = tarn::held_bytes(mode);
      resident[mode].push_back(held.resident);
      committed[mode].push_back(held.committed);
    }
  }
  if (rounds <= 0) return 1;
  std::printf("%-12s %10s %20s %22s\n", "mode", "ns a step", "resident a block",
              "committed a block");
  for (int mode = 0; mode < 4; ++mode) {
    std::printf("%-12s %10.0f %20.0f %22.0f\n", names[mode], tarn::median(ns[mode]),
                resident[mode].front(), tarn::median(committed[mode]));
  }
  return 0;
}
