// A fork while another thread is in the middle of changing a ring: the child makes it whole, at
// each point where that thread can have stopped.
//
// SPDX-License-Identifier: MIT
#include <sys/wait.h>
#include <unistd.h>

#include <latch>
#include <thread>

#include "engine/records/record.hpp"
#include "recover.hpp"
#include "watch/recover/ring.hpp"

namespace recovering {
namespace {

using tarn::rings_lock;

constexpr std::size_t count = 5;

// The ring of a heap, some of which somebody changes half.
class HalfChanged : public testing::Test {
 protected:
  void SetUp() override {
    const tarn_heap_options plain = options();
    heap_ = tarn_heap_create(&plain);
    for (tarn_purgeable& p : all_) {
      ASSERT_EQ(tarn_purgeable_begin(&p, heap_, 1'000), 0);
      ASSERT_NE(tarn_purgeable_refill(&p), nullptr);
      tarn_purgeable_unlock(&p);
    }
    ASSERT_TRUE(tarn::ring_check(record()));
    ASSERT_EQ(ring().count, count);
  }
  void TearDown() override {
    for (tarn_purgeable& p : all_) EXPECT_EQ(tarn_purgeable_end(&p), 0);
    EXPECT_EQ(tarn_heap_destroy(heap_), 0);
  }

  tarn::HeapRecord& record() { return *static_cast<tarn::HeapRecord*>(heap_.record); }
  tarn::Ring& ring() { return record().purgeables; }

  // change() in a thread that has the lock, which vanishes; then undo() in the parent.
  template <class Change, class Undo, class Look>
  void fork_after(Change change, Undo undo, Look look) {
    std::latch changed(1);
    std::latch forked(1);
    std::thread vanishes([&] {
      const tarn::os::Locked locked(rings_lock);
      change();
      changed.count_down();
      forked.wait();
      undo();
    });
    changed.wait();
    const pid_t child = ::fork();
    if (child == 0) {
      alarm(60);
      _exit(goes_on(look) ? 0 : 1);
    }
    forked.count_down();
    vanishes.join();
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(tarn::ring_check(record()));
  }
  template <class Look>
  bool goes_on(Look look) {
    if (!tarn::ring_check(record()) || !look()) return false;
    if (tarn_recover(SIZE_MAX, TARN_RECOVER_PURGEABLES) == 0) return false;
    if (ring().count != 0) return false;
    for (tarn_purgeable& p : all_) {
      if ((tarn::word_of(p).load() & tarn::word_there) == 0) {
        if (tarn_purgeable_refill(&p) == nullptr) return false;
        tarn_purgeable_unlock(&p);
      }
      if (tarn_purgeable_lock(&p) == nullptr) return false;
      tarn_purgeable_unlock(&p);
    }
    if (!tarn::ring_check(record())) return false;
    for (tarn_purgeable& p : all_) {
      if (tarn_purgeable_end(&p) != 0) return false;
    }
    return tarn::ring_check(record()) && ring().count == 0;
  }

  tarn_heap heap_{};
  tarn_purgeable all_[count] = {};
};

TEST_F(HalfChanged, ByNothing) {
  fork_after([] {}, [] {}, [this] { return ring().count == count; });
}

// ring_remove(): the first half is done for each place of the ring.
TEST_F(HalfChanged, ByTakingOneOff) {
  for (std::size_t i = 0; i < count; ++i) {
    tarn_purgeable& p = all_[i];
    tarn_purgeable*& to_it = i == 0 ? ring().first : all_[i - 1].next;
    fork_after(
        [&] {
          ring().hand = p.next;
          to_it = p.next;
        },
        [&] {
          to_it = &p;
          ring().hand = nullptr;
        },
        [&] { return ring().count == count - 1; });
  }
}

// A claim that was not followed by anything.
TEST_F(HalfChanged, ByAClaim) {
  tarn_purgeable& p = all_[2];
  fork_after([&] { tarn::word_of(p).store(tarn::word_known); },
             [&] { tarn::word_of(p).store(tarn::word_known | tarn::word_there); },
             [&] { return ring().count == count - 1 && p.block == nullptr; });
}

// ring_add(): its own links are written; then that of the one before.
TEST_F(HalfChanged, ByPuttingOneOn) {
  tarn_purgeable& p = all_[3];
  for (const bool published : {false, true}) {
    fork_after(
        [&] {
          all_[2].next = published ? &p : &all_[4];
          all_[4].prev = &all_[2];
          ring().count = count - 1;
        },
        [&] {
          all_[2].next = &p;
          all_[4].prev = &p;
          ring().count = count;
        },
        [&] { return ring().count == (published ? count : count - 1); });
  }
}

}  // namespace
}  // namespace recovering
