// The family of xallocator beside a model of its live blocks: allocations of all kinds, growth,
// frees, trims, ends with live blocks and without, beginnings with other classes.
//
// SPDX-License-Identifier: MIT
#include "xallocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <random>

namespace {

class Model {
 public:
  explicit Model(unsigned seed) : random_(seed) {}

  void step() {
    switch (below(16)) {
      case 0:
        if (below(16) == 0) end();
        break;
      case 3: free_some(below(100)); break;
      case 4:
      case 5: resize(); break;
      case 6:
      case 7:
      case 8: free_some(1); break;
      default: allocate();
    }
    check();
  }

  void finish() {
    free_some(live_.size());
    end();
    check();
  }

 private:
  struct Block {
    std::size_t bytes;
    unsigned char value;
  };
  using Blocks = std::map<unsigned char*, Block>;

  std::size_t below(std::size_t n) { return random_() % n; }
  std::size_t size() { return below(std::size_t{1} << below(21)); }

  // Of large blocks both ends are written to and looked at.
  static std::size_t ends_bytes(std::size_t bytes) { return bytes < 2000 ? bytes : 1000; }
  void put(void* p, std::size_t bytes) {
    auto* const start = static_cast<unsigned char*>(p);
    const Block block{bytes, static_cast<unsigned char>(random_())};
    std::memset(start, block.value, ends_bytes(bytes));
    std::memset(start + bytes - ends_bytes(bytes), block.value, ends_bytes(bytes));
    ASSERT_TRUE(live_.emplace(start, block).second);
    if (below(2) == 0) {
      ASSERT_GE(tarn_xalloc_usable_bytes(p), bytes);
    }
  }
  static void expect(const unsigned char* p, std::size_t bytes, unsigned char value) {
    for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(p[i], value) << i;
  }
  static void expect(const unsigned char* p, const Block& block) {
    const std::size_t ends = ends_bytes(block.bytes);
    expect(p, ends, block.value);
    expect(p + block.bytes - ends, ends, block.value);
  }

  void allocate() {
    const std::size_t bytes = size();
    const std::size_t kind = below(4);
    void* const p = kind == 0   ? tarn_xcalloc(1, bytes)
                    : kind == 1 ? tarn_xmalloc_aligned(std::size_t{1} << below(13), bytes)
                                : xmalloc(bytes);
    ASSERT_NE(p, nullptr);
    if (kind == 0) expect(static_cast<unsigned char*>(p), bytes, 0);
    put(p, bytes);
  }

  Blocks::iterator any() {
    auto block = live_.lower_bound(live_.begin()->first + below(1'000'000));
    return block == live_.end() ? live_.begin() : block;
  }

  void resize() {
    if (live_.empty()) return;
    const auto block = any();
    unsigned char* const before = block->first;
    const Block was = block->second;
    const std::size_t bytes = size() + 1;
    auto* const p = static_cast<unsigned char*>(xrealloc(before, bytes));
    if (p == nullptr) return expect(before, was);
    if (bytes >= was.bytes) expect(p, was);
    live_.erase(block);
    put(p, bytes);
  }

  void free_some(std::size_t count) {
    for (; count > 0 && !live_.empty(); --count) {
      const auto block = any();
      expect(block->first, block->second);
      xfree(block->first);
      live_.erase(block);
    }
  }

  void end() {
    xalloc_destroy();
    peaks_ = in_use();
  }

  using Counts = std::map<std::size_t, std::uint64_t>;  // By the class's size.
  static std::size_t class_of(const unsigned char* p) {
    const std::size_t bytes = tarn_xalloc_usable_bytes(p);
    if (bytes == 400) return 396;
    if (bytes == 48 || bytes == 768) return bytes;
    std::size_t power = 16;
    while (power < bytes) power *= 2;
    return power;
  }
  Counts in_use() const {
    Counts counts;
    for (const auto& block : live_) ++counts[class_of(block.first)];
    return counts;
  }

  // What the class says is what a list of free blocks would: the most in use is what it has made.
  void check() {
    Counts counts = in_use();
    for (const auto& [bytes, count] : counts) peaks_[bytes] = std::max(peaks_[bytes], count);
    tarn_xalloc_class_stats stats = TARN_XALLOC_CLASS_STATS();
    for (std::size_t i = 0; tarn_xalloc_get_class_stats(i, &stats) == 0; ++i) {
      ASSERT_EQ(stats.in_use, counts[stats.block_bytes]) << stats.block_bytes;
      ASSERT_EQ(stats.in_use_peak, peaks_[stats.block_bytes]) << stats.block_bytes;
    }
  }

  std::mt19937 random_;
  Blocks live_;
  Counts peaks_;
};

TEST(XallocatorModel, LivesThroughEndsAndBeginnings) {
  for (unsigned seed = 1; seed <= 10 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed);
    for (int i = 0; i < 2000 && !testing::Test::HasFailure(); ++i) model.step();
    model.finish();
  }
}

}  // namespace
