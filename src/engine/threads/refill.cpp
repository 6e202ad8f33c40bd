// refill: see refill.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/threads/refill.hpp"

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <new>

#include "engine/layout/page_plan.hpp"
#include "engine/pages/seal.hpp"
#include "engine/records/limits.hpp"
#include "engine/records/live_bytes.hpp"
#include "engine/records/thread_heaps.hpp"
#include "engine/threads/flush.hpp"
#include "engine/threads/orphans.hpp"
#include "engine/threads/thread_heap.hpp"
#include "platform/base/check.hpp"

namespace tarn {

namespace {

// Blocks that were freed are used before memory that was never touched: a page with nothing but
// uncarved room waits behind the others. Pages taken over from ended threads may have such room
// too, so the search is bounded.
constexpr int put_backs_max = 2;

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
  // All that is not live.
  const std::uint32_t freed = page.carved - page.reserved + 1 - page.countdown;
  // A link that was written over may end the list early, which nobody would notice. After a fork
  // the count may be one off.
  if (TARN_UNLIKELY(page.heap->record->hardened) && !orphans.has_vanished()) {
    page_list_end(page, page.local_free, freed);
  }
  page.free = page.local_free;
  page.local_free = nullptr;
  note_handed(page, freed);
  return true;
}

void carve(Page& page) noexcept {
  std::uint32_t count = page_carve(&page);
  if (TARN_UNLIKELY(page.heap->record->hardened)) {
    count = page_seal(page, count);
    if (count == 0) count = page_seal(page, page_carve(&page));  // That was the reserved one.
  }
  note_handed(page, count);
}

// Puts a current page that has room left aside, behind the others.
void put_back(Page& page) noexcept {
  set_current(*page.heap, page.size_class, no_page());
  page_unpin(page);
  page_settle(&page, false);
  page_place(page);
}

// Pins a page that is on no queue as the current one of its class.
void make_current(Page& page) noexcept {
  TARN_ASSERT(page.kept == 0 && !page.queued);
  page.countdown += 1;
  page.kept = -1;
  set_current(*page.heap, page.size_class, &page);
}

// The number of freed blocks of a current page whose room is used up, as far as the owner knows.
std::uint32_t freed_of(const Page& page) noexcept {
  return page.capacity - page.reserved + 1 - page.countdown;
}

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
  const std::uint32_t most = page.capacity - page.reserved;
  if (TARN_UNLIKELY(page.live() > most)) page.countdown = most + 1;
  const std::uint32_t freed = freed_of(page);
  page_unpin(page);
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
  page_dequeue(*page);
  make_current(*page);
  return page;
}

Page* take_adopted(ThreadHeap& heap, std::size_t size_class) noexcept {
  Page* const page = orphans.adopt_page(heap, size_class);
  if (page == nullptr) return nullptr;
  TARN_ASSERT(page->size_class == size_class && page->heap == &heap && !page->queued);
  heap.bin(size_class).slices += page->slices;
  heap.pages.push_front(page);
  page_tag(*page, true);
  make_current(*page);
  return page;
}

// Takes a page that is charged; null when a ceiling (refused_by) or the OS refuses.
Page* take_charged(ThreadHeap& heap, std::size_t size_class, std::size_t block_bytes,
                   std::size_t slices) noexcept {
  TARN_ASSERT(slices != 0);
  heap.refused_by = charge(*heap.record, slices << slice_shift);
  if (heap.refused_by != nullptr) return nullptr;
  Page* const page = page_take(size_class, block_bytes, PageLength(slices), heap.record->source);
  if (page == nullptr) cancel_charge(*heap.record, slices << slice_shift);
  return page;
}

Page* take_for_main(std::size_t size_class, std::size_t has) noexcept {
  const std::size_t bytes = class_block_bytes[size_class];
  const std::size_t slices = main_page_slices(size_class, has);
  const PageLength length(page_slices_least(bytes, slices), slices);
  Page* const page = page_take(size_class, bytes, length);
  return page != nullptr ? page : page_take(size_class, page_slices(size_class, 0));
}

Page* take_for_other(ThreadHeap& heap, std::size_t size_class, std::size_t has) noexcept {
  const std::size_t bytes = block_bytes_of(*heap.record, size_class);
  // A hardened heap serves malloc, and does not end.
  const std::size_t part = heap.record->hardened ? main_long_part : heap_long_part;
  std::size_t slices = heap_page_slices(bytes, has, part);
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
  std::uint32_t& has = heap.bin(size_class).slices;
  Page* const page = heap.record == &main_record ? take_for_main(size_class, has)
                                                 : take_for_other(heap, size_class, has);
  if (page == nullptr) return nullptr;
  TARN_ASSERT(page->size_class == size_class && page->live() == 0);
  page->set_heap(&heap);
  page->owner.store(owner_of_pages(heap), std::memory_order_relaxed);
  has += page->slices;
  heap.pages.push_front(page);
  page_tag(*page, false);
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
      page_enqueue(page);
      continue;
    }
    make_current(page);
    return &page;
  }
  return nullptr;
}

}  // namespace

Page* refill(ThreadHeap& heap, std::size_t size_class) noexcept {
  Thread& thread = *heap.thread;
  TARN_ASSERT(size_class < bin_count && &heap != &empty_view.heap);
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
  heap.bin(size_class).counts.sample(bytes);
  return page;
}

}  // namespace tarn
