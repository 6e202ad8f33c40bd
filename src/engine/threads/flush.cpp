// flush: see flush.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/threads/flush.hpp"

#include <atomic>
#include <cstdint>

#include "engine/layout/page_plan.hpp"
#include "engine/records/live_bytes.hpp"
#include "engine/records/thread_heaps.hpp"
#include "engine/threads/cache_care.hpp"
#include "engine/threads/thread_heap.hpp"
#include "platform/base/check.hpp"

namespace tarn {

namespace {

// Pages of smaller blocks are small, unless their class has many.
constexpr std::size_t idle_bytes_min = 2048;

void flush_current_page(ThreadHeap& heap, std::size_t size_class) noexcept {
  Page* const page = heap.current_of(size_class);
  set_current(heap, size_class, no_page());
  page_unpin(*page);
  TARN_ASSERT(page->heap == &heap);
  std::uint64_t unused = 0;  // Handed to `free` and never allocated: not an allocation.
  for (Block* block = page->free; block != nullptr;) {
    Block* const next = block->next;
    block->next = page->local_free;
    page->local_free = block;
    block = next;
    ++unused;
  }
  page->free = nullptr;
  heap.bin(size_class).counts.handed.add(~unused + 1);
  page_settle(page, false);
  page_place(*page);  // A full one is queued too: its first refill puts it to sleep.
}

}  // namespace

void flush_current_pages(ThreadHeap& heap) noexcept {
  if (is_mallocs(heap)) {
    for (std::size_t c = 0; c < class_count; ++c) cache_give_back(*heap.thread, c);
  }
  for (std::size_t c = 0; c < bin_count; ++c) {
    if (heap.find_bin(c) == nullptr) continue;
    const Page* const page = heap.current_of(c);
    if (page == no_page() || page->size_class != c) continue;  // Or it is its table class's entry.
    flush_current_page(heap, c);
  }
}

void retire_idle_pages(ThreadHeap& heap) noexcept {
  TARN_ASSERT(heap.record == &main_record);
  for (std::size_t c = 0; c < class_count; ++c) {
    const Page* const page = heap.current[c];
    if (page == no_page()) continue;
    if (c < class_of(idle_bytes_min) && page->slices <= page_slices_full) continue;
    // Some may have been freed by others since it was looked at.
    const Remote seen{page->remote.load(std::memory_order_relaxed)};
    const Block* const first = heap.thread->cache.lists[c].first;
    const bool is_its = first != nullptr && page_map.span_of(first) == page;
    const std::size_t at_hand = is_its ? heap.thread->cache.count_unreached(c) : 0;
    if (page->live() != seen.count() + at_hand) continue;
    cache_give_back(*heap.thread, c);
    flush_current_page(heap, c);
  }
}

void settle_queues(ThreadHeap& heap) noexcept {
  for (std::size_t c = 0; c < bin_count; ++c) {
    Bin* const bin = heap.find_bin(c);
    if (bin == nullptr) continue;
    for (Span* span = bin->queue.head(); span != nullptr;) {
      auto* const page = static_cast<Page*>(span);
      TARN_ASSERT(page->queued && page->heap == &heap);
      span = span->next;
      page_settle(page, false);
      page_place(*page);
    }
  }
}

void flush_all(Thread& thread) noexcept {
  read_mail(thread);
  flush_current_pages(thread.heap);
  settle_queues(thread.heap);
  TARN_ASSERT(serves_nothing(thread.heap));
  TARN_ASSERT_EVERY(16, counts_may_be_off() || thread_heap_check(thread.heap));
}

// Each thread heap is looked at when its heap has been deleted, and when its last page goes. So a
// program that deletes many heaps, or many of whose deleted heaps still have blocks, pays for none
// of the others.
void flush_left_over(Thread& thread) noexcept {
  thread.has_left_over.store(false, std::memory_order_relaxed);
  ThreadHeap* next = nullptr;
  for (ThreadHeap* thread_heap = thread_heaps.take_left_over(thread); thread_heap != nullptr;
       thread_heap = next) {
    TARN_ASSERT(thread_heap->thread == &thread && thread_heap->record == &main_record);
    next = thread_heap->next_of_record;
    flush_current_pages(*thread_heap);
    settle_queues(*thread_heap);
    thread_heap->left_over = true;
    TARN_ASSERT(serves_nothing(*thread_heap));
    if (thread_heap->pages.empty()) note_emptied(*thread_heap);
  }
  ThreadHeap* const emptied = thread.emptied;
  thread.emptied = nullptr;
  for (ThreadHeap* thread_heap = emptied; thread_heap != nullptr; thread_heap = next) {
    TARN_ASSERT(thread_heap->thread == &thread && thread_heap->pages.empty());
    next = thread_heap->next_of_record;
    thread_heaps.give(*thread_heap);
  }
}

void flush_thread_heap(ThreadHeap& heap) noexcept {
  read_mail(*heap.thread);
  flush_current_pages(heap);
  settle_queues(heap);
  TARN_ASSERT(serves_nothing(heap));
  TARN_ASSERT_EVERY(16, counts_may_be_off() || thread_heap_check(heap));
}

}  // namespace tarn
