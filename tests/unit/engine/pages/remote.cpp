// The remote word: what is packed comes out again.
//
// SPDX-License-Identifier: MIT
#include "engine/pages/remote.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "engine/layout/page_plan.hpp"

namespace tarn {
namespace {

constexpr RemoteState states[] = {
    RemoteState::dead,        RemoteState::open,    RemoteState::listed, RemoteState::mailed,
    RemoteState::mailed_open, RemoteState::purging, RemoteState::purged};

TEST(Remote, ZeroIsDeadAndEmpty) {
  const Remote zero{};
  EXPECT_EQ(zero.state(), RemoteState::dead);
  EXPECT_EQ(zero.count(), 0u);
  EXPECT_EQ(zero.head(), 0u);
}

TEST(Remote, FieldsDoNotTouchEachOther) {
  for (const RemoteState state : states) {
    for (const std::uint32_t threshold : {0u, 1u, remote_count_max}) {
      for (const std::uint32_t count : {0u, 1u, remote_count_max}) {
        for (const std::uint32_t head : {0u, 1u, 0x80000000u, UINT32_MAX}) {
          const Remote remote = Remote::make(state, threshold, count, head);
          EXPECT_EQ(remote.state(), state);
          EXPECT_EQ(remote.threshold(), threshold);
          EXPECT_EQ(remote.count(), count);
          EXPECT_EQ(remote.head(), head);
        }
      }
    }
    EXPECT_EQ(Remote::empty(state).word, Remote::make(state, 0, 0, 0).word);
  }
}

#ifdef TARN_DEBUG
TEST(RemoteDeathTest, WhatNoFieldHoldsIsADefect) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  constexpr std::uint64_t more = std::uint64_t{remote_count_max} + 1;
  EXPECT_DEATH(Remote::make(RemoteState::open, more, 0, 0), "threshold");
  EXPECT_DEATH(Remote::make(RemoteState::open, 0, more, 0), "count");
  EXPECT_DEATH(Remote::make(RemoteState::open, 0, 0, std::uint64_t{1} << 32), "head");
  EXPECT_DEATH(decode_head(0), "head != 0");
}
#endif

TEST(Remote, EveryOffsetOfTheLargestPage) {
  std::size_t largest = 0;
  for (const PagePlan& plan : page_plans) largest = std::max<std::size_t>(largest, plan.full);
  for (std::size_t offset = 0; offset < largest * slice_bytes; offset += block_align) {
    const std::uint32_t head = encode_head(offset);
    ASSERT_NE(head, 0u) << "0 says that there is no block";
    ASSERT_EQ(decode_head(head), offset);
  }
}

}  // namespace
}  // namespace tarn
