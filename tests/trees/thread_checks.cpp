// thread_checks: what is reported when a thread uses a subtree that is another one's.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "tarn/tree/tree.hpp"

namespace {

void in_another_thread(const std::function<void()>& work) { std::thread(work).join(); }

class ThreadChecks : public testing::Test {
 protected:
  void SetUp() override {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_FALSE(tarn::tree::check_threads(true));
    root = tarn_tree_allocate(nullptr, 16);
    EXPECT_EQ(tarn_tree_set_name(root, "the root"), 0);
    child = tarn_tree_allocate(root, 16);
    leaf = tarn_tree_allocate(child, 16);
  }
  void TearDown() override {
    EXPECT_EQ(tarn_tree_check(root), 1);
    EXPECT_EQ(tarn_tree_dispose(root), 0);
    EXPECT_TRUE(tarn::tree::check_threads(false));
  }

  // Each is misuse in another thread.
  void expect_all_reported(const char* words) {
    EXPECT_DEATH(in_another_thread([&] { (void)!tarn_tree_allocate(leaf, 1); }), words);
    EXPECT_DEATH(in_another_thread([&] { (void)!tarn_tree_reallocate(leaf, 1); }), words);
    EXPECT_DEATH(in_another_thread([&] { tarn_tree_dispose(leaf); }), words);
    EXPECT_DEATH(in_another_thread([&] { tarn_tree_dispose_children(child); }), words);
    EXPECT_DEATH(in_another_thread([&] { tarn_tree_steal(nullptr, leaf); }), words);
    EXPECT_DEATH(in_another_thread([&] { tarn_tree_set_name(leaf, "x"); }), words);
    EXPECT_DEATH(in_another_thread([&] { tarn_tree_set_destructor(leaf, nullptr); }), words);
    EXPECT_DEATH(in_another_thread([&] { tarn_tree_give_arena(leaf, nullptr); }), words);
    EXPECT_DEATH(in_another_thread([&] { tarn_tree_unreference(child, leaf); }), words);
    EXPECT_DEATH(in_another_thread([&] {
                   void* const own = tarn_tree_allocate(nullptr, 1);
                   tarn_tree_reference(own, leaf);
                 }),
                 words);
    EXPECT_DEATH(in_another_thread([&] {
                   void* const own = tarn_tree_allocate(nullptr, 1);
                   tarn_tree_steal(own, leaf);
                 }),
                 words);
  }

  void* root = nullptr;
  void* child = nullptr;
  void* leaf = nullptr;
};

TEST_F(ThreadChecks, OfAnotherThread) {
  expect_all_reported("tree misuse: tarn_tree_.*the root.* is another thread's");
  EXPECT_DEATH(in_another_thread([&] { tarn_tree_hand_over(leaf); }), "tarn_tree_hand_over");
  EXPECT_DEATH(in_another_thread([&] { tarn_tree_take_over(leaf); }), "tarn_tree_take_over");
  EXPECT_DEATH(in_another_thread([&] { tarn_tree_take_over(root); }), "tarn_tree_take_over");
}

TEST_F(ThreadChecks, HandedOverAndNotTakenOver) {
  EXPECT_TRUE(tarn::tree::hand_over(root));
  const char* const words = "has been handed over: tarn_tree_take_over comes first";
  expect_all_reported(words);
  EXPECT_DEATH((void)!tarn_tree_allocate(leaf, 1), words);
  EXPECT_DEATH(tarn_tree_dispose(root), words);
  EXPECT_TRUE(tarn::tree::take_over(root));
}

TEST_F(ThreadChecks, PartsOfATree) {
  EXPECT_TRUE(tarn::tree::hand_over(child));
  in_another_thread([&] {
    EXPECT_TRUE(tarn::tree::take_over(child));
    EXPECT_NE(tarn_tree_allocate(child, 1), nullptr);
    EXPECT_EQ(tarn_tree_dispose(leaf), 0);
    EXPECT_DEATH((void)!tarn_tree_allocate(root, 1), "the root");
    EXPECT_DEATH(tarn_tree_dispose(child), "the root");  // Its place is not its own.
  });
  EXPECT_NE(tarn_tree_allocate(root, 1), nullptr);
  EXPECT_DEATH((void)!tarn_tree_allocate(child, 1), "another thread's");
  EXPECT_DEATH(tarn_tree_dispose(root), "tarn_tree_dispose.*another thread's");
  // The thread has gone without handing it back; another one may have its place in memory.
  EXPECT_EQ(tarn_tree_check_threads(0), 1);
  EXPECT_EQ(tarn_tree_dispose(child), 0);
  EXPECT_EQ(tarn_tree_check_threads(1), 0);
}

TEST_F(ThreadChecks, AThreadsOwnTreesAndRootsThatComeToBe) {
  in_another_thread([&] {
    void* const own = tarn_tree_allocate(nullptr, 8);
    void* const part = tarn_tree_allocate(own, 8);
    EXPECT_EQ(tarn_tree_steal(nullptr, part), 0);
    EXPECT_EQ(tarn_tree_dispose(own), 0);
    EXPECT_EQ(tarn_tree_hand_over(part), 0);
    leaf = part;
  });
  EXPECT_EQ(tarn_tree_take_over(leaf), 0);
  EXPECT_EQ(tarn_tree_steal(root, leaf), 0);
  EXPECT_EQ(tarn_tree_hand_over(root), 0);
  in_another_thread([&] {
    EXPECT_EQ(tarn_tree_take_over(root), 0);
    EXPECT_NE(tarn_tree_allocate(leaf, 1), nullptr);  // With what it has come below.
    EXPECT_EQ(tarn_tree_hand_over(root), 0);
  });
  EXPECT_EQ(tarn_tree_take_over(root), 0);
}

TEST_F(ThreadChecks, PartsInMemoryThatGoesAtOnce) {
  void* const document = tarn_tree_allocate_with_arena(root, 0, nullptr);
  void* const part = tarn_tree_allocate(document, 8);
  EXPECT_EQ(tarn_tree_hand_over(part), 0);
  EXPECT_DEATH(tarn_tree_dispose(document), "tarn_tree_dispose.*handed over");
  EXPECT_EQ(tarn_tree_take_over(part), 0);
  EXPECT_EQ(tarn_tree_dispose(document), 0);
}

TEST(ThreadChecksThatAreOff, NothingIsLookedAt) {
  EXPECT_EQ(tarn_tree_check_threads(0), 0);
  void* const root = tarn_tree_allocate(nullptr, 8);
  EXPECT_EQ(tarn_tree_hand_over(root), 0);
  in_another_thread([&] { EXPECT_NE(tarn_tree_allocate(root, 1), nullptr); });
  EXPECT_EQ(tarn_tree_take_over(root), 0);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
}

TEST(ThreadChecksThatAreOff, TheEnvironmentTurnsThemOn) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  setenv("TARN_OPTIONS", "check_tree_threads=1", 1);
  EXPECT_EXIT(std::exit(10 + tarn_tree_check_threads(0)), testing::ExitedWithCode(11), "");
  unsetenv("TARN_OPTIONS");
}

}  // namespace
