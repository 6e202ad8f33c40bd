// thread_heap: the slow paths of a thread's pages: refill, wake, retire, mail. All of these are
// called by the owner (or by who holds the orphans' lock, for an orphan) with the thread marked
// busy.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/records/thread.hpp"

namespace tarn {

// Of a class of the heap's own: also in the entries of the requests that the heap's table sends to
// the class.
void set_own_current(ThreadHeap& heap, std::size_t size_class, Page* page) noexcept;

// From now on the page, or no_page(), serves the class. pre: as ThreadHeap::place_of_current()
inline void set_current(ThreadHeap& heap, std::size_t size_class, Page* page) noexcept {
  if (TARN_UNLIKELY(size_class >= class_count)) return set_own_current(heap, size_class, page);
  heap.current[size_class] = page;
}

// A current page of the class with a block on its free list; null when out of memory.
Page* refill(ThreadHeap& heap, std::size_t size_class) noexcept;

// The countdown of a page reached zero: it wakes or retires.
void page_attention(Page& page) noexcept;

// Settles every page in the thread's mail.
void read_mail(Thread& thread) noexcept;

// Makes every current page an ordinary one, so that all remote frees are posted.
void flush_current_pages(ThreadHeap& heap) noexcept;

// Takes in what remote frees have left on queued pages, and retires those that are empty.
void settle_queues(ThreadHeap& heap) noexcept;

// All of the above: mail, current pages, queues. What is empty afterwards has gone to the store.
void flush_all(Thread& thread) noexcept;

// Gives back what is empty of a thread heap of the calling thread, which is busy, or of one that is
// used under a lock.
void flush_thread_heap(ThreadHeap& heap) noexcept;

// Whether an empty page is kept: somebody walks its heap, or the heap has no more than its floor.
// going: bytes that are about to be given back.
bool stays(const Page& page, std::size_t going) noexcept;

// The thread's thread heaps of deleted heaps serve nobody: what they have is given back as it gets
// empty.
void flush_left_over(Thread& thread) noexcept;

bool thread_heap_check(const ThreadHeap& heap) noexcept;

}  // namespace tarn
