// modes: heaps that look at what is done with their blocks, for the tests of them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include "heap.hpp"

namespace heaps {

inline tarn_heap_options in_mode(int mode, int threads = TARN_HEAP_SHARED,
                                 const char* name = nullptr) {
  tarn_heap_options made = options(threads, name);
  made.mode = mode;
  return made;
}

inline const auto checking_modes =
    testing::Values(TARN_MODE_CHECKED, TARN_MODE_GUARDED, TARN_MODE_PASSTHROUGH);

// Tests that hold in each of them: the mode and what `threads` says.
class Modes : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  static int mode() { return std::get<0>(GetParam()); }
  static int threads() { return std::get<1>(GetParam()); }
  static tarn_heap_options wanted(const char* name = nullptr) {
    return in_mode(mode(), threads(), name);
  }
};

struct Walked {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t pages = 0;
  std::uint64_t large = 0;
  std::uint64_t free = 0;
  std::uint64_t promised = 0;  // Live blocks, by what the pages say.
};

inline Walked walked(tarn_heap heap) {
  Walked seen;
  const auto visit = [](const tarn_heap_item* item, void* context) {
    auto& to = *static_cast<Walked*>(context);
    if (item->kind == TARN_HEAP_PAGE) {
      ++to.pages;
      to.promised += item->live_blocks;
    } else if (item->kind == TARN_HEAP_FREE_BLOCK) {
      ++to.free;
    } else {
      ++to.blocks;
      to.bytes += item->bytes;
      if (item->kind == TARN_HEAP_LARGE_BLOCK) ++to.large;
      if (item->kind == TARN_HEAP_LARGE_BLOCK) ++to.promised;
    }
    return 0;
  };
  EXPECT_EQ(tarn_heap_walk(heap, TARN_HEAP_WALK_FREE, visit, &seen), 0);
  return seen;
}

// What a walk sees and what the statistics say.
inline void expect_accounts(tarn_heap heap, std::uint64_t blocks, std::uint64_t bytes) {
  const tarn_heap_stats stats = stats_of(heap);
  EXPECT_EQ(stats.live_blocks, blocks);
  EXPECT_EQ(stats.live_bytes, bytes);
  EXPECT_EQ(stats.requested_bytes, bytes);
  EXPECT_EQ(stats.requested_is_exact, 1);
  EXPECT_GE(stats.live_bytes_peak, bytes);
  EXPECT_GE(stats.committed_bytes, bytes);
  const Walked seen = walked(heap);
  EXPECT_EQ(seen.blocks, blocks);
  EXPECT_EQ(seen.bytes, bytes);
  EXPECT_EQ(seen.promised, blocks);
  EXPECT_EQ(seen.pages, stats.pages);
  EXPECT_EQ(seen.large, stats.large_blocks);
}

}  // namespace heaps
