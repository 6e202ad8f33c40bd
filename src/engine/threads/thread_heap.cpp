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
#include <initializer_list>
#include <new>

#include "engine/layout/page_plan.hpp"
#include "engine/records/class_table.hpp"
#include "engine/records/gate.hpp"
#include "engine/records/limits.hpp"
#include "engine/records/live_bytes.hpp"
#include "engine/records/thread_heaps.hpp"
#include "engine/threads/orphans.hpp"
#include "platform/base/check.hpp"

namespace tarn {

namespace {

// Blocks that were freed are used before memory that was never touched: a page with nothing but
// uncarved room waits behind the others. Pages taken over from ended threads may have such room
// too, so the search is bounded.
constexpr int put_backs_max = 2;

void enqueue(Page& page) noexcept {
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

void dequeue(Page& page) noexcept {
  TARN_ASSERT(page.queued);
  page.heap->bin(page.size_class).queue.remove(&page);
  page.queued = false;
}

}  // namespace

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

namespace {

// pre: live() == 0, not current. A page in the mail stays until it is read.
void retire(Page& page) noexcept {
  TARN_ASSERT(page.live() == 0 && page.kept == 0);
  if (stays(page, 0) || !page_kill(&page)) {
    enqueue(page);
    return;
  }
  if (page.queued) dequeue(page);
  ThreadHeap& heap = *page.heap;
  note_live(heap, page, 0);
  TARN_ASSERT(heap.bin(page.size_class).pages != 0);
  --heap.bin(page.size_class).pages;
  heap.pages.remove(&page);
  const std::size_t bytes = page.bytes();
  page_give(&page, heap.record->source);
  if (heap.record != &main_record) uncharge(*heap.record, bytes);
  if (TARN_UNLIKELY(heap.left_over) && heap.pages.empty()) note_emptied(heap);
}

// Puts a settled page where it belongs.
void place(Page& page) noexcept {
  note_live(*page.heap, page, page.live());
  if (page.live() == 0) {
    retire(page);
  } else {
    enqueue(page);
  }
}

void note_handed(Page& page, std::uint32_t handed) noexcept {
  TARN_ASSERT(page.kept == -1 && handed <= page.capacity);
  ThreadHeap& heap = *page.heap;
  heap.bin(page.size_class).counts.handed.add(handed);
  note_live(heap, page, page.countdown - 1 + handed);
}

// Turns the freed blocks of a current page into its free list; false when there are none.
bool reuse_freed(Page& page) noexcept {
  if (page.free != nullptr) return true;
  if (page.local_free == nullptr) {
    const Remote seen{page.remote.load(std::memory_order_relaxed)};
    if (seen.count() != 0) page_attach(&page, page_collect_unless_mailed(&page, RemoteState::open));
    if (page.local_free == nullptr) return false;
  }
  page.free = page.local_free;
  page.local_free = nullptr;
  note_handed(page, page.carved + 1 - page.countdown);  // All that is not live.
  return true;
}

void carve(Page& page) noexcept { note_handed(page, page_carve(&page)); }

void unpin(Page& page) noexcept {
  TARN_ASSERT(page.kept == -1);
  TARN_ASSERT(page.countdown != 0 && !page.queued);
  page.countdown -= 1;
  page.kept = 0;
}

// Puts a current page that has room left aside, behind the others.
void put_back(Page& page) noexcept {
  set_current(*page.heap, page.size_class, no_page());
  unpin(page);
  page_settle(&page, false);
  place(page);
}

// Pins a page that is on no queue as the current one of its class.
void make_current(Page& page) noexcept {
  TARN_ASSERT(page.kept == 0 && !page.queued);
  page.countdown += 1;
  page.kept = -1;
  set_current(*page.heap, page.size_class, &page);
}

// The number of freed blocks of a current page whose room is used up, as far as the owner knows.
std::uint32_t freed_of(const Page& page) noexcept { return page.capacity + 1 - page.countdown; }

// A page with fewer freed blocks than this would soon be here again, and again with fewer. While
// pages wait that have more, it sleeps until it has as many. That costs as much as some refills, so
// small pages are not left.
constexpr std::uint32_t left_capacity_least = 256;
constexpr std::uint32_t left_part = 8;

bool is_better_left(const Page& page) noexcept {
  return page.capacity >= left_capacity_least && page.carved == page.capacity &&
         freed_of(page) < page.capacity / left_part && page.free == nullptr &&
         !page.heap->bin(page.size_class).queue.empty();
}

// Puts a page with few free blocks, or none, to sleep. False when others have freed some meanwhile:
// it goes on with these.
bool put_to_sleep(Page& page) noexcept {
  TARN_ASSERT(page.free == nullptr);
  // In the child of a fork a page of a vanished thread may have one block that is on a list and
  // counted: see "Fork" in docs/design/heap.md.
  if (TARN_UNLIKELY(page.live() > page.capacity)) page.countdown = page.capacity + 1;
  const std::uint32_t freed = freed_of(page);
  unpin(page);
  const std::uint32_t enough = page_threshold(&page);
  const std::uint32_t threshold = freed < enough ? enough - freed : 1;
  // Before it is listed: from then on it may be in the mail and not current, and a purger asks
  // whether all that is counted here is free.
  const std::uint32_t live = page.countdown;
  const std::uint32_t wakes = threshold < live ? threshold : live;
  TARN_ASSERT(wakes != 0 && wakes <= live);
  page.countdown = wakes;
  page.kept = static_cast<std::int32_t>(live - wakes);
  if (!page_list(&page, threshold)) {
    page_count_all(&page);
    make_current(page);
    page_attach(&page, page_collect_unless_mailed(&page, RemoteState::open));
    return false;
  }
  set_current(*page.heap, page.size_class, no_page());
  note_live(*page.heap, page, live);
  return true;
}

// False when out of memory.
bool provide_bin(ThreadHeap& heap, std::size_t size_class) noexcept {
  TARN_ASSERT(size_class < bin_count);
  std::atomic<BinGroup*>& group = heap.groups[size_class / group_bins];
  if (TARN_LIKELY(group.load(std::memory_order_relaxed) != nullptr)) return true;
  void* const memory = heap.record->source.allocate_record(sizeof(BinGroup));
  if (memory == nullptr) return false;
  group.store(new (memory) BinGroup, std::memory_order_release);  // Pairs with find_bin().
  return true;
}

Page* take_queued(ThreadHeap& heap, std::size_t size_class) noexcept {
  Span* s = heap.bin(size_class).queue.head();
  while (s != nullptr && TARN_UNLIKELY(!page_use(static_cast<Page*>(s)))) s = s->next;
  if (s == nullptr) return nullptr;
  auto* const page = static_cast<Page*>(s);
  TARN_ASSERT(page->heap == &heap && page->size_class == size_class);
  dequeue(*page);
  make_current(*page);
  return page;
}

Page* take_adopted(ThreadHeap& heap, std::size_t size_class) noexcept {
  Page* const page = orphans.adopt_page(heap, size_class);
  if (page == nullptr) return nullptr;
  TARN_ASSERT(page->size_class == size_class && page->heap == &heap && !page->queued);
  ++heap.bin(size_class).pages;
  heap.pages.push_front(page);
  make_current(*page);
  return page;
}

// Takes a page that is charged; null when a ceiling (refused_by) or the OS refuses.
Page* take_charged(ThreadHeap& heap, std::size_t size_class, std::size_t block_bytes,
                   std::size_t slices) noexcept {
  TARN_ASSERT(slices != 0);
  heap.refused_by = charge(*heap.record, slices << slice_shift);
  if (heap.refused_by != nullptr) return nullptr;
  Page* const page = page_take(size_class, block_bytes, slices, heap.record->source);
  if (page == nullptr) cancel_charge(*heap.record, slices << slice_shift);
  return page;
}

Page* take_for_main(std::size_t size_class, std::size_t pages) noexcept {
  Page* const page = page_take(size_class, page_slices(size_class, pages));
  return page != nullptr ? page : page_take(size_class, page_slices(size_class, 0));
}

Page* take_for_other(ThreadHeap& heap, std::size_t size_class, std::size_t pages) noexcept {
  const std::size_t bytes = block_bytes_of(*heap.record, size_class);
  std::size_t slices = heap_page_slices(bytes, pages);
  Page* page = take_charged(heap, size_class, bytes, slices);
  // What a ceiling leaves may do for a first page, or for a single block.
  for (const std::size_t less : {heap_page_slices(bytes, 0), slices_for(bytes)}) {
    if (page != nullptr) return page;
    if (less >= slices) continue;
    slices = less;
    page = take_charged(heap, size_class, bytes, slices);
  }
  return page;
}

Page* take_fresh(ThreadHeap& heap, std::size_t size_class) noexcept {
  std::uint32_t& pages = heap.bin(size_class).pages;
  Page* const page = heap.record == &main_record ? take_for_main(size_class, pages)
                                                 : take_for_other(heap, size_class, pages);
  if (page == nullptr) return nullptr;
  TARN_ASSERT(page->size_class == size_class && page->live() == 0);
  page->set_heap(&heap);
  page->owner.store(heap.thread, std::memory_order_relaxed);
  ++pages;
  heap.pages.push_front(page);
  make_current(*page);
  return page;
}

// The last resort: a page that sleeps although it has a few free blocks. Looks at all pages.
Page* take_asleep(ThreadHeap& heap, std::size_t size_class) noexcept {
  for (Span* s = heap.pages.head(); s != nullptr; s = s->next_of_heap) {
    auto& page = *static_cast<Page*>(s);
    if (page.size_class != size_class || page.kept <= 0) continue;
    const Remote seen{page.remote.load(std::memory_order_relaxed)};
    // By the lists: after a fork the count may be one off. All is carved, and `free` was empty.
    if (page.local_free == nullptr && seen.count() == 0) continue;
    page_settle(&page, false);
    if (!page_open(&page)) {  // In the mail: its receiver goes first.
      enqueue(page);
      continue;
    }
    make_current(page);
    return &page;
  }
  return nullptr;
}

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
  place(page);
}

}  // namespace

Page* refill(ThreadHeap& heap, std::size_t size_class) noexcept {
  Thread& thread = *heap.thread;
  TARN_ASSERT(size_class < bin_count && &heap != &empty_view);
  TARN_ASSERT(&thread == &locked_owner || thread.busy.load(std::memory_order_relaxed));
  if (!thread.mail.is_empty()) read_mail(thread);
  if (TARN_UNLIKELY(thread.has_left_over.load(std::memory_order_relaxed))) {
    flush_left_over(thread);
  }
  if (TARN_UNLIKELY(!provide_bin(heap, size_class))) return nullptr;
  Page* page = heap.current_of(size_class);
  for (int put_backs = 0;;) {
    if (page != no_page()) {
      const bool left = is_better_left(*page);
      if (!left && reuse_freed(*page)) return page;
      if (left || page->carved == page->capacity) {
        if (!put_to_sleep(*page)) continue;
      } else if (heap.bin(size_class).queue.empty() || put_backs == put_backs_max) {
        carve(*page);
        return page;
      } else {
        put_back(*page);
        ++put_backs;
      }
    }
    page = take_queued(heap, size_class);
    if (page == nullptr) page = take_adopted(heap, size_class);
    if (page == nullptr) page = take_fresh(heap, size_class);
    if (page == nullptr) page = take_asleep(heap, size_class);
    if (page == nullptr) return nullptr;
  }
}

Page* refill_for(ThreadHeap& heap, std::size_t size_class, std::size_t bytes) noexcept {
  Page* const page = refill(heap, size_class);
  if (TARN_UNLIKELY(page == nullptr)) return nullptr;
  ClassCounts& counts = heap.bin(size_class).counts;
  counts.sampled.add(1);
  counts.sampled_bytes.add(bytes);
  return page;
}

void page_attention(Page& page) noexcept {
  TARN_ASSERT(page.countdown == 0 && page.kept >= 0);
  if (page.kept > 0) {
    page_count_all(&page);
    note_live(*page.heap, page, page.countdown);
    enqueue(page);
    return;
  }
  retire(page);
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

void flush_current_pages(ThreadHeap& heap) noexcept {
  for (std::size_t c = 0; c < bin_count; ++c) {
    if (heap.find_bin(c) == nullptr) continue;
    Page* const page = heap.current_of(c);
    if (page == no_page() || page->size_class != c) continue;  // Or it is its table class's entry.
    set_current(heap, c, no_page());
    unpin(*page);
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
    heap.bin(c).counts.handed.add(~unused + 1);
    page_settle(page, false);
    place(*page);  // A full one is queued too: its first refill puts it to sleep.
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
      place(*page);
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
    counted += bin->pages;
    if (!bin->queue.check()) return false;
    for (const Span* s = bin->queue.head(); s != nullptr; s = s->next) {
      const auto* const queued = static_cast<const Page*>(s);
      if (!queued->queued || queued->kept != 0 || queued->size_class != c) return false;
      if (queued->heap != &heap || !page_check(queued)) return false;
    }
  }
  if (!heap.pages.check()) return false;
  for (const Span* s = heap.pages.head(); s != nullptr; s = s->next_of_heap, --counted) {
    const auto* const page = static_cast<const Page*>(s);
    if (page->heap != &heap || page->kind_now() != SpanKind::page || counted == 0) return false;
  }
  return counted == 0;
}

}  // namespace tarn
