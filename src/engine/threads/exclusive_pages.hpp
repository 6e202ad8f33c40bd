// exclusive_pages: the pages of a heap that the calling thread holds exclusively, in the thread
// heaps of all threads.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "engine/records/record.hpp"
#include "engine/records/thread.hpp"
#include "engine/records/thread_heaps.hpp"
#include "platform/base/check.hpp"

namespace tarn {

// Calls visit(thread_heap) for those of the heap's thread heaps whose lists are intact. pre: held
// exclusively
template <class Visit>
void for_each_intact_thread_heap(HeapRecord& record, Visit visit) noexcept {
  for (ThreadHeap* h = record.first_thread_heap; h != nullptr; h = h->next_of_record) {
    if (!is_lost(*h)) visit(*h);
  }
}

// Calls visit(page) for the pages of these, until it returns something other than 0, and returns
// that.
template <class Visit>
int for_each_page(HeapRecord& record, Visit visit) noexcept {
  int stop = 0;
  for_each_intact_thread_heap(record, [&](ThreadHeap& thread_heap) noexcept {
    for (Span* s = thread_heap.pages.head(); s != nullptr && stop == 0; s = s->next_of_heap) {
      stop = visit(static_cast<Page&>(*s));
    }
  });
  return stop;
}

// Takes all pages off the thread heap, in state dead, and puts them in front of the chain (by
// `next`), which is returned. No block is touched. The thread heap is as a new one.
Span* take_apart(ThreadHeap& heap, Span* chain) noexcept;

// Empties all lists of the thread heap, whatever is on them.
void forget_pages(ThreadHeap& heap) noexcept;

// Gives back the pages without live blocks of another thread's thread heap. That thread may be
// freeing blocks meanwhile; it does not touch a page without live blocks.
void retire_empty_pages(ThreadHeap& heap) noexcept;

// Flushes the thread heaps that the calling thread may change: its own, and the one that is used
// under a lock. pre: held exclusively
void flush_thread_heaps_at_hand(HeapRecord& record) noexcept;

// While this lives, the thread that holds the heap exclusively is editing the lists of other
// threads' thread heaps. A fork in that time leaves those lists unusable in the child, although
// their threads are not busy. Does not nest.
class EditingLists {
 public:
  explicit EditingLists(HeapRecord& record) noexcept : record_(record) {
    TARN_ASSERT(!record.editing_lists);
    record_.editing_lists = true;
    TARN_FORK_FENCE();
  }
  ~EditingLists() {
    TARN_ASSERT(record_.editing_lists);
    TARN_FORK_FENCE();
    record_.editing_lists = false;
  }
  EditingLists(const EditingLists&) = delete;
  EditingLists& operator=(const EditingLists&) = delete;

 private:
  HeapRecord& record_;
};

}  // namespace tarn
