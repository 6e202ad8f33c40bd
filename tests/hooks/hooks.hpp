// hooks: what the tests of small hooks have in common.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include "tarn/heap/heap.h"

namespace hooks {

// A heap for one test: its options, what it holds, and that it can be ended at any time.
class Heap {
 public:
  explicit Heap(std::size_t ceiling_bytes = 0, int mode = TARN_MODE_FAST)
      : heap(made(ceiling_bytes, mode)) {}
  ~Heap() { end(); }
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  static tarn_heap made(std::size_t ceiling_bytes, int mode = TARN_MODE_FAST) {
    tarn_heap_options options = TARN_HEAP_OPTIONS();
    options.name = "hooks";
    options.ceiling_bytes = ceiling_bytes;
    options.mode = mode;
    const tarn_heap heap = tarn_heap_create(&options);
    EXPECT_NE(heap.id, 0u);
    return heap;
  }
  void end() {
    EXPECT_EQ(tarn_heap_destroy(heap), 0);
    heap = {};
  }
  tarn_heap_stats stats() const {
    tarn_heap_stats made = TARN_HEAP_STATS();
    EXPECT_EQ(tarn_heap_get_stats(heap, &made), 0);
    return made;
  }
  std::uint64_t blocks() const { return stats().live_blocks; }
  bool has(const void* p) const { return tarn_heap_of(p).id == heap.id; }

  tarn_heap heap;
};

}  // namespace hooks
