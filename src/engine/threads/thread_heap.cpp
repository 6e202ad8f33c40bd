// thread_heap: see thread_heap.hpp. A page of a class is in one of four places:
//
//        +------------- refill --------------+
//        v                                   |
//     current --full--> asleep --wakes--> queued --empty--> retired (to the store)
//        |                                   ^
//        +------ flush (thread ended) ------+
//
// SPDX-License-Identifier: MIT
#include "engine/threads/thread_heap.hpp"

#include <atomic>
#include <cstdint>

#include "engine/pages/seal.hpp"
#include "engine/records/class_table.hpp"
#include "engine/records/gate.hpp"
#include "engine/records/limits.hpp"
#include "engine/records/live_bytes.hpp"
#include "engine/records/thread_heaps.hpp"
#include "engine/threads/orphans.hpp"
#include "platform/base/check.hpp"
#include "platform/report/misuse.hpp"

namespace tarn {

void page_enqueue(Page& page) noexcept {
  TARN_ASSERT(page.kept == 0);
  const Thread& thread = *page.heap->thread;
  if (TARN_UNLIKELY(thread.state.load(std::memory_order_relaxed) == ThreadState::orphan)) {
    orphans.offer(*page.heap, page.size_class);
  }
  if (page.queued) return;
  TARN_ASSERT(page.heap->current_of(page.size_class) != &page);
  page.queued = true;
  page.heap->bin(page.size_class).queue.push_back(&page);
}

void page_dequeue(Page& page) noexcept {
  TARN_ASSERT(page.queued);
  page.heap->bin(page.size_class).queue.remove(&page);
  page.queued = false;
}

void set_own_current(ThreadHeap& heap, std::size_t size_class, Page* page) noexcept {
  TARN_ASSERT(size_class >= class_count && size_class < bin_count);
  TARN_ASSERT(page == no_page() || page->size_class == size_class);
  Bin& bin = heap.bin(size_class);
  bin.current = page;
  // What was filled is what is emptied: the record may be another one by then.
  const bool fills = page != no_page();
  const Entries entries = fills ? table_entries(*heap.record, size_class) : bin.entries;
  bin.entries = fills ? entries : Entries{};
  for (std::size_t e = entries.first; e < entries.end; ++e) heap.current[e] = page;
}

bool stays(const Page& page, std::size_t going) noexcept {
  return empty_stays(*page.heap->record, page.bytes() + going);
}

void page_unpin(Page& page) noexcept {
  TARN_ASSERT(page.kept == -1);
  TARN_ASSERT(page.countdown != 0 && !page.queued);
  page.countdown -= 1;
  page.kept = 0;
}

void page_tag(const Page& page, bool has_live) noexcept {
  if (!is_mallocs(*page.heap)) return;
  const SliceTag tag = page.heap->thread->cache.tag(page.size_class);
  const auto put = [&](const std::byte* start, std::size_t slices) noexcept {
    has_live ? page_map.retag(start, slices, tag) : page_map.tag(start, slices, tag);
  };
  if (page.block_bytes <= slice_bytes) return put(page.base, page.slices);
  for (std::size_t i = 0; i != page.capacity; ++i) {
    put(page.base + (i * page.block_bytes & ~(slice_bytes - 1)), 1);
  }
}

void page_untag(const Page& page) noexcept {
  if (is_mallocs(*page.heap)) page_map.tag(page.base, page.slices, SliceTag{0});
}

namespace {

// Reports what was written in front of the second block of a page that is to go: of the first one,
// which is nobody's, no free will tell.
TARN_NOINLINE void require_first_whole(const Page& page) noexcept {
  const std::byte* const seal = seal_place(page, page.base);
  const SealWord says = seal_read(seal, page.base);
  if (TARN_LIKELY(says.is_free())) return;
  const HeapRecord& record = *page.heap->record;
  const std::byte* const second = page.base + page.block_bytes;
  const SealWord next = seal_read(seal_place(page, second), second);
  const std::size_t unused = next.is_whole() ? next.unused() : 0;
  report_block_misuse({.kind = Misuse::underrun,
                       .function = "free",
                       .p = seal + says.whole_bytes(),
                       .start = second,
                       .bytes = page.block_bytes - seal_bytes - unused,
                       .heap_name = record.name,
                       .heap_id = record.id.load(std::memory_order_relaxed)});
}

// pre: live() == 0, not current. A page in the mail stays until it is read.
void retire(Page& page) noexcept {
  TARN_ASSERT(page.live() == 0 && page.kept == 0);
  if (stays(page, 0) || !page_kill(&page)) {
    page_enqueue(page);
    return;
  }
  if (page.queued) page_dequeue(page);
  ThreadHeap& heap = *page.heap;
  note_live(heap, page, 0);
  TARN_ASSERT(heap.bin(page.size_class).slices >= page.slices);
  heap.bin(page.size_class).slices -= page.slices;
  heap.pages.remove(&page);
  const std::size_t bytes = page.bytes();
  page_untag(page);
  if (TARN_UNLIKELY(page.reserved != 0)) require_first_whole(page);
  page_give(&page, heap.record->source);
  if (heap.record != &main_record) uncharge(*heap.record, bytes);
  if (TARN_UNLIKELY(heap.left_over) && heap.pages.empty()) note_emptied(heap);
}

}  // namespace

void page_place(Page& page) noexcept {
  note_live(*page.heap, page, page.live());
  if (page.live() == 0) {
    retire(page);
  } else {
    page_enqueue(page);
  }
}

namespace {

void settle_mailed(Page& page) noexcept {
  TARN_ASSERT(page.kind_now() == SpanKind::page && page.heap != nullptr);
  HeapRecord& record = *page.heap->record;
  if (TARN_UNLIKELY(&record != &main_record) && keeps_off(record)) {
    return page.heap->thread->mail.push(page, page);  // It waits until the exclusive section ends.
  }
  if (page.heap->current_of(page.size_class) == &page) {
    page_attach(&page, page_collect(&page, RemoteState::open));
    return;
  }
  page_settle(&page, true);
  page_place(page);
}

}  // namespace

void page_attention(Page& page) noexcept {
  TARN_ASSERT(page.countdown == 0 && page.kept >= 0);
  if (page.kept > 0) {
    page_count_all(&page);
    note_live(*page.heap, page, page.countdown);
    page_enqueue(page);
    return;
  }
  retire(page);
}

void page_freed(Page& page, Block* first, Block* last, std::uint32_t count) noexcept {
  TARN_ASSERT(page.is_block(first) && page.is_block(last) && count <= page.live());
  last->next = page.local_free;
  page.local_free = first;
  if (TARN_LIKELY(count < page.countdown)) {
    page.countdown -= count;
    return;
  }
  page_count_all(&page);  // Not the current page: that has a pin.
  page.countdown -= count;
  page_place(page);
}

void read_mail(Thread& thread) noexcept {
  Page* page = thread.mail.take();
  TARN_ASSERT_EVERY(16, mail_check(thread, page));
  thread.mail.count_read();
  while (page != nullptr) {
    auto* const next = static_cast<Page*>(page->newer);  // Before the page may be posted again.
    settle_mailed(*page);
    page = next;
  }
}

namespace {

// True when the entry holds a page of the class that serves it.
bool entry_is_right(const ThreadHeap& heap, std::size_t entry) noexcept {
  const Page* const page = heap.current[entry];
  if (page == no_page()) return true;
  if (page == nullptr) return false;
  const Bin* const bin = heap.find_bin(page->size_class);
  if (bin == nullptr) return false;
  if (page->size_class < class_count) return page->size_class == entry;
  return bin->current == page && entry >= bin->entries.first && entry < bin->entries.end;
}

// The page that serves the class now, if all places agree on it; else null.
const Page* checked_current(const ThreadHeap& heap, const Bin& bin, std::size_t c) noexcept {
  if (c < class_count) return heap.current[c]->size_class == c ? heap.current[c] : no_page();
  for (std::size_t e = bin.entries.first; e < bin.entries.end; ++e) {
    if (heap.current[e] != bin.current) return nullptr;
  }
  const bool has_entries = bin.entries.first != bin.entries.end;
  return bin.current == no_page() && has_entries ? nullptr : bin.current;
}

}  // namespace

bool thread_heap_check(const ThreadHeap& heap) noexcept {
  std::size_t counted = 0;
  for (std::size_t c = 0; c < class_count; ++c) {
    if (!entry_is_right(heap, c)) return false;
  }
  for (std::size_t c = 0; c < bin_count; ++c) {
    const Bin* const bin = heap.find_bin(c);
    if (bin == nullptr) continue;
    const Page* const page = checked_current(heap, *bin, c);
    if (page == nullptr) return false;
    if (page != no_page() && (page->kept != -1 || page->queued || !page_check(page))) return false;
    counted += bin->slices;
    if (!bin->queue.check()) return false;
    for (const Span* s = bin->queue.head(); s != nullptr; s = s->next) {
      const auto* const queued = static_cast<const Page*>(s);
      if (!queued->queued || queued->kept != 0 || queued->size_class != c) return false;
      if (queued->heap != &heap || !page_check(queued)) return false;
    }
  }
  if (!heap.pages.check()) return false;
  for (const Span* s = heap.pages.head(); s != nullptr; s = s->next_of_heap) {
    const auto* const page = static_cast<const Page*>(s);
    if (page->heap != &heap || page->kind_now() != SpanKind::page) return false;
    if (counted < page->slices) return false;
    counted -= page->slices;
  }
  return counted == 0;
}

}  // namespace tarn
