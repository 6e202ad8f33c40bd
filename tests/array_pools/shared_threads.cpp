// Many threads at one shared pool, through one handle and through several: no block is handed out
// twice, and what is written to a block before it is freed is ordered before what is written after.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <random>

#include "../support/threads.hpp"
#include "churn.hpp"
#include "shared_memory.hpp"

namespace array_pools {
namespace {

constexpr int steps = 200000 / TARN_TEST_DIVISOR;
constexpr unsigned threads = 4;

TEST(SharedThreads, OneHandleServesAllThreadsOfAProcess) {
  const SharedPoolMemory memory(12, sizeof(Message), 2);  // Fewer blocks than they want.
  tarn::SharedArrayPool pool = memory.attach(1);
  ASSERT_TRUE(pool);
  std::atomic<bool> is_sound{true};
  support::in_threads(threads, [&](unsigned t) { churn(pool, t, 6, steps, &is_sound); });
  EXPECT_TRUE(is_sound);
  EXPECT_TRUE(pool.check());
  EXPECT_TRUE(pool.is_empty());
}

TEST(SharedThreads, MembersComeAndGoWhileOthersWork) {
  const SharedPoolMemory memory(20, sizeof(Message), threads + 1);
  tarn::SharedArrayPool keeper = memory.attach(1000);
  ASSERT_TRUE(keeper);
  std::atomic<bool> is_sound{true};
  std::atomic<unsigned> running_count{threads};
  support::Threads running(threads, [&](unsigned t) {
    for (unsigned life = 0; life != 5; ++life) {
      tarn::SharedArrayPool pool = memory.attach(t + 1);
      if (!pool) {
        is_sound = false;
        break;
      }
      churn(pool, t, 6, steps, &is_sound);
      (void)pool.try_allocate();  // Left behind.
      pool.leave();
    }
    --running_count;
  });
  while (running_count != 0) keeper.deallocate(keeper.try_allocate());
  running.join();
  EXPECT_TRUE(is_sound);
  EXPECT_TRUE(keeper.check());
  EXPECT_EQ(keeper.in_use(), 0u);
}

// Blocks go round: each thread sends tickets to the next, and several try to adopt each.
TEST(SharedThreads, OneOfManyAdoptsABlock) {
  const SharedPoolMemory memory(16, sizeof(Message), threads);
  std::atomic<std::uint64_t> board[8] = {};
  std::atomic<bool> is_sound{true};
  std::atomic<int> sent{0}, adopted{0};
  support::in_threads(threads, [&](unsigned t) {
    tarn::SharedArrayPool pool = memory.attach(t + 1);
    std::minstd_rand random(t + 1);
    for (int step = 0; step != steps / 4; ++step) {
      std::atomic<std::uint64_t>& place = board[random() % 8];
      if (random() % 2 == 0) {
        auto* const message = static_cast<Message*>(pool.try_allocate());
        if (message == nullptr) continue;
        for (unsigned& word : message->text) word = t;
        std::uint64_t none = 0;
        if (place.compare_exchange_strong(none, pool.ticket(message)))
          ++sent;
        else
          pool.deallocate(message);
      } else {
        const std::uint64_t ticket = place;  // Not taken down yet: others may see it, too.
        auto* const message = ticket == 0 ? nullptr : static_cast<Message*>(pool.adopt(ticket));
        if (message == nullptr) continue;
        place = 0;
        for (const unsigned word : message->text) {
          if (word != message->text[0]) is_sound = false;
        }
        ++adopted;
        pool.deallocate(message);
      }
    }
  });
  tarn::SharedArrayPool pool = memory.attach(1);
  EXPECT_FALSE(pool) << "all places are taken";
  EXPECT_EQ(pool.status(), TARN_ARRAY_NO_PLACE);
  EXPECT_TRUE(is_sound);
  EXPECT_GT(adopted, 0);
  EXPECT_LE(adopted, sent);
}

}  // namespace
}  // namespace array_pools
