// closed_share: what whoever has a heap closed does with a thread's share of it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "engine/records/record.hpp"
#include "engine/records/shares.hpp"
#include "engine/records/thread.hpp"

namespace tarn {

// Calls visit(share) for the shares of a closed heap that have lists to go by.
template <class Visit>
void for_each_sound_share(HeapRecord& record, Visit visit) noexcept {
  for (ThreadHeap* h = record.thread_heaps; h != nullptr; h = h->next_of_record) {
    if (!is_lost(*h)) visit(*h);
  }
}

// Calls visit(page) for their pages until it returns something else than 0, and returns that.
template <class Visit>
int for_each_page(HeapRecord& record, Visit visit) noexcept {
  int stop = 0;
  for_each_sound_share(record, [&](ThreadHeap& share) noexcept {
    for (Span* s = share.pages.head(); s != nullptr && stop == 0; s = s->next_of_heap) {
      stop = visit(static_cast<Page&>(*s));
    }
  });
  return stop;
}

// Takes all pages off the share, dead, and puts them on a chain (by next), which is returned. No
// block is touched. The share is as a new one.
Span* take_apart(ThreadHeap& heap, Span* chain) noexcept;

// Empties all lists of the share, whatever is on them.
void forget_pages(ThreadHeap& heap) noexcept;

// Gives back the pages of another thread's share that have no live block. That thread may be
// freeing blocks; a page without live blocks it does not touch.
void retire_empty_pages(ThreadHeap& heap) noexcept;

// Puts down those shares of a closed heap that the calling thread may change: its own, and the one
// that is used under a lock. pre: the calling thread has the heap closed
void put_down_shares_at_hand(HeapRecord& record) noexcept;

// Marks the time in which who has a heap closed changes the lists of its shares: in the child of a
// fork they are lost. Their threads need not be busy then. Does not nest.
class Losing {
 public:
  explicit Losing(HeapRecord& record) noexcept : record_(record) {
    record_.losing = true;
    TARN_FORK_FENCE();
  }
  ~Losing() {
    TARN_FORK_FENCE();
    record_.losing = false;
  }
  Losing(const Losing&) = delete;
  Losing& operator=(const Losing&) = delete;

 private:
  HeapRecord& record_;
};

}  // namespace tarn
