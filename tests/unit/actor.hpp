// actor: a thread as the heap sees it, one record, in which a test's own thread takes turns. What a
// test says happens in that order, whatever the machine does.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/store/store.hpp"
#include "engine/threads/cache_care.hpp"
#include "engine/threads/refill.hpp"
#include "engine/threads/thread_heap.hpp"
#include "engine/threads/thread_life.hpp"
#include "heaps/operations/trim.hpp"
#include "malloc/blocks/allocate.hpp"
#include "malloc/blocks/free.hpp"

namespace tarn {

class Actor {
 public:
  Actor() {
    run([&] { thread_start(); });
    EXPECT_NE(record_, nullptr);
  }
  ~Actor() { end(); }
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;

  template <class Body>
  void run(Body body) {
    Thread* const record = record_ == nullptr ? no_thread() : record_;
    Thread* const before = current_thread;
    set_current_thread(record);
    body();
    record_ = current_thread;
    set_current_thread(before);
  }

  // From its page, past the cache: no block is at hand afterwards.
  void* allocate(std::size_t bytes) {
    void* p = nullptr;
    run([&] { p = bytes > block_bytes_max ? tarn::allocate(bytes) : allocate_from_page(bytes); });
    return p;
  }
  // The block goes to its page.
  void free(void* p) {
    run([&] {
      deallocate(p);
      if (current_thread == no_thread()) return;
      Busy busy(*current_thread);
      give_at_hand(*current_thread);
    });
  }
  void trim() {
    run([&] { tarn::trim(0); });
  }

  // As a real thread's end (engine/records/thread.cpp); nothing when it has ended.
  void end() {
    Thread* const record = std::exchange(record_, nullptr);
    if (record == nullptr) return;
    Busy::begin(*record);
    thread_give(*record);
  }

  Thread& record() { return *record_; }
  Page* current(std::size_t bytes) { return record_->heap.current[class_of(bytes)]; }
  std::uint32_t pages(std::size_t bytes) { return pages_of(*record_, bytes); }
  static std::uint32_t pages_of(const Thread& record, std::size_t bytes) {
    std::uint32_t pages = 0;
    for (const Span* s = record.heap.pages.head(); s != nullptr; s = s->next_of_heap) {
      pages += static_cast<const Page*>(s)->size_class == class_of(bytes);
    }
    return pages;
  }

  // Allocates until a further page of the class is begun; the blocks of the page before it.
  std::vector<void*> fill_page(std::size_t bytes) {
    std::vector<void*> blocks{allocate(bytes)};
    const Page* const first = page_of(blocks[0]);
    for (;;) {
      void* const block = allocate(bytes);
      if (page_of(block) != first) {
        extra_.push_back(block);
        return blocks;
      }
      blocks.push_back(block);
    }
  }
  // Frees what fill_page had to begin.
  void free_extra() {
    for (void* block : take_extra()) free(block);
  }
  // For another actor to free them.
  std::vector<void*> take_extra() { return std::exchange(extra_, {}); }

  static void* allocate_from_page(std::size_t bytes) {
    if (current_thread == no_thread()) thread_start();
    ThreadHeap& heap = current_thread->heap;
    Page* page = heap.current[class_of(bytes)];
    if (page->free == nullptr) {
      Busy busy(*current_thread);
      page = refill(heap, class_of(bytes));
    }
    return page == nullptr ? nullptr : page_pop_unmarked(page);
  }

  static Page* page_of(const void* block) { return static_cast<Page*>(page_map.span_of(block)); }

 private:
  Thread* record_ = nullptr;
  std::vector<void*> extra_;
};

inline RemoteState state_of(const Page* page) { return Remote{page->remote.load()}.state(); }
inline std::uint32_t pending_of(const Page* page) { return Remote{page->remote.load()}.count(); }

// Gives back what earlier tests left, and then there is nothing; every record keeps its invariants.
inline void expect_nothing_in_use() {
  trim(0);
  EXPECT_TRUE(store.check());
  EXPECT_EQ(store.totals().committed_bytes, 0u);
  for (const Thread* t = orphans.first_known(); t != nullptr; t = t->next_known) {
    EXPECT_TRUE(thread_heap_check(t->heap));
    EXPECT_TRUE(cache_check(*t));
  }
}

// Somebody whose blocks another one frees.
class TwoActorsTest : public testing::Test {
 protected:
  static constexpr std::size_t bytes = 32;  // Many blocks a page, so thresholds are above one.

  ~TwoActorsTest() override {
    owner_.free_extra();
    owner_.end();
    other_.end();
    expect_nothing_in_use();
  }
  // A page asleep, with all its blocks out.
  Page* sleeping_page() {
    blocks_ = owner_.fill_page(bytes);
    return Actor::page_of(blocks_[0]);
  }
  void free_by(Actor& actor, std::size_t count) {
    for (; count > 0; --count) {
      actor.free(blocks_.back());
      blocks_.pop_back();
    }
  }
  static void read_mail_of(Actor& actor) {
    actor.run([&] { read_mail(actor.record()); });
  }
  Page* mail() { return owner_.record().mail.first(); }

  Actor owner_;
  Actor other_;
  std::vector<void*> blocks_;
};

}  // namespace tarn
