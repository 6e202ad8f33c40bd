// closed_share: what whoever holds a heap exclusively does with a thread's heap view of it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "engine/records/record.hpp"
#include "engine/records/thread.hpp"
#include "engine/records/thread_heaps.hpp"

namespace tarn {

// Calls visit(thread heap) for the thread heaps of an exclusively held heap that have lists to go
// by.
template <class Visit>
void for_each_intact_thread_heap(HeapRecord& record, Visit visit) noexcept {
  for (ThreadHeap* h = record.first_thread_heap; h != nullptr; h = h->next_of_record) {
    if (!is_lost(*h)) visit(*h);
  }
}

// Calls visit(page) for their pages until it returns something else than 0, and returns that.
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

// Takes all pages off the thread heap, dead, and puts them on a chain (by next), which is returned.
// No block is touched. The thread heap is as a new one.
Span* take_apart(ThreadHeap& heap, Span* chain) noexcept;

// Empties all lists of the thread heap, whatever is on them.
void forget_pages(ThreadHeap& heap) noexcept;

// Gives back the pages of another thread's heap view that have no live block. That thread may be
// freeing blocks; a page without live blocks it does not touch.
void retire_empty_pages(ThreadHeap& heap) noexcept;

// Flushes those thread heaps of an exclusively held heap that the calling thread may change: its
// own, and the one that is used under a lock. pre: the calling thread holds the heap exclusively
void flush_thread_heaps_at_hand(HeapRecord& record) noexcept;

// Marks the time in which who holds a heap exclusively changes the lists of its thread heaps: in
// the child of a fork they are lost. Their threads need not be busy then. Does not nest.
class EditingLists {
 public:
  explicit EditingLists(HeapRecord& record) noexcept : record_(record) {
    record_.editing_lists = true;
    TARN_FORK_FENCE();
  }
  ~EditingLists() {
    TARN_FORK_FENCE();
    record_.editing_lists = false;
  }
  EditingLists(const EditingLists&) = delete;
  EditingLists& operator=(const EditingLists&) = delete;

 private:
  HeapRecord& record_;
};

}  // namespace tarn
