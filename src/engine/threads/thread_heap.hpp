// thread_heap: the slow paths of a thread's pages: wake, retire, mail; flush.hpp and refill.hpp
// have the others. All of these are called by the owner, with the thread marked busy; for an
// orphan, by the thread that holds the orphans' lock.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/records/thread.hpp"

namespace tarn {

// As set_current(), for a class of the heap's own: also sets the entries of the requests that the
// heap's table sends to the class.
void set_own_current(ThreadHeap& heap, std::size_t size_class, Page* page) noexcept;

// Makes the page, or no_page(), serve the class. pre: as ThreadHeap::place_of_current()
inline void set_current(ThreadHeap& heap, std::size_t size_class, Page* page) noexcept {
  if (TARN_UNLIKELY(size_class >= class_count)) return set_own_current(heap, size_class, page);
  heap.current[size_class] = page;
}

// Puts a page that is not current into the queue of its class, unless it is there, and takes it
// out.
void page_enqueue(Page& page) noexcept;
void page_dequeue(Page& page) noexcept;

// Takes the pin off a page that is not current any more.
void page_unpin(Page& page) noexcept;

// Puts a settled page where it belongs: into the queue, or, without a live block, into the store.
void page_place(Page& page) noexcept;

// Lets frees of the page's blocks go to its thread's cache: tags the slices in which blocks begin.
// Does nothing for thread heaps other than malloc's own. pre: no slice has a tag but those of
// hosted regions, if the page has live blocks
void page_tag(const Page& page, bool has_live) noexcept;
// Not any more. pre: no block of the page is live
void page_untag(const Page& page) noexcept;

// Called when the countdown of a page reaches zero: the page wakes or retires.
void page_attention(Page& page) noexcept;

// The owner frees `count` blocks of the page, linked from `first` to `last`.
void page_freed(Page& page, Block* first, Block* last, std::uint32_t count) noexcept;

// Settles every page in the thread's mail.
void read_mail(Thread& thread) noexcept;

// True when an empty page must stay: its heap is being walked, or has no more than its floor.
// going: bytes that are about to be given back.
bool stays(const Page& page, std::size_t going) noexcept;

// True when the thread heap's lists, its current pages and its counts agree. Walks all pages, and
// the free lists of those that serve. pre: no other thread changes them
bool thread_heap_check(const ThreadHeap& heap) noexcept;

}  // namespace tarn
