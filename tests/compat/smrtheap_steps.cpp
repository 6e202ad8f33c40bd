// smrtheap_steps: making a pool and finding that of a block take the same instructions however many
// pools there are. x86-64.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <csignal>
#include <vector>

#include "../support/trap_flag.hpp"
#include "smrtheap.hpp"

namespace {

volatile std::sig_atomic_t steps = 0;
void count_step(int) { steps = steps + 1; }

template <class Body>
int steps_of(Body body) {
  body();  // What is done once is done.
  steps = 0;
  support::in_steps(body);
  return steps;
}

class SmrtHeapSteps : public testing::Test {
 protected:
  SmrtHeapSteps() { before_ = std::signal(SIGTRAP, count_step); }
  ~SmrtHeapSteps() override {
    std::signal(SIGTRAP, before_);
    for (const MEM_POOL pool : pools_) EXPECT_EQ(MemPoolFree(pool), 1);
  }
  void make(std::size_t count) {
    while (pools_.size() < count) pools_.push_back(MemPoolInit(MEM_POOL_ZEROINIT));
  }
  MEM_POOL youngest() const { return pools_.back(); }
  std::vector<MEM_POOL> pools_;

 private:
  void (*before_)(int) = nullptr;
};

TEST_F(SmrtHeapSteps, MakingAPool) {
  const auto make_and_free = [] { MemPoolFree(MemPoolInit(0)); };
  make(10);
  for (int i = 0; i < 100; ++i) make_and_free();  // So that there are places that served.
  const int of_few = steps_of(make_and_free);
  make(20'000);
  const int of_many = steps_of(make_and_free);
  EXPECT_GT(of_few, 100);
  EXPECT_LT(of_many, 2 * of_few);
}

TEST_F(SmrtHeapSteps, ThePoolOfABlock) {
  make(10);
  void* block = MemAllocPtr(youngest(), 100, 0);
  MEM_POOL found = nullptr;
  const auto find = [&] { found = MemPoolOfPtr(block); };
  const auto resize = [&] { block = MemReAllocPtr(block, 100, 0); };
  const int find_of_few = steps_of(find);
  const int resize_of_few = steps_of(resize);
  EXPECT_EQ(found, youngest());
  make(20'000);
  EXPECT_LE(steps_of(find), find_of_few + 100);
  EXPECT_LE(steps_of(resize), resize_of_few + 100);
  block = MemAllocPtr(youngest(), 100, 0);
  EXPECT_LE(steps_of(find), find_of_few + 100);
  EXPECT_LE(steps_of(resize), resize_of_few + 100);
  EXPECT_EQ(found, youngest());
}

}  // namespace
