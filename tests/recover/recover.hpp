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

#include "tarn/heap/recover.hpp"
#include "tarn/tarn.h"

// Sanitized builds are some ten times slower: there the loops are cut by this divisor.
#ifndef TARN_TEST_DIVISOR
#define TARN_TEST_DIVISOR 1
#endif

namespace recovering {

inline constexpr std::size_t kib = 1024;
inline constexpr std::size_t mib = 1024 * kib;

constexpr int scaled(int count) { return count / TARN_TEST_DIVISOR; }

inline tarn_heap_options options(std::size_t ceiling = 0, int threads = TARN_HEAP_SHARED) {
  tarn_heap_options made = TARN_HEAP_OPTIONS();
  made.threads = threads;
  made.ceiling_bytes = ceiling;
  return made;
}

class Heap {
 public:
  explicit Heap(const tarn_heap_options& wanted = options()) : heap_(tarn_heap_create(&wanted)) {
    EXPECT_NE(heap_.record, nullptr);
  }
  ~Heap() { EXPECT_EQ(tarn_heap_destroy(heap_), 0); }
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;
  operator tarn_heap() const { return heap_; }

 private:
  tarn_heap heap_;
};

inline std::size_t committed(tarn_heap heap) {
  tarn_heap_stats stats = TARN_HEAP_STATS();
  EXPECT_EQ(tarn_heap_get_stats(heap, &stats), 0);
  return stats.committed_bytes;
}

inline tarn_recover_stats sums() {
  tarn_recover_stats stats = TARN_RECOVER_STATS();
  EXPECT_EQ(tarn_recover_get_stats(&stats), 0);
  return stats;
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

class EachMode : public testing::TestWithParam<int> {};
inline const auto every_mode =
    testing::Values(TARN_HEAP_SHARED, TARN_HEAP_SERIALISED, TARN_HEAP_CONFINED);

}  // namespace recovering
