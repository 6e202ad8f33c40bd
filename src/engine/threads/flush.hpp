// flush: a thread's pages at hand become ordinary ones, and what is empty goes to the store. All of
// these are called by the owner, with the thread marked busy; for an orphan, by the thread that
// holds the orphans' lock.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/thread.hpp"

namespace tarn {

// Makes every current page an ordinary one, so that remote frees of it are posted.
void flush_current_pages(ThreadHeap& heap) noexcept;

// Gives back the current pages of malloc's heap that are long or have larger blocks, none of which
// is in use or at hand: they are resident, reached or not, where their memory was used before.
void retire_idle_pages(ThreadHeap& heap) noexcept;

// Collects remote frees of queued pages, and retires the pages that are empty.
void settle_queues(ThreadHeap& heap) noexcept;

// Reads the mail, flushes current pages and settles queues. What is empty afterwards has gone to
// the store.
void flush_all(Thread& thread) noexcept;

// Like flush_all(), for one thread heap: it belongs to the calling thread, which is busy, or it is
// used under a lock.
void flush_thread_heap(ThreadHeap& heap) noexcept;

// Flushes the thread's thread heaps of deleted heaps. What they have is given back as it becomes
// empty.
void flush_left_over(Thread& thread) noexcept;

}  // namespace tarn
