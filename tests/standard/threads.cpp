// threads: a resource that one thread uses while another one asks what lives there.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <memory_resource>
#include <thread>
#include <vector>

#include "tarn/standard/checking_resource.hpp"

namespace standard {
namespace {

TEST(Threads, WhatLivesIsAskedWhileOthersAllocate) {
  tarn::CheckingResource checked(std::pmr::new_delete_resource(), "shared",
                                 [](const tarn::ResourceReport& report) {
                                   EXPECT_EQ(report.fault, tarn::ResourceFault::leak);
                                   EXPECT_EQ(report.bytes, 8u);
                                 });
  std::atomic<bool> over{false};
  std::thread other([&] {
    for (int round = 0; round < 5; ++round) {
      std::vector<void*> blocks;
      for (int i = 0; i < 3000; ++i) blocks.push_back(checked.allocate(8));
      for (void* const p : blocks) checked.deallocate(p, 8);
    }
    over = true;
  });
  while (!over) EXPECT_LE(checked.report_live(), 3000u);
  other.join();
  EXPECT_EQ(checked.report_live(), 0u);
}

}  // namespace
}  // namespace standard
