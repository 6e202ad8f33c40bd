// Threads: work below nodes of one's own, and subtrees that are handed over.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "tarn/tree/tree.h"

namespace {

constexpr std::size_t threads = 4;

int ended(void* p) { return ++**static_cast<int**>(p), 0; }

// With and without the library's looking at whose a subtree is.
class Threads : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { tarn_tree_check_threads(GetParam() ? 1 : 0); }
  void TearDown() override { tarn_tree_check_threads(0); }
};
INSTANTIATE_TEST_SUITE_P(Checks, Threads, testing::Bool(),
                         [](const auto& checks) { return checks.param ? "Checked" : "Unchecked"; });

// A subtree of some nodes, one of which counts its end.
void* grown(void* parent, unsigned seed, int* count) {
  std::mt19937 random(seed);
  std::vector<void*> nodes{tarn_tree_allocate(parent, 16)};
  for (int i = 0; i < 50; ++i) {
    void* const above = nodes[random() % nodes.size()];
    nodes.push_back(tarn_tree_allocate(above, 16 + random() % 200));
  }
  *static_cast<int**>(nodes.back()) = count;
  EXPECT_EQ(tarn_tree_set_destructor(nodes.back(), ended), 0);
  return nodes.front();
}

TEST_P(Threads, WorkBelowNodesOfTheirOwn) {
  constexpr unsigned rounds = 2000 / TARN_TEST_DIVISOR;
  void* const root = tarn_tree_allocate(nullptr, 0);
  std::array<int, threads> counts{};
  std::array<void*, threads> owned{};
  std::vector<std::thread> workers;
  for (std::size_t t = 0; t < threads; ++t) {
    void* const own = tarn_tree_allocate(root, 0);
    owned[t] = own;
    EXPECT_EQ(tarn_tree_hand_over(own), 0);
    workers.emplace_back([own, count = &counts[t]] {
      EXPECT_EQ(tarn_tree_take_over(own), 0);
      for (unsigned i = 0; i < rounds; ++i) {
        void* const below = grown(own, i, count);
        if (i % 8 != 0) tarn_tree_dispose(below);
      }
      EXPECT_EQ(tarn_tree_hand_over(own), 0);
    });
  }
  for (std::thread& worker : workers) worker.join();
  for (void* const own : owned) EXPECT_EQ(tarn_tree_take_over(own), 0);
  EXPECT_EQ(tarn_tree_check(root), 1);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
  for (const int count : counts) EXPECT_EQ(count, static_cast<int>(rounds));
}

class Queue {
 public:
  void put(void* node) {
    const std::lock_guard<std::mutex> locked(lock_);
    nodes_.push_back(node);
    changed_.notify_one();
  }
  void* take() {
    std::unique_lock<std::mutex> locked(lock_);
    changed_.wait(locked, [this] { return !nodes_.empty(); });
    void* const node = nodes_.front();
    nodes_.pop_front();
    return node;
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<void*> nodes_;
};

// One makes trees; another one hangs them below its own, adds to them and disposes of most.
TEST_P(Threads, HandSubtreesOver) {
  constexpr unsigned rounds = 5000 / TARN_TEST_DIVISOR;
  Queue queue;
  int count = 0;
  std::thread maker([&] {
    for (unsigned i = 0; i < rounds; ++i) {
      void* const node = grown(nullptr, i, &count);
      EXPECT_EQ(tarn_tree_hand_over(node), 0);
      queue.put(node);
    }
  });
  void* const own = tarn_tree_allocate(nullptr, 0);
  int added = 0;
  for (unsigned i = 0; i < rounds; ++i) {
    void* const node = queue.take();
    ASSERT_EQ(tarn_tree_take_over(node), 0);
    ASSERT_EQ(tarn_tree_steal(own, node), 0);
    static_cast<void>(grown(node, i, &added));
    if (i % 16 == 0) continue;
    ASSERT_EQ(tarn_tree_dispose(node), 0);
  }
  maker.join();
  EXPECT_EQ(tarn_tree_check(own), 1);
  EXPECT_EQ(tarn_tree_dispose(own), 0);
  EXPECT_EQ(count, static_cast<int>(rounds));
  EXPECT_EQ(added, static_cast<int>(rounds));
}

}  // namespace
