// cache_care: see cache_care.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/threads/cache_care.hpp"

#include <algorithm>

#include "engine/threads/thread_heap.hpp"
#include "platform/base/check.hpp"
#include "platform/report/misuse.hpp"

namespace tarn {

namespace {

// A class is being freed when pages with so many blocks have become empty and none was taken.
constexpr std::uint32_t emptied_blocks_most = 60;

// A list takes so many freed blocks at first, and at the least. It takes twice as many when twice
// as many were taken again from one filling to the next, and half as many when hardly any were.
constexpr std::uint32_t freed_first = 15;
constexpr std::uint32_t freed_least = 8;

// And as many as the page gave when it was filled, up to this.
constexpr std::uint32_t instead_most = 256;

// Up to this size a class takes larger blocks.
constexpr std::size_t larger_bytes_max = linear_bytes_max;

// After so many it takes memory, once: as much as their slow paths have cost by then. A class that
// takes so many times as many of its own goes on: its hits hardly notice.
constexpr std::uint32_t larger_most = 64;
constexpr std::uint32_t larger_seldom = 16;

constexpr std::uint32_t freed_most(std::size_t size_class) noexcept {
  const std::size_t blocks = cached_bytes_most / class_block_bytes[size_class];
  return static_cast<std::uint32_t>(std::min(blocks, cached_blocks_most));
}
static_assert(freed_most(class_count - 1) != 0);

// How many freed blocks the list is to take, after what was done with it since it was filled. pre:
// it is empty
std::uint32_t freed_next(const CachedList& list, std::uint32_t now, std::uint32_t most) noexcept {
  if (now == 0) return std::min(freed_first, most);
  const std::uint64_t again = list.taken - list.reached_at;
  if (again >= 2 * now) return std::min(2 * now, most);
  return again < now / 2 ? std::max(now / 2, std::min(freed_least, most)) : now;
}

// True when a page of the class that the thread owns has the block.
bool has_page(const Thread& thread, std::size_t size_class, const Block* block) noexcept {
  if (address_of(block) >> address_bits != 0) return false;
  const auto* const page = static_cast<const Page*>(page_map.span_of(block));
  return page->kind_now() == SpanKind::page && page->size_class == size_class &&
         page->owner.load(std::memory_order_relaxed) == &thread;
}

// Likewise, told by the slice's tag in the usual case.
bool is_listed(const Thread& thread, std::size_t size_class, const Block* block) noexcept {
  if (address_of(block) >> address_bits != 0) return false;
  return TARN_LIKELY(page_map.tag_of(block) == thread.cache.tag(size_class)) ||
         has_page(thread, size_class, block);
}

// Of a list of freed blocks: what a free put there that is no block, or where the link of a block
// leads to which the program has written since.
[[noreturn]] TARN_COLD void report_listed(const Thread& thread, std::size_t size_class,
                                          const Block* block) noexcept {
  if (has_page(thread, size_class, block)) report_misuse(Misuse::invalid_free, "free", block);
  report_broken_list(class_block_bytes[size_class], block);
}

// Gives `count` blocks from `block` on to their pages, neighbours of one page together.
void give(const Thread& thread, std::size_t size_class, Block* block, std::size_t count) noexcept {
  while (count != 0) {
    Block* const first = block;
    TARN_ASSERT(has_page(thread, size_class, first));
    auto* const page = static_cast<Page*>(page_map.span_of(first));
    const std::uintptr_t base = address_of(page->base);
    const std::size_t bytes = page->bytes();
    Block* last;
    std::uint32_t run = 0;
    do {
      if (TARN_UNLIKELY(!is_multiple_of_block(address_of(block) - base, size_class))) {
        report_listed(thread, size_class, block);
      }
      last = block;
      block = block->next;
      ++run;
    } while (run != count && address_of(block) - base < bytes);
    count -= run;
    page_freed(*page, first, last, run);
  }
}

// Takes the freed blocks out of the list, and gives them to their pages. `room` is what the list
// has then.
void give_freed(Thread& thread, std::size_t size_class, std::int64_t room) noexcept {
  CachedList& list = thread.cache.lists[size_class];
  const std::size_t unreached = thread.cache.count_unreached(size_class);
  const std::size_t all = thread.cache.count(size_class);
  TARN_ASSERT(unreached <= all);
  Block* const first = list.first;
  Block* rest = first;
  for (std::size_t i = unreached; i != all; ++i) {
    if (TARN_UNLIKELY(!is_listed(thread, size_class, rest))) {
      report_listed(thread, size_class, rest);
    }
    rest = rest->next;
  }
  list.first = rest;
  list.room = room;
  thread.cache.care[size_class].most =
      static_cast<std::int32_t>(room + static_cast<std::int64_t>(unreached));
  give(thread, size_class, first, all - unreached);
}

// Gives what is left of a page's list back to it: as it is, when the page is at hand and its list
// empty.
void give_unreached(Thread& thread, std::size_t size_class) noexcept {
  CachedList& list = thread.cache.lists[size_class];
  Block* const first = list.first;
  const std::size_t count = thread.cache.count(size_class);
  TARN_ASSERT(count == thread.cache.count_unreached(size_class));
  if (first == nullptr) return;
  list.first = nullptr;
  list.room = std::int64_t{list.room} + static_cast<std::int64_t>(count);
  list.reached_at = list.taken;
  auto* const page = static_cast<Page*>(page_map.span_of(first));
  if (page->free != nullptr || page != thread.heap.current_of(size_class)) {
    return give(thread, size_class, first, count);
  }
  page->free = first;
  page->countdown -= static_cast<std::uint32_t>(count);
  thread.heap.bin(size_class).counts.handed.add(count);
}

}  // namespace

void cache_fill(Thread& thread, Page& page) noexcept {
  const std::size_t size_class = page.size_class;
  CachedList& list = thread.cache.lists[size_class];
  TARN_ASSERT(list.first == nullptr && page.free != nullptr && page.kept == -1);
  std::uint32_t count = 0;
  if (TARN_LIKELY(page.local_free == nullptr &&
                  !is_child_of_fork.load(std::memory_order_relaxed))) {
    count = page.carved + 1 - page.countdown;  // All that is not live; and the page's pin.
  } else {
    // Somebody allocates of malloc's heap by its handle, or a fork left the page half-changed.
    for (const Block* b = page.free; b != nullptr; b = b->next) ++count;
  }
  Block* const first = page.free;
  page.free = nullptr;
  page.countdown += count;
  thread.heap.bin(size_class).counts.handed.add(~std::uint64_t{count} + 1);  // `taken` counts them.
  CachedListCare& care = thread.cache.care[size_class];
  care.freed = freed_next(list, care.freed, freed_most(size_class));
  care.most = static_cast<std::int32_t>(care.freed + std::min(count, instead_most));
  list.room = std::int64_t{care.most} - std::int64_t{count};
  list.reached_at = list.taken + count;
  list.first = first;
}

namespace {

// True when a refill would find blocks without taking memory: freed ones, carved ones, or room on a
// page that was used before.
bool has_blocks(ThreadHeap& heap, std::size_t size_class) noexcept {
  const Bin* const bin = heap.find_bin(size_class);
  if (bin == nullptr) return false;
  if (!bin->queue.empty()) return true;
  const Page& page = *heap.current_of(size_class);
  return page.free != nullptr || page.local_free != nullptr ||
         (page.carved != page.capacity && !page.zeroed) ||
         Remote{page.remote.load(std::memory_order_relaxed)}.count() != 0;
}

// True when a class that has taken so many larger blocks is to take memory.
bool is_time_for_memory(const CachedList& list, CachedListCare& care) noexcept {
  if (care.larger < larger_most) return false;
  const auto taken = static_cast<std::uint32_t>(list.taken);
  const std::uint32_t own = taken - care.larger_from;
  care.larger = 0;
  care.larger_from = taken;
  return own < larger_most * larger_seldom;
}

// From the smallest of the larger classes whose list has at least so many blocks that are not known
// to be unreached.
void* take_larger(Thread& thread, std::size_t size_class, std::size_t bytes,
                  std::size_t least) noexcept {
  ThreadCache& cache = thread.cache;
  const std::size_t size = class_block_bytes[size_class];
  for (std::size_t c = size_class + 1; class_block_bytes[c] <= size + size / larger_part; ++c) {
    if (cache.count(c) < cache.count_unreached(c) + least) continue;
    void* const block = cache_take(cache, c);
    if (block == nullptr) continue;
    thread.heap.bin(c).counts.sample(bytes);
    return block;
  }
  return nullptr;
}

}  // namespace

void* cache_take_larger(Thread& thread, std::size_t size_class, std::size_t bytes) noexcept {
  TARN_ASSERT(thread.busy.load(std::memory_order_relaxed));
  if (class_block_bytes[size_class] > larger_bytes_max) return nullptr;
  if (!thread.mail.is_empty()) read_mail(thread);
  CachedListCare& care = thread.cache.care[size_class];
  if (has_blocks(thread.heap, size_class)) return nullptr;
  if (is_time_for_memory(thread.cache.lists[size_class], care)) return nullptr;
  // One stays: it is what that class would ask for next.
  void* const block = take_larger(thread, size_class, bytes, 2);
  if (block != nullptr) ++care.larger;
  return block;
}

void* cache_take_any_larger(Thread& thread, std::size_t size_class, std::size_t bytes) noexcept {
  if (class_block_bytes[size_class] > larger_bytes_max) return nullptr;
  return take_larger(thread, size_class, bytes, 0);
}

void cache_note_emptied(Thread& thread, std::size_t size_class, std::size_t blocks) noexcept {
  CachedListCare& care = thread.cache.care[size_class];
  const auto taken = static_cast<std::uint32_t>(thread.cache.lists[size_class].taken);
  if (taken != care.emptied_taken) {
    care.emptied_taken = taken;
    care.emptied_blocks = 0;
    return;
  }
  care.emptied_blocks += static_cast<std::uint32_t>(blocks);
  if (care.emptied_blocks < emptied_blocks_most) return;
  // What its page gave beyond the room it had takes no freed blocks now, either.
  const std::int64_t room = thread.cache.lists[size_class].room;
  give_freed(thread, size_class, std::min(room, std::int64_t{0}));
}

namespace {

bool has_freed(const ThreadCache& cache, std::size_t size_class) noexcept {
  return cache.lists[size_class].first != nullptr &&
         cache.count(size_class) != cache.count_unreached(size_class);
}

void give_freed_if_any(Thread& thread, std::size_t size_class) noexcept {
  if (!has_freed(thread.cache, size_class)) return;
  give_freed(thread, size_class, thread.cache.care[size_class].freed);
}

}  // namespace

void cache_empty(Thread& thread) noexcept {
  for (std::size_t c = 0; c < class_count; ++c) {
    give_freed_if_any(thread, c);
    const Block* const first = thread.cache.lists[c].first;
    if (first == nullptr || page_map.span_of(first) == thread.heap.current_of(c)) continue;
    give_unreached(thread, c);
  }
}

void cache_age(Thread& thread) noexcept {
  for (std::size_t c = 0; c < class_count; ++c) {
    const CachedList& list = thread.cache.lists[c];
    if (!has_freed(thread.cache, c)) continue;
    CachedListCare& care = thread.cache.care[c];
    const auto taken = static_cast<std::uint32_t>(list.taken);
    const auto room = static_cast<std::uint32_t>(list.room);
    if (taken == care.seen_taken && room == care.seen_room) {
      give_freed(thread, c, care.freed);
    } else {
      care.seen_taken = taken;
      care.seen_room = room;
    }
  }
}

void cache_give_back(Thread& thread, std::size_t size_class) noexcept {
  if (TARN_UNLIKELY(thread.cache.torn)) return;
  give_freed_if_any(thread, size_class);
  give_unreached(thread, size_class);
}

bool cache_check(const Thread& thread) noexcept {
  if (thread.cache.torn) return true;
  for (std::size_t c = 0; c < class_count; ++c) {
    const CachedList& list = thread.cache.lists[c];
    if (thread.cache.count_unreached(c) > thread.cache.count(c)) return false;
    std::size_t count = 0;
    for (const Block* b = list.first; b != nullptr; b = b->next, ++count) {
      const auto* const page = static_cast<const Page*>(page_map.span_of(b));
      if (page->kind_now() != SpanKind::page || page->size_class != c || !page->is_block(b)) {
        return false;
      }
    }
    if (count != thread.cache.count(c)) return false;
  }
  return true;
}

}  // namespace tarn
