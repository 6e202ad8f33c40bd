// slots CONTESTANT FORM ITERATIONS ROUNDS: the loops of requirement S2.5, with one contestant.
//
// 1024 slots. In each iteration a random one is freed and refilled with (random & 0x7fff) << 1
// bytes (pairs), or resized to these (realloc, two more, as libraries differ on none). A round
// begins and ends with empty slots. The memory is not written, as in the source: this is the
// allocator alone. growth: one block after another grows from 16 bytes to 64 KiB by steps of a
// random size (S2.10): how often it moves.
//
// malloc is whatever the process has (LD_PRELOAD); unalloc has the classes that TARN_OPTIONS says;
// floor draws the same numbers and touches the same slots, and allocates nothing.
//
// SPDX-License-Identifier: MIT
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../../include/tarn/compat/unalloc.h"
#include "../meter/process.h"
#include "../workloads/random.hpp"

namespace tarn {
namespace {

struct Malloc {
  static void* take(std::size_t bytes) { return std::malloc(bytes); }
  static void give(void* p) { std::free(p); }
  static void* resize(void* p, std::size_t bytes) { return std::realloc(p, bytes); }
};

struct Unalloc {
  static void* take(std::size_t bytes) { return unalloc(bytes); }
  static void give(void* p) { unfree(p); }
  static void* resize(void* p, std::size_t bytes) { return unrealloc(p, bytes); }
};

// Calls like the others, and nothing behind them.
struct Floor {
  [[gnu::noinline]] static void* take(std::size_t bytes) {
    void* p = reinterpret_cast<void*>(bytes | 1);
    asm volatile("" : "+r"(p));
    return p;
  }
  [[gnu::noinline]] static void give(void* p) { asm volatile("" : : "r"(p)); }
  [[gnu::noinline]] static void* resize(void* p, std::size_t) {
    if (p == nullptr) p = &p;
    asm volatile("" : "+r"(p));
    return p;
  }
};

std::array<void*, 1024> slots;

std::size_t slot_bytes(std::uint64_t bits) { return (bits & 0x7fff) << 1; }

template <class Contestant>
void pairs(Random& random, std::uint64_t iterations) {
  for (std::uint64_t i = 0; i < iterations; ++i) {
    const std::uint64_t bits = random.next();
    void*& slot = slots[bits >> 54];
    Contestant::give(slot);
    slot = Contestant::take(slot_bytes(bits));
    if (slot == nullptr) fail("out of memory");
  }
}

template <class Contestant>
void resizes(Random& random, std::uint64_t iterations) {
  for (std::uint64_t i = 0; i < iterations; ++i) {
    const std::uint64_t bits = random.next();
    void*& slot = slots[bits >> 54];
    slot = Contestant::resize(slot, slot_bytes(bits) + 2);
    if (slot == nullptr) fail("out of memory");
  }
}

template <class Contestant>
double round_ns(bool resizing, std::uint64_t iterations, std::uint64_t seed) {
  Random random(seed);
  // Of the processor, as it is for this thread: what else is going on does not count.
  const double begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
  if (resizing) {
    resizes<Contestant>(random, iterations);
  } else {
    pairs<Contestant>(random, iterations);
  }
  const double ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
  for (void*& slot : slots) {
    if (slot != nullptr) Contestant::give(slot);
    slot = nullptr;
  }
  return ns / static_cast<double>(iterations);
}

template <class Contestant>
int growth(std::uint64_t blocks) {
  Random random(10);
  std::uint64_t resized = 0;
  std::uint64_t moved = 0;
  for (std::uint64_t i = 0; i < blocks; ++i) {
    void* p = Contestant::take(16);
    for (std::size_t bytes = 16; bytes < 65536 && p != nullptr;) {
      bytes += random.between(1, 256);
      const auto before = reinterpret_cast<std::uintptr_t>(p);
      p = Contestant::resize(p, bytes);
      moved += reinterpret_cast<std::uintptr_t>(p) != before;
      ++resized;
    }
    if (p == nullptr) fail("out of memory");
    Contestant::give(p);
  }
  std::printf("{\"resized\": %llu, \"moved\": %llu}\n", static_cast<unsigned long long>(resized),
              static_cast<unsigned long long>(moved));
  return 0;
}

template <class Contestant>
int run(const char* form, std::uint64_t iterations, std::uint64_t rounds) {
  if (std::strcmp(form, "growth") == 0) return growth<Contestant>(iterations);
  const bool resizing = std::strcmp(form, "realloc") == 0;
  if (!resizing && std::strcmp(form, "pairs") != 0) return 2;
  std::printf("{\"ns\": [");
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::printf("%s%.3f", round == 0 ? "" : ", ",
                round_ns<Contestant>(resizing, iterations, 25 + round));
  }
  std::printf("], \"peak_kib\": %ld}\n", peak_kib());
  return 0;
}

int start(int argc, char** argv) {
  if (argc == 5) {
    const std::uint64_t iterations = std::strtoull(argv[3], nullptr, 10);
    const std::uint64_t rounds = std::strtoull(argv[4], nullptr, 10);
    if (std::strcmp(argv[1], "malloc") == 0) return run<Malloc>(argv[2], iterations, rounds);
    if (std::strcmp(argv[1], "unalloc") == 0) return run<Unalloc>(argv[2], iterations, rounds);
    if (std::strcmp(argv[1], "floor") == 0) return run<Floor>(argv[2], iterations, rounds);
  }
  return 2;
}

}  // namespace
}  // namespace tarn

int main(int argc, char** argv) {
  const int status = tarn::start(argc, argv);
  if (status == 2) {
    std::fputs("usage: slots malloc|unalloc|floor pairs|realloc|growth ITERATIONS ROUNDS\n",
               stderr);
  }
  return status;
}
