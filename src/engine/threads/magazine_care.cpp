// magazine_care: see magazine_care.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/threads/magazine_care.hpp"

#include <new>

#include "engine/store/store.hpp"
#include "engine/threads/post.hpp"
#include "engine/threads/thread_heap.hpp"
#include "platform/base/check.hpp"

namespace tarn {

namespace {

// A class gets as many slots as it may have when its magazine was full for this time.
constexpr std::uint32_t fills_to_grow = 4;

// A class is being freed in bulk when so many blocks have come and none was taken. A magazine of
// few places is full again and again between two allocations.
constexpr std::size_t run_blocks = magazine_blocks_first;
constexpr std::size_t run_blocks_of_few = 4 * run_blocks;

// Of a full magazine so much stays, the newest: its blocks are warm.
constexpr std::size_t kept_part = 4;

constexpr std::size_t blocks_most(std::size_t size_class) noexcept {
  const std::size_t blocks = magazine_bytes_most / class_block_bytes[size_class];
  return blocks < magazine_blocks_most ? blocks : magazine_blocks_most;
}
static_assert(blocks_most(class_count - 1) != 0);

std::size_t blocks_first(std::size_t size_class) noexcept {
  const std::size_t most = blocks_most(size_class);
  return most < magazine_blocks_first ? most : magazine_blocks_first;
}

// The magazines of the class's group; null when out of memory.
MagazineCare* provide_care(Magazines& magazines, std::size_t size_class) noexcept {
  MagazineCare* const known = magazines.find_care(size_class);
  if (TARN_LIKELY(known != nullptr)) return known;
  void* const memory = store.allocate_record(sizeof(MagazineGroup));
  if (memory == nullptr) return nullptr;
  auto* const group = new (memory) MagazineGroup{};
  const std::size_t first = size_class / magazine_group * magazine_group;
  for (std::size_t i = 0; i < magazine_group && first + i < class_count; ++i) {
    const SlotPointer bottom = group->slots[i].data();
    group->care[i].bottom = bottom;
    group->care[i].places = blocks_first(first + i);
    magazines.top[first + i] = bottom + 1;
    magazines.end[first + i] = bottom + 1;
  }
  // Release: pairs with find_care().
  magazines.groups[size_class / magazine_group].store(group, std::memory_order_release);
  return magazines.find_care(size_class);
}

// Gives a chain to the page of which its blocks are.
void give_chain(const Thread& thread, Page& page, Block* first, Block* last,
                std::uint32_t count) noexcept {
  if (TARN_LIKELY(page.owner.load(std::memory_order_relaxed) == &thread)) {
    page_freed(page, first, last, count);
  } else {  // Its thread vanished in a fork, and another one adopted the page before the record
            // was taken over.
    free_remote(page, first, last, count);
  }
}

// Gives blocks of the thread's to their pages, neighbours of one page together.
void give(const Thread& thread, Block* const* slots, std::size_t count) noexcept {
  Block* const* const end = slots + count;
  while (slots != end) {
    Block* const first = *slots;
    auto* const page = static_cast<Page*>(page_map.span_of(first));
    TARN_ASSERT(page->kind_now() == SpanKind::page && page->is_block(first));
    const std::uintptr_t base = address_of(page->base);
    const std::size_t bytes = page->bytes();
    Block* const* const chain = slots;
    Block* last = first;
    while (++slots != end && address_of(*slots) - base < bytes) {
      last->next = *slots;
      last = *slots;
    }
    give_chain(thread, *page, first, last, static_cast<std::uint32_t>(slots - chain));
  }
}

// Takes the oldest blocks out, and gives them to their pages.
void give_oldest(Thread& thread, std::size_t size_class, const MagazineCare& care,
                 std::size_t count) noexcept {
  Magazines& magazines = thread.magazines;
  const SlotPointer first = SlotPointer{care.bottom} + 1;
  const auto all = static_cast<std::size_t>(SlotPointer{magazines.top[size_class]} - first);
  TARN_ASSERT(count <= all && all <= magazine_blocks_most);
  give(thread, first, count);
  for (std::size_t i = count; i < all; ++i) first[i - count] = first[i];
  magazines.top[size_class] = first + (all - count);
}

// More slots, in memory of the class's own. False, with nothing done, where there is none.
bool grow(Magazines& magazines, std::size_t size_class, MagazineCare& care) noexcept {
  const std::size_t most = blocks_most(size_class);
  if (most <= care.places) return false;
  void* const memory = store.allocate_record((most + 1) * sizeof(Block*));
  if (memory == nullptr) return false;
  const auto bottom = static_cast<SlotPointer>(memory);
  const SlotPointer before = care.bottom;
  const std::size_t count = magazines.count(size_class);
  for (std::size_t i = 0; i <= count; ++i) bottom[i] = before[i];
  care.bottom = bottom;
  care.places = most;
  magazines.top[size_class] = bottom + 1 + count;
  magazines.end[size_class] = bottom + 1 + most;
  return true;
}

void put_to_rest(Thread& thread, std::size_t size_class, const MagazineCare& care) noexcept {
  Magazines& magazines = thread.magazines;
  give_oldest(thread, size_class, care, magazines.count(size_class));
  magazines.end[size_class] = magazines.top[size_class];
  magazines.open[size_class / 64] &= ~(std::uint64_t{1} << size_class % 64);
}

// pre: the magazine is full
void make_room(Thread& thread, std::size_t size_class, MagazineCare& care) noexcept {
  Magazines& magazines = thread.magazines;
  TARN_ASSERT(magazines.count(size_class) == care.places);
  const std::uint64_t taken = magazines.taken[size_class];
  care.run = taken == care.taken_before ? care.run + care.places : 0;
  care.taken_before = taken;
  if (care.run >= (care.places < run_blocks ? run_blocks_of_few : run_blocks)) {
    return put_to_rest(thread, size_class, care);
  }
  if (++care.fills == fills_to_grow && grow(magazines, size_class, care)) return;
  give_oldest(thread, size_class, care, care.places - care.places / kept_part);
}

// Calls visit(size_class, care) for the classes that do not rest; it may put one to rest.
template <class Visit>
void for_each_open(Magazines& magazines, Visit visit) noexcept {
  for (std::size_t i = 0; i < magazines.open.size(); ++i) {
    for (std::uint64_t rest = magazines.open[i]; rest != 0; rest &= rest - 1) {
      const std::size_t c = i * 64 + static_cast<std::size_t>(__builtin_ctzll(rest));
      visit(c, *magazines.find_care(c));
    }
  }
}

}  // namespace

void magazine_wake(Thread& thread, std::size_t size_class) noexcept {
  Magazines& magazines = thread.magazines;
  if (!magazines.rests(size_class) || !magazines.is_served()) return;
  MagazineCare* const care = provide_care(magazines, size_class);
  if (TARN_UNLIKELY(care == nullptr)) return;
  care->taken_before = magazines.taken[size_class];
  care->run = 0;
  magazines.end[size_class] = SlotPointer{care->bottom} + 1 + care->places;
  magazines.open[size_class / 64] |= std::uint64_t{1} << size_class % 64;
}

void magazine_put_full(Thread& thread, std::size_t size_class, Block* block) noexcept {
  TARN_ASSERT(thread.busy.load(std::memory_order_relaxed));
  TARN_ASSERT(!thread.magazines.rests(size_class));
  make_room(thread, size_class, *thread.magazines.find_care(size_class));
  if (!magazine_put(thread.magazines, size_class, block)) give(thread, &block, 1);
  TARN_ASSERT_EVERY(16, magazines_check(thread));
}

void empty_magazines(Thread& thread) noexcept {
  for_each_open(thread.magazines, [&](std::size_t c, const MagazineCare& care) noexcept {
    put_to_rest(thread, c, care);
  });
}

void age_magazines(Thread& thread) noexcept {
  for_each_open(thread.magazines, [&](std::size_t c, MagazineCare& care) noexcept {
    const std::uint64_t taken = thread.magazines.taken[c];
    const SlotPointer top = thread.magazines.top[c];
    if (taken == care.taken && top == care.seen) return put_to_rest(thread, c, care);
    care.taken = taken;
    care.seen = top;
  });
}

bool magazines_check(const Thread& thread) noexcept {
  for (std::size_t c = 0; c < class_count; ++c) {
    const MagazineCare* const care = thread.magazines.find_care(c);
    const bool is_open = (thread.magazines.open[c / 64] >> c % 64 & 1) != 0;
    if (care == nullptr) {
      if (thread.magazines.top[c] != no_top() || thread.magazines.end[c] != no_top()) return false;
      if (is_open) return false;
      continue;
    }
    const SlotPointer bottom = care->bottom;
    const SlotPointer top = thread.magazines.top[c];
    const SlotPointer end = thread.magazines.end[c];
    if (is_open == thread.magazines.rests(c)) return false;
    if (*bottom != nullptr || top <= bottom || top > end) return false;
    if (static_cast<std::size_t>(end - bottom) > blocks_most(c) + 1) return false;
    for (SlotPointer slot = bottom + 1; slot != top; ++slot) {
      const auto* const page = static_cast<const Page*>(page_map.span_of(*slot));
      if (page->kind_now() != SpanKind::page || page->size_class != c) return false;
      if (!page->is_block(*slot)) return false;
    }
  }
  return true;
}

}  // namespace tarn
