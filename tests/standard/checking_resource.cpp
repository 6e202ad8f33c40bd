// checking_resource: each fault is told with what was allocated, by whom; what is right passes.
//
// SPDX-License-Identifier: MIT
#include "tarn/standard/checking_resource.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "../support/threads.hpp"
#include "tarn/heap/heap.hpp"
#include "tarn/standard/pmr.hpp"

namespace standard {
namespace {

using tarn::CheckingResource;
using tarn::ResourceFault;
using tarn::ResourceReport;

std::vector<ResourceReport>* faults = nullptr;
void note(const ResourceReport& report) { faults->push_back(report); }

class CheckingResourceTest : public testing::Test {
 protected:
  CheckingResourceTest() { faults = &seen_; }

  std::vector<ResourceReport> seen_;
  tarn::Heap heap_{"below"};
  tarn::Resource<> below_{heap_};
  CheckingResource checked_{&below_, "orders", note};
};

TEST_F(CheckingResourceTest, WhatIsRightPasses) {
  {
    std::pmr::vector<std::pmr::string> texts(&checked_);
    for (int i = 0; i < 100; ++i) texts.emplace_back(100, 'x');
    EXPECT_EQ(checked_.live_blocks(), 101u);
    EXPECT_GT(checked_.live_bytes(), 10000u);
  }
  EXPECT_EQ(checked_.live_blocks(), 0u);
  EXPECT_EQ(checked_.live_bytes(), 0u);
  EXPECT_GT(checked_.live_bytes_peak(), 10000u);
  EXPECT_EQ(heap_.stats().live_blocks, 0u);
  EXPECT_TRUE(seen_.empty());
}

TEST_F(CheckingResourceTest, WrongSizeAndAlignment) {
  void* const p = checked_.allocate(100, 32);
  checked_.deallocate(p, 96, 32);
  checked_.deallocate(p, 100, 16);
  ASSERT_EQ(seen_.size(), 2u);
  EXPECT_EQ(seen_[0].fault, ResourceFault::size_mismatch);
  EXPECT_EQ(seen_[0].bytes, 100u);
  EXPECT_EQ(seen_[0].said_bytes, 96u);
  EXPECT_EQ(seen_[0].resource, std::string("orders"));
  EXPECT_NE(seen_[0].allocated_at, nullptr);
  EXPECT_NE(seen_[0].here, nullptr);
  EXPECT_EQ(seen_[1].fault, ResourceFault::alignment_mismatch);
  EXPECT_EQ(seen_[1].alignment, 32u);
  EXPECT_EQ(seen_[1].said_alignment, 16u);
  EXPECT_EQ(checked_.live_blocks(), 1u);  // Nothing was done.
  checked_.deallocate(p, 100, 32);
  EXPECT_EQ(seen_.size(), 2u);
}

TEST_F(CheckingResourceTest, DoubleAndForeignFrees) {
  void* const p = checked_.allocate(100);
  checked_.deallocate(p, 100);
  checked_.deallocate(p, 100);
  int local = 0;
  checked_.deallocate(&local, sizeof local);
  char* const block = static_cast<char*>(checked_.allocate(100));
  checked_.deallocate(block + 16, 84);
  ASSERT_EQ(seen_.size(), 3u);
  EXPECT_EQ(seen_[0].fault, ResourceFault::double_free);
  EXPECT_EQ(seen_[0].bytes, 100u);
  EXPECT_NE(seen_[0].freed_at, nullptr);
  for (const std::size_t i : {1u, 2u}) EXPECT_EQ(seen_[i].fault, ResourceFault::invalid_free);
  EXPECT_EQ(heap_.stats().live_blocks, 1u);
  checked_.deallocate(block, 100);
}

TEST_F(CheckingResourceTest, Leaks) {
  {
    CheckingResource inner(&checked_, "inner", note);
    (void)inner.allocate(48);
    (void)inner.allocate(64);
    EXPECT_EQ(inner.report_live(), 2u);
    EXPECT_EQ(seen_.size(), 2u);
  }
  EXPECT_EQ(seen_.size(), 4u);
  EXPECT_EQ(seen_[3].fault, ResourceFault::leak);
  EXPECT_EQ(seen_[3].resource, std::string("inner"));
  checked_.forget_all();
  EXPECT_EQ(checked_.live_bytes(), 0u);
  heap_.clear();
}

// A resource that moves a pointer, as libc++'s std::pmr::monotonic_buffer_resource does it.
class Bump final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t) override {
    return std::exchange(next_, next_ + bytes);
  }
  void do_deallocate(void*, std::size_t, std::size_t) override {}
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }
  char room_[100] = {};
  char* next_ = room_;
};

