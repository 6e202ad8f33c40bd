// How one thread gets a heap for itself (heaps/heap/exclusive.hpp): the library itself, in every
// order of the steps of threads that allocate and free there, close it and end it. Also where
// stores wait in their processor's buffer, as on x86: hit paths have no fence. Who has the heap for
// itself writes where the others do, so that one who is still inside would be seen as a data race.
//
// SPDX-License-Identifier: MIT
#include <array>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "actor.hpp"
#include "heaps/blocks/allocate.hpp"
#include "heaps/heap/exclusive.hpp"
#include "heaps/operations/life.hpp"
#include "platform/stack/stacks.hpp"
#include "support/explorer/expect.hpp"
#include "tarn/diagnose/misuse.h"

namespace tarn {
namespace {

using explorer::require;

constexpr std::size_t bytes = 64;

class World {
 public:
  // The slots of the first `inside` threads lead to the heap; their next allocation refills, or
  // not.
  void begin(std::size_t inside, bool refills) {
    stacks.set_depth(0);
    // A thread that comes too late to an ended heap makes no further step.
    tarn_on_misuse([](const tarn_misuse*, void*) { explorer::end_thread(); }, nullptr);
    heap_ = heap_create(nullptr);
    has_ended_ = false;
    for (std::optional<Actor>& actor : actors_) actor.emplace();
    for (std::size_t i = 0; i < inside; ++i) {
      // At first a heap has one page for all threads.
      const std::atomic<std::uint64_t>& slot = actors_[i]->record().slots[heap_.id % heap_slots].id;
      while (slot.load() != heap_.id) allocate(i);
      while (refills && Actor::page_of(blocks_[i])->free != nullptr) allocate(i);
      if (!refills) free(i);
    }
  }
  void allocate(std::size_t i) {
    actors_[i]->run([&] { blocks_[i] = heap_allocate(heap_, bytes, "tarn_heap_allocate"); });
    require(blocks_[i] != nullptr, "there is no memory");
  }
  void use(std::size_t i) {
    allocate(i);
    free(i);
  }
  void close(std::size_t i) {
    actors_[i]->run([&] {
      const ExclusiveSection section(record());
      write_to_all();
    });
  }
  void end(std::size_t i) {
    actors_[i]->run([&] { require(heap_clear(heap_, true, "tarn_heap_destroy"), "not ended"); });
    has_ended_ = true;
  }
  void finish() {
    if (has_ended_) return;
    require(!record().exclusive && !record().gate.is_held(), "the heap stays closed");
    require(record().visitors == 0, "a visitor has not left");
    require(heap_clear(heap_, true, "test"), "a heap that cannot be ended");
  }

 private:
  void free(std::size_t i) {
    actors_[i]->run([&] { heap_deallocate(std::exchange(blocks_[i], nullptr)); });
  }
  HeapRecord& record() { return *static_cast<HeapRecord*>(heap_.record); }
  // What whoever is on a hit path there would be writing.
  void write_to_all() {
    for (ThreadHeap* h = record().first_thread_heap; h != nullptr; h = h->next_of_record) {
      for (Page*& page : h->current) {
        Page* volatile* const place = &page;
        *place = *place;
      }
      for (Span* s = h->pages.head(); s != nullptr; s = s->next_of_heap) {
        auto& page = *static_cast<Page*>(s);
        Block* volatile* const place = &page.free;
        *place = *place;
      }
    }
  }

  tarn_heap heap_{};
  std::array<std::optional<Actor>, 3> actors_;
  std::array<void*, 3> blocks_{};
  bool has_ended_ = false;
};
World w;

using Body = std::function<void()>;

Body use(std::size_t thread) {
  return [thread] { w.use(thread); };
}
// A heap's end is the end of its blocks: nobody may free them then.
Body allocate(std::size_t thread) {
  return [thread] { w.allocate(thread); };
}
Body close(std::size_t thread) {
  return [thread] { w.close(thread); };
}
Body end(std::size_t thread) {
  return [thread] { w.end(thread); };
}
Body then(Body first, Body second) {
  return [first = std::move(first), second = std::move(second)] { first(), second(); };
}

void expect_kept(const char* name, std::size_t inside, std::vector<Body> threads,
                 bool refills = false) {
  explorer::Scenario scenario;
  scenario.name = name;
  scenario.prepare = [inside, refills] { w.begin(inside, refills); };
  scenario.threads = std::move(threads);
  scenario.check = [] { w.finish(); };
  scenario.clear = [] { w.finish(); };
  for (const bool stores_wait : {false, true}) {
    scenario.stores_wait = stores_wait;
    EXPECT_GT(explorer::expect_kept(scenario).runs, 1u) << "nothing was explored";
  }
}

TEST(Closing, OneHitsOneCloses) {
  expect_kept("one_hits_one_closes", 1, {then(use(0), use(0)), close(1)});
}

TEST(Closing, OneComesOneCloses) {
  expect_kept("one_comes_one_closes", 0, {use(0), close(1)});
  expect_kept("one_joins_one_closes", 1, {close(0), then(allocate(1), allocate(1))});
}

TEST(Closing, OneRefills) {
  expect_kept("one_refills_one_closes", 1, {allocate(0), close(1)}, true);
  expect_kept("one_refills_one_ends", 1, {allocate(0), end(1)}, true);
}

TEST(Closing, OneHitsOneEnds) { expect_kept("one_hits_one_ends", 1, {allocate(0), end(1)}); }

TEST(Closing, OneComesOneEnds) {
  expect_kept("one_comes_one_ends", 0, {allocate(0), end(1)});
  expect_kept("one_joins_one_ends", 1, {end(0), then(allocate(1), allocate(1))});
}

TEST(Closing, BothClose) {
  expect_kept("both_close", 2, {then(close(0), use(0)), then(use(1), close(1))});
}

TEST(Closing, ItIsClosedAndEnded) {
  expect_kept("closed_and_ended", 1, {allocate(0), then(close(1), end(1))});
}

TEST(Closing, TwoHitOneCloses) { expect_kept("two_hit_one_closes", 2, {use(0), use(1), close(2)}); }

TEST(Closing, TwoClose) { expect_kept("two_close", 1, {use(0), close(1), close(2)}); }

}  // namespace
}  // namespace tarn
