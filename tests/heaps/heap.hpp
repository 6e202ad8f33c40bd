// heap: a heap that ends with its scope, and what the tests of this folder ask of heaps and fill
// their blocks with.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <vector>

#include <gtest/gtest.h>

#include "tarn/heap/heap.hpp"
#include "tarn/tarn.h"

namespace heaps {

inline constexpr std::size_t kib = 1024;
inline constexpr std::size_t mib = 1024 * kib;
inline constexpr std::size_t slice = 4 * kib;              // What memory is counted in.
inline constexpr std::size_t young_bytes_max = 1024;       // The largest block of a mixed page,
inline constexpr std::size_t paged_bytes_max = 128 * kib;  // and of a page.

constexpr int scaled(int count) { return count / TARN_TEST_DIVISOR; }
constexpr std::size_t in_slices(std::size_t bytes) { return (bytes + slice - 1) / slice * slice; }
constexpr std::size_t in_grains(std::size_t bytes) {
  return bytes == 0 ? 16 : (bytes + 15) / 16 * 16;
}

// With TARN_TEST_TABLE in the environment heaps have a class table, of ready-made classes.
inline tarn_heap_options options(int threads = TARN_HEAP_SHARED, const char* name = nullptr) {
  static const tarn::ClassTable table = tarn::ClassTable::steps(8);
  tarn_heap_options made{};
  if (std::getenv("TARN_TEST_TABLE") != nullptr) {
    made.class_bytes = table.data();
    made.class_count = table.size();
  }
  made.bytes = sizeof made;
  made.threads = threads;
  made.name = name;
  return made;
}

// With a function that is called at a ceiling, or at a soft mark.
inline tarn_heap_options reclaiming(int threads, std::size_t ceiling,
                                    decltype(tarn_heap_options::reclaim) reclaim, void* context) {
  tarn_heap_options made = options(threads);
  made.ceiling_bytes = ceiling;
  made.reclaim = reclaim;
  made.context = context;
  return made;
}
inline tarn_heap_options marked(int threads, std::size_t soft_mark_bytes,
                                decltype(tarn_heap_options::soft_mark) soft_mark, void* context) {
  tarn_heap_options made = options(threads);
  made.soft_mark_bytes = soft_mark_bytes;
  made.soft_mark = soft_mark;
  made.context = context;
  return made;
}

class Heap {
 public:
  explicit Heap(const tarn_heap_options& wanted = options()) : heap_(tarn_heap_create(&wanted)) {
    EXPECT_NE(heap_.record, nullptr);
    EXPECT_NE(heap_.id, 0u);
  }
  explicit Heap(int threads) : Heap(options(threads)) {}
  ~Heap() { EXPECT_EQ(tarn_heap_destroy(heap_), 0); }
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;
  operator tarn_heap() const { return heap_; }
  tarn_heap handle() const { return heap_; }

  // Ends it now; the value that no longer means a heap.
  tarn_heap destroy() {
    const tarn_heap ended = heap_;
    EXPECT_EQ(tarn_heap_destroy(heap_), 0);
    heap_ = {};
    return ended;
  }

 private:
  tarn_heap heap_;
};

inline bool same(tarn_heap a, tarn_heap b) { return a.record == b.record && a.id == b.id; }
inline bool is_none(tarn_heap heap) { return same(heap, tarn_heap{}); }

inline tarn_heap_stats stats_of(tarn_heap heap) {
  tarn_heap_stats stats = TARN_HEAP_STATS();
  EXPECT_EQ(tarn_heap_get_stats(heap, &stats), 0);
  EXPECT_EQ(stats.bytes, sizeof stats);
  EXPECT_GE(stats.committed_bytes_peak, stats.committed_bytes);
  return stats;
}
inline std::size_t committed(tarn_heap heap) { return stats_of(heap).committed_bytes; }

inline void expect_empty(tarn_heap heap) {
  const tarn_heap_stats stats = stats_of(heap);
  EXPECT_EQ(stats.live_blocks, 0u);
  EXPECT_EQ(stats.live_bytes, 0u);
  EXPECT_EQ(stats.large_blocks, 0u);
}

inline std::size_t usable(const void* p) { return tarn_malloc_usable_size(p); }
inline std::size_t misaligned(const void* p, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(p) % alignment;
}

// From now on the heap's small blocks have pages of their own class. One page stays behind.
inline void make_grown_up(tarn_heap heap) {
  tarn_heap_deallocate(tarn_heap_allocate(heap, young_bytes_max + 1));
}

// Every byte says which block it is of and where it lies.
// Not inlined: compilers would reason about blocks of sizes that they know, and warn.
inline unsigned char mark_at(std::size_t i, unsigned seed) {
  return static_cast<unsigned char>((i * 31 + seed * 7 + (i >> 8)) & 0xff);
}
[[gnu::noinline]] inline void fill(void* p, std::size_t bytes, unsigned seed) {
  auto* const to = static_cast<unsigned char*>(p);
  for (std::size_t i = 0; i < bytes; ++i) to[i] = mark_at(i, seed);
}
inline bool is_filled(const void* p, std::size_t bytes, unsigned seed) {
  const auto* const from = static_cast<const unsigned char*>(p);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (from[i] != mark_at(i, seed)) return false;
  }
  return true;
}
inline bool is_zero(const void* p, std::size_t bytes) {
  const auto* const from = static_cast<const unsigned char*>(p);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (from[i] != 0) return false;
  }
  return true;
}

// What the compiler must not see through: sizes that it would warn of.
inline std::size_t opaque(std::size_t n) {
  volatile std::size_t hidden = n;
  return hidden;
}

// Tests that hold in every mode.
class EachMode : public testing::TestWithParam<int> {};
inline const auto every_mode =
    testing::Values(TARN_HEAP_SHARED, TARN_HEAP_SERIALISED, TARN_HEAP_CONFINED);

}  // namespace heaps
