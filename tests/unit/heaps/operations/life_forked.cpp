// What waits for another thread's doings, in the child of a fork that has not been repaired yet, as
// a handler of somebody else's may run there: that thread is gone.
//
// SPDX-License-Identifier: MIT
#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "child.hpp"
#include "engine/spans/page_map.hpp"
#include "heaps/blocks/allocate.hpp"
#include "heaps/operations/life.hpp"
#include "malloc/process/process.hpp"

namespace tarn {
namespace {

constexpr unsigned hang_seconds = 20;

// A heap that another thread uses, which stands where a fork finds it.
class Forked : public testing::Test {
 protected:
  Forked() { process.start(); }  // Of the archive nothing else here would link the process's part.

  // `stand` on the other thread: what it does there, and afterwards undoes.
  template <class Stand, class Undo>
  void fork_while(Stand stand, Undo undo) {
    std::atomic<int> stage{0};
    std::thread other([&] {
      EXPECT_NE(heap_allocate(heap_, 2'000, "test"), nullptr);
      stand();
      stage.store(1);
      while (stage.load() != 2) std::this_thread::yield();
      undo();
    });
    while (stage.load() != 1) std::this_thread::yield();
    in_unrepaired_child([&] {
      alarm(hang_seconds);
      EXPECT_TRUE(heap_clear(heap_, true, "test"));
    });
    stage.store(2);
    other.join();
    EXPECT_TRUE(heap_clear(heap_, true, "test"));
  }

  HeapRecord& record() { return *static_cast<HeapRecord*>(heap_.record); }
  tarn_heap heap_ = heap_create(nullptr);
};

TEST_F(Forked, AThreadOnAHitPathIsNotWaitedFor) {
  fork_while([] { current_thread->inside.store(true); },
             [] { current_thread->inside.store(false); });
}

TEST_F(Forked, AThreadOnASlowPathIsNotWaitedFor) {
  fork_while([] { Busy::begin(*current_thread); }, [] { Busy::end(*current_thread); });
}

TEST_F(Forked, AVisitorIsNotWaitedFor) {
  fork_while([this] { record().visitors.fetch_add(1); },
             [this] { record().visitors.fetch_sub(1); });
}

// It was about to post the page.
TEST_F(Forked, AThreadThatWasToPostAPageIsNotWaitedFor) {
  const auto page_of = [](void* p) { return static_cast<Page*>(page_map.span_of(p)); };
  Page* page = nullptr;
  Remote before{0};
  fork_while(
      [&] {
        page = page_of(heap_allocate(heap_, 2'000, "test"));
        before.word = page->remote.load();
        page->remote.store(Remote::empty(RemoteState::mailed).word);
      },
      [&] { page->remote.store(before.word); });
}

}  // namespace
}  // namespace tarn
