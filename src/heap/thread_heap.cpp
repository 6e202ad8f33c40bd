// thread_heap: see thread_heap.hpp. A page of a class is in one of four places:
//
//        +------------- refill --------------+
//        v                                   |
//     current --full--> asleep --wakes--> queued --empty--> retired (to the store)
//        |                                   ^
//        +---- put down (thread ended) ------+
//
// SPDX-License-Identifier: MIT
#include "heap/thread_heap.hpp"

#include "base/check.hpp"
#include "heap/orphans.hpp"
#include "heap/process.hpp"
#include "layout/page_plan.hpp"
#include "source/store.hpp"

namespace tarn {

namespace {

// Live bytes that a thread may know of and the process's total not.
constexpr std::int64_t live_delta_max = 32 * 1024;

// Blocks that were freed go before memory that was never touched: a page with nothing but uncarved
// room waits behind the others. Pages taken over from ended threads may have such room too, so the
// search is bounded.
constexpr int put_backs_max = 2;

void note_live(Thread& thread, Page& page, std::uint32_t live) noexcept {
  thread.live_delta += (std::int64_t{live} - std::int64_t{page.live_seen}) * page.block_bytes;
  page.live_seen = live;
  if (thread.live_delta > live_delta_max || thread.live_delta < -live_delta_max) {
    publish_live(thread);
  }
}

void enqueue(ThreadHeap& heap, Page& page) noexcept {
  if (page.queued) return;
  page.queued = true;
  heap.queue[page.size_class].push_back(&page);
}

void dequeue(ThreadHeap& heap, Page& page) noexcept {
  heap.queue[page.size_class].remove(&page);
  page.queued = false;
}

// pre: live() == 0, not current. A page in the mail stays until it is read.
void retire(Thread& thread, Page& page) noexcept {
  if (!page_kill(&page)) {
    enqueue(thread.heap, page);
    return;
  }
  if (page.queued) dequeue(thread.heap, page);
  note_live(thread, page, 0);
  --thread.heap.pages[page.size_class];
  page_give(&page);
}

// Puts a settled page where it belongs.
void place(Thread& thread, Page& page) noexcept {
  note_live(thread, page, page.live());
  if (page.live() == 0) {
    retire(thread, page);
  } else {
    enqueue(thread.heap, page);
  }
}

void note_handed(Thread& thread, Page& page, std::uint32_t handed) noexcept {
  thread.heap.counts[page.size_class].handed.add(handed);
  note_live(thread, page, page.countdown - 1 + handed);
}

// Turns the freed blocks of a current page into its free list; false when there are none.
bool reuse_freed(Thread& thread, Page& page) noexcept {
  if (page.free != nullptr) return true;
  if (page.local_free == nullptr) {
    const Remote seen{page.remote.load(std::memory_order_relaxed)};
    if (seen.count() != 0) page_attach(&page, page_collect_unless_mailed(&page, RemoteState::open));
    if (page.local_free == nullptr) return false;
  }
  page.free = page.local_free;
  page.local_free = nullptr;
  note_handed(thread, page, page.carved + 1 - page.countdown);  // All that is not live.
  return true;
}

void carve(Thread& thread, Page& page) noexcept { note_handed(thread, page, page_carve(&page)); }

// Pins a page that is on no queue as the current one of its class.
void make_current(Thread& thread, Page& page) noexcept {
  TARN_ASSERT(page.kept == 0 && !page.queued);
  page.countdown += 1;
  page.kept = -1;
  thread.heap.current[page.size_class] = &page;
}

void unpin(Page& page) noexcept {
  TARN_ASSERT(page.kept == -1);
  page.countdown -= 1;
  page.kept = 0;
}

// Puts a current page that has room left aside, behind the others.
void put_back(Thread& thread, Page& page) noexcept {
  thread.heap.current[page.size_class] = no_page();
  unpin(page);
  page_settle(&page, false);
  place(thread, page);
}

// Puts a page with no free block to sleep. False when frees came in meanwhile: it goes on.
bool put_to_sleep(Thread& thread, Page& page) noexcept {
  unpin(page);
  const std::uint32_t threshold = page_threshold(&page);
  if (!page_list(&page, threshold)) {
    make_current(thread, page);
    return false;
  }
  const std::uint32_t live = page.countdown;
  const std::uint32_t wakes = threshold < live ? threshold : live;
  page.countdown = wakes;
  page.kept = static_cast<std::int32_t>(live - wakes);
  thread.heap.current[page.size_class] = no_page();
  return true;
}

Page* take_queued(Thread& thread, std::size_t size_class) noexcept {
  auto* const page = static_cast<Page*>(thread.heap.queue[size_class].head());
  if (page == nullptr) return nullptr;
  dequeue(thread.heap, *page);
  page_open(page);
  make_current(thread, *page);
  return page;
}

Page* take_adopted(Thread& thread, std::size_t size_class) noexcept {
  Page* const page = orphans.adopt_page(thread, size_class);
  if (page == nullptr) return nullptr;
  ++thread.heap.pages[size_class];
  make_current(thread, *page);
  return page;
}

Page* take_fresh(Thread& thread, std::size_t size_class) noexcept {
  const std::uint32_t pages = thread.heap.pages[size_class];
  Page* page = page_take(size_class, page_slices(size_class, pages));
  if (page == nullptr) page = page_take(size_class, page_slices(size_class, 0));
  if (page == nullptr) return nullptr;
  page->heap = &thread.heap;
  page->owner.store(&thread, std::memory_order_relaxed);
  ++thread.heap.pages[size_class];
  make_current(thread, *page);
  return page;
}

void settle_mailed(Thread& thread, Page& page) noexcept {
  if (thread.heap.current[page.size_class] == &page) {
    page_attach(&page, page_collect(&page, RemoteState::open));
    return;
  }
  page_settle(&page, true);
  place(thread, page);
}

}  // namespace

Page* refill(Thread& thread, std::size_t size_class) noexcept {
  if (thread.mail.load(std::memory_order_relaxed) != nullptr) read_mail(thread);
  Page* page = thread.heap.current[size_class];
  for (int put_backs = 0;;) {
    if (page != no_page()) {
      if (reuse_freed(thread, *page)) return page;
      if (page->carved == page->capacity) {
        if (!put_to_sleep(thread, *page)) continue;
      } else if (thread.heap.queue[size_class].empty() || put_backs == put_backs_max) {
        carve(thread, *page);
        return page;
      } else {
        put_back(thread, *page);
        ++put_backs;
      }
    }
    page = take_queued(thread, size_class);
    if (page == nullptr) page = take_adopted(thread, size_class);
    if (page == nullptr) page = take_fresh(thread, size_class);
    if (page == nullptr) return nullptr;
  }
}

void page_attention(Thread& thread, Page& page) noexcept {
  if (page.kept > 0) {
    page.countdown = page.live();
    page.kept = 0;
    note_live(thread, page, page.countdown);
    enqueue(thread.heap, page);
    return;
  }
  retire(thread, page);
}

void read_mail(Thread& thread) noexcept {
  // Acquire: pairs with post(). Sequentially consistent for orphans: see post().
  Page* page = thread.mail.exchange(nullptr, std::memory_order_seq_cst);
  while (page != nullptr) {
    auto* const next = static_cast<Page*>(page->newer);  // Before the page may be posted again.
    settle_mailed(thread, *page);
    page = next;
  }
}

void put_down_current_pages(Thread& thread) noexcept {
  for (std::size_t c = 0; c < class_count; ++c) {
    Page* const page = thread.heap.current[c];
    if (page == no_page()) continue;
    thread.heap.current[c] = no_page();
    unpin(*page);
    std::uint64_t unused = 0;  // Handed to `free` and never allocated: not an allocation.
    for (Block* block = page->free; block != nullptr;) {
      Block* const next = block->next;
      block->next = page->local_free;
      page->local_free = block;
      block = next;
      ++unused;
    }
    page->free = nullptr;
    thread.heap.counts[c].handed.add(~unused + 1);
    page_settle(page, false);
    place(thread, *page);  // A full one is queued too: its first refill puts it to sleep.
  }
}

void settle_queues(Thread& thread) noexcept {
  for (List<Span>& queue : thread.heap.queue) {
    for (Span* span = queue.head(); span != nullptr;) {
      auto* const page = static_cast<Page*>(span);
      span = span->next;
      page_settle(page, false);
      place(thread, *page);
    }
  }
}

void put_down_all(Thread& thread) noexcept {
  read_mail(thread);
  put_down_current_pages(thread);
  settle_queues(thread);
}

void publish_live(Thread& thread) noexcept {
  process.add_live(thread.live_delta);
  thread.live_delta = 0;
}

void post(Page* page) noexcept {
  // State mailed holds the owner still: nobody but the receiver moves the page on. The owner was
  // acquired with the remote word.
  Thread* const owner = page->owner.load(std::memory_order_relaxed);
  Page* first = owner->mail.load(std::memory_order_relaxed);
  do {
    page->newer = first;
    // Release: pairs with read_mail. Sequentially consistent with the load below: either this
    // thread sees that the owner has ended, or who ends it sees the mail.
  } while (!owner->mail.compare_exchange_weak(first, page, std::memory_order_seq_cst,
                                              std::memory_order_relaxed));
  if (owner->state.load(std::memory_order_seq_cst) == ThreadState::orphan) orphans.serve(*owner);
}

bool thread_heap_check(const ThreadHeap& heap) noexcept {
  for (std::size_t c = 0; c < class_count; ++c) {
    const Page* const page = heap.current[c];
    if (page == nullptr || !heap.queue[c].check()) return false;
    if (page != no_page() && (page->kept != -1 || page->queued || !page_check(page))) return false;
    for (const Span* s = heap.queue[c].head(); s != nullptr; s = s->next) {
      const auto* const queued = static_cast<const Page*>(s);
      if (!queued->queued || queued->kept != 0 || queued->size_class != c) return false;
      if (queued->heap != &heap || !page_check(queued)) return false;
    }
  }
  return true;
}

}  // namespace tarn