TEST_F(CheckingResourceTest, EmptyBlocksAreBlocks) {
  Bump bump;
  CheckingResource checked(&bump, "empty", note);
  void* const one = checked.allocate(0, 1);
  void* const other = checked.allocate(0, 1);
  EXPECT_EQ(checked.live_blocks(), 2u);
  checked.deallocate(one, 0, 1);
  checked.deallocate(other, 0, 1);
  EXPECT_EQ(checked.live_blocks(), 0u);
  EXPECT_TRUE(seen_.empty());
}

// What an upstream ends by itself ends for the resource when its place is given out again.
TEST_F(CheckingResourceTest, AnUpstreamThatEndsItsBlocks) {
  char room[1000];
  std::pmr::monotonic_buffer_resource upstream(room, sizeof room);
  CheckingResource checked(&upstream, "monotonic", note);
  void* const before = checked.allocate(100);
  upstream.release();
  void* const after = checked.allocate(50);
  ASSERT_EQ(before, after);
  EXPECT_EQ(checked.live_blocks(), 1u);
  EXPECT_EQ(checked.live_bytes(), 50u);
  EXPECT_EQ(checked.live_bytes_peak(), 100u);
  checked.deallocate(after, 50);
  EXPECT_EQ(checked.live_bytes(), 0u);
  EXPECT_TRUE(seen_.empty());
}

TEST_F(CheckingResourceTest, UpstreamOutOfMemory) {
  EXPECT_THROW((void)checked_.allocate(SIZE_MAX / 2), std::bad_alloc);
  EXPECT_EQ(checked_.live_blocks(), 0u);
}

TEST_F(CheckingResourceTest, ManyThreads) {
  support::in_threads(4, [this] {
    for (int i = 0; i < 2000; ++i) {
      const auto bytes = static_cast<std::size_t>(i % 100);
      checked_.deallocate(checked_.allocate(bytes), bytes);
    }
  });
  EXPECT_TRUE(seen_.empty());
  EXPECT_EQ(checked_.live_blocks(), 0u);
}

TEST(SiteText, IsCutAndTerminated) {
  char text[100];
  const void* const here = reinterpret_cast<const void*>(&note);
  const std::size_t length = tarn_site_text(here, text, sizeof text);
  EXPECT_EQ(std::string(text).find("standard_functions+0x"), 0u) << text;
  EXPECT_EQ(std::string(text).size(), length);
  EXPECT_EQ(tarn_site_text(here, text, 5), 4u);
  EXPECT_EQ(text, std::string("stan"));
  EXPECT_EQ(tarn_site_text(here, nullptr, 0), 0u);
  tarn_site_text(reinterpret_cast<const void*>(16), text, sizeof text);
  EXPECT_EQ(text, std::string("0xf"));
}

TEST(CheckingResourceReport, EndsTheProcess) {
  CheckingResource checked(std::pmr::new_delete_resource(), "orders");
  void* const p = checked.allocate(100, 8);
  EXPECT_DEATH(checked.deallocate(p, 10, 8),
               "tarn: size mismatch: 0x[0-9a-f]+ of resource \"orders\", allocated as 100 bytes "
               "aligned to 8, deallocated as 10 bytes aligned to 8\n"
               "tarn:   allocated at: standard_functions\\+0x[0-9a-f]+ .*\n"
               "tarn:   now at: standard_functions\\+0x");
  checked.deallocate(p, 100, 8);
  EXPECT_DEATH(checked.deallocate(p, 100, 8), "tarn: double free: .*\n.*\ntarn:   freed at: ");
  EXPECT_DEATH(checked.deallocate(&checked, 1, 1), "tarn: invalid free: ");
  testing::internal::CaptureStderr();
  {
    CheckingResource leaking(std::pmr::new_delete_resource(), "leaking");
    void* const lost = leaking.allocate(7, 16);
    std::pmr::new_delete_resource()->deallocate(lost, 7, 16);  // Behind its back.
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr().find("tarn: leak: 0x"), 0u);
}

}  // namespace
}  // namespace standard
