// recover: what the tests of this folder share.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "../heaps/heap.hpp"
#include "tarn/heap/recover.hpp"
#include "tarn/tarn.h"

namespace recovering {

using heaps::committed;
using heaps::EachMode;
using heaps::every_mode;
using heaps::Heap;
using heaps::kib;
using heaps::mib;
using heaps::scaled;

inline tarn_heap_options options(std::size_t ceiling = 0, int threads = TARN_HEAP_SHARED) {
  tarn_heap_options made = TARN_HEAP_OPTIONS();
  made.threads = threads;
  made.ceiling_bytes = ceiling;
  return made;
}

inline tarn_recover_stats sums() {
  tarn_recover_stats stats = TARN_RECOVER_STATS();
  EXPECT_EQ(tarn_recover_get_stats(&stats), 0);
  return stats;
}

// Of owners that are asked for this heap alone.
inline tarn::ReclaimerOptions bound_to(tarn_heap heap) {
  tarn::ReclaimerOptions made;
  made.heap = heap;
  return made;
}

// Blocks that may go, given when somebody asks.
class Cache {
 public:
  explicit Cache(tarn_heap heap = {}) : heap_(heap) {}
  ~Cache() { give(SIZE_MAX); }
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  bool add(std::size_t bytes) {
    void* const p = heap_.record != nullptr ? tarn_heap_allocate(heap_, bytes) : tarn_malloc(bytes);
    if (p != nullptr) blocks_.push_back(p);
    return p != nullptr;
  }
  std::size_t give(std::size_t wanted) {
    std::size_t given = 0;
    while (given < wanted && !blocks_.empty()) {
      given += tarn_malloc_usable_size(blocks_.back());
      tarn_free(blocks_.back());
      blocks_.pop_back();
    }
    return given;
  }
  std::size_t count() const { return blocks_.size(); }

 private:
  tarn_heap heap_;
  std::vector<void*> blocks_;
};

// A purgeable whose every byte says which one it is.
class Marked {
 public:
  Marked(tarn_heap heap, std::size_t bytes, unsigned char mark) : mark_(mark), bytes_(bytes) {
    EXPECT_EQ(tarn_purgeable_begin(&purgeable_, heap, bytes), 0);
  }
  ~Marked() { EXPECT_EQ(tarn_purgeable_end(&purgeable_), 0); }
  Marked(const Marked&) = delete;
  Marked& operator=(const Marked&) = delete;

  // False when there is no memory, or it is there.
  bool fill() {
    void* const p = tarn_purgeable_refill(&purgeable_);
    if (p == nullptr) return false;
    std::memset(p, mark_, bytes_);
    tarn_purgeable_unlock(&purgeable_);
    return true;
  }
  // Whether it is there; counts wrong contents.
  bool look() {
    const auto* const p = static_cast<const unsigned char*>(tarn_purgeable_lock(&purgeable_));
    if (p == nullptr) return false;
    for (std::size_t i = 0; i < bytes_; ++i) wrong_ += p[i] != mark_;
    tarn_purgeable_unlock(&purgeable_);
    return true;
  }
  int wrong() const { return wrong_; }
  tarn_purgeable* get() { return &purgeable_; }

 private:
  tarn_purgeable purgeable_{};
  unsigned char mark_;
  std::size_t bytes_;
  int wrong_ = 0;
};

}  // namespace recovering
