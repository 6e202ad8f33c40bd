// exclusive_pages: see exclusive_pages.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/threads/exclusive_pages.hpp"

#include "engine/records/gate.hpp"
#include "engine/records/limits.hpp"
#include "engine/records/live_bytes.hpp"
#include "engine/threads/flush.hpp"
#include "engine/threads/post.hpp"
#include "engine/threads/thread_heap.hpp"
#include "platform/base/check.hpp"
#include "platform/os/thread.hpp"

namespace tarn {

namespace {

void receive_mail_of(Thread& thread, const HeapRecord& record) noexcept {
  Page* page = thread.mail.take();
  TARN_ASSERT(exclusive_to_this_thread(record) && mail_check(thread, page));
  while (page != nullptr) {
    auto* const next = static_cast<Page*>(page->newer);
    if (page->heap->record == &record) {
      page_collect(page, RemoteState::open);
    } else {
      post(page);
    }
    page = next;
  }
}

// A seized page leaves all the lists that it is on.
void take_off(ThreadHeap& heap, Page& page) noexcept {
  Bin& bin = heap.bin(page.size_class);
  TARN_ASSERT(page.heap == &heap && bin.slices >= page.slices);
  if (page.kept == -1) {
    set_current(heap, page.size_class, no_page());
    bin.counts.handed.add(~page_untaken(&page) + 1);  // Handed to `free` and never allocated.
  }
  TARN_ASSERT(!page.queued || page.kept == 0);
  if (page.queued) bin.queue.remove(&page);
  page.queued = false;
  bin.slices -= page.slices;
  heap.pages.remove(&page);
  heap.live_delta -= std::int64_t{page.live_seen} * page.block_bytes;
  page.countdown = 0;
  page.kept = 0;
}

}  // namespace

Span* take_apart(ThreadHeap& heap, Span* chain) noexcept {
  TARN_ASSERT(exclusive_to_this_thread(*heap.record) && heap.record->editing_lists);
  TARN_ASSERT(heap.pages.check());
  for (int rounds = 0; heap.pages.head() != nullptr; ++rounds) {
    if (rounds != 0) os::yield();
    receive_mail_of(*heap.thread, *heap.record);
    for (Span* span = heap.pages.head(); span != nullptr;) {
      auto* const page = static_cast<Page*>(span);
      span = span->next_of_heap;
      TARN_ASSERT(page->heap == &heap);
      if (!page_seize(*page)) continue;  // The thread that frees a block of it is about to post it.
      heap.pages.remove(page);
      heap.live_delta -= std::int64_t{page->live_seen} * page->block_bytes;
      page->owner.store(nullptr, std::memory_order_relaxed);
      page->set_heap(nullptr);
      page->queued = false;
      page->set_kind(SpanKind::large);  // In use by nobody else until the store has it.
      page->next = chain;
      chain = page;
    }
  }
  publish_live(heap);
  forget_pages(heap);
  TARN_ASSERT(heap.pages.empty() && serves_nothing(heap));
  return chain;
}

void forget_pages(ThreadHeap& heap) noexcept {
  heap.current.fill(no_page());
  heap.pages.abandon();
  for (std::size_t c = 0; c < bin_count; ++c) {
    Bin* const bin = heap.find_bin(c);
    if (bin == nullptr) continue;
    bin->current = no_page();
    bin->entries = {};
    bin->queue.abandon();
    bin->slices = 0;
  }
}

void retire_empty_pages(ThreadHeap& heap) noexcept {
  TARN_ASSERT(exclusive_to_this_thread(*heap.record) && heap.thread != current_thread);
  if (!barriers_known()) return;
  Page* empty = nullptr;
  std::size_t going = 0;
  const auto take = [&](Page& page) noexcept {
    take_off(heap, page);
    going += page.bytes();
    page.newer = empty;
    empty = &page;
  };
  // What others have emptied waits in the mail, for as long as its thread does not allocate.
  Page* mail = heap.thread->mail.take();
  TARN_ASSERT(mail_check(*heap.thread, mail));
  while (mail != nullptr) {
    Page& page = *mail;
    mail = static_cast<Page*>(page.newer);
    if (page.heap == &heap && !stays(page, going) && page_seize_empty(page, true)) {
      take(page);
    } else {
      post(&page);
    }
  }
  for (Span* span = heap.pages.head(); span != nullptr;) {
    Page& page = *static_cast<Page*>(span);
    span = span->next_of_heap;
    if (!stays(page, going) && page_seize_empty(page, false)) take(page);
  }
  if (empty == nullptr) return;
  barrier_for_reader();  // Its thread counted a block as free after it was done with it.
  while (empty != nullptr) {
    TARN_ASSERT(empty->live() == 0 && !empty->queued);
    Page* const page = empty;
    empty = static_cast<Page*>(page->newer);
    const std::size_t bytes = page->bytes();
    page_give(page, heap.record->source);
    uncharge(*heap.record, bytes);
  }
}

void flush_thread_heaps_at_hand(HeapRecord& record) noexcept {
  TARN_ASSERT(exclusive_to_this_thread(record));
  const EditingLists editing_lists(record);
  for (ThreadHeap* h = record.first_thread_heap; h != nullptr; h = h->next_of_record) {
    if (h->thread == current_thread) {
      Busy busy(*current_thread);
      flush_thread_heap(*h);
    } else if (h->thread == &locked_owner) {
      flush_thread_heap(*h);
    }
  }
}

}  // namespace tarn
