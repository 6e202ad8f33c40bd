// bare, used: the measurement of the xallocator article (S4.10), three runs in one process: as many
// blocks of 2048 bytes as `number` says, every other one freed; as many of 4096; the other half of
// the first freed; those of 4096 freed, the last one first. used: the program writes a word to each
// block.
//
// SPDX-License-Identifier: MIT
#include <sys/resource.h>

#include <cstdint>
#include <cstring>

#include "../meter/process.h"
#include "tarn/compat/Allocator.h"
#include "task.hpp"

namespace tarn {
namespace {

constexpr std::size_t small_bytes = 2048;
constexpr std::size_t large_bytes = 4096;
constexpr int runs = 3;

// Nothing is allocated: what the loop itself takes.
struct Floor {
  alignas(16) static inline char memory[large_bytes];
  static void* allocate(std::size_t) {
    void* p = memory;
    asm volatile("" : "+r"(p));
    return p;
  }
  static void deallocate(void* p, std::size_t) { asm volatile("" : : "r"(p) : "memory"); }
};
struct Allocators {
  static inline Allocator small{small_bytes};
  static inline Allocator large{large_bytes};
  static Allocator& of(std::size_t bytes) { return bytes == small_bytes ? small : large; }
  static void* allocate(std::size_t bytes) { return of(bytes).TryAllocate(bytes); }
  static void deallocate(void* p, std::size_t bytes) { of(bytes).Deallocate(p); }
};
template <class Body>
struct Measured {
  static long faults() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
  }
  static void* allocate(std::size_t bytes, bool is_used) {
    void* const p = Body::allocate(bytes);
    if (p == nullptr) std::exit(no_memory);
    if (is_used) std::memcpy(p, &bytes, sizeof bytes);
    return p;
  }

  static void run(std::vector<void*>& small, std::vector<void*>& large, bool is_used) {
    for (void*& p : small) p = allocate(small_bytes, is_used);
    for (std::size_t i = 0; i < small.size(); i += 2) Body::deallocate(small[i], small_bytes);
    for (void*& p : large) p = allocate(large_bytes, is_used);
    for (std::size_t i = 1; i < small.size(); i += 2) Body::deallocate(small[i], small_bytes);
    for (std::size_t i = large.size(); i-- > 0;) Body::deallocate(large[i], large_bytes);
  }

  static void print(std::size_t blocks, bool is_used) {
    std::vector<void*> small(blocks, nullptr);
    std::vector<void*> large(blocks, nullptr);
    std::printf("{");
    for (int i = 1; i <= runs; ++i) {
      const long before = faults();
      // Of the processor, so that what else runs on the machine counts little.
      const double begin = now_ns(CLOCK_PROCESS_CPUTIME_ID);
      run(small, large, is_used);
      const double took = now_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
      std::printf("%s\"run%d_ns\": %.3f, \"run%d_faults\": %ld", i == 1 ? "" : ", ", i,
                  took / (4 * static_cast<double>(blocks)), i, faults() - before);
    }
    std::puts("}");
  }
};

bool run(std::string_view contestant, std::size_t blocks, bool is_used) {
  if (contestant == "floor") {
    Measured<Floor>::print(blocks, is_used);
  } else if (contestant == "malloc") {
    Measured<Malloc>::print(blocks, is_used);
  } else if (contestant == "xmalloc") {
    Measured<Xmalloc>::print(blocks, is_used);
  } else if (contestant == "Allocator") {
    Measured<Allocators>::print(blocks, is_used);
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool task_bare(std::string_view contestant, std::size_t number) {
  return run(contestant, number, false);
}
bool task_used(std::string_view contestant, std::size_t number) {
  return run(contestant, number, true);
}

}  // namespace tarn
