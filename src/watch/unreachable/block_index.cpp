// block_index: see block_index.hpp.
//
// Threads may stand still in the middle of anything. On hit paths, a block that they are about to
// hand out or take back is in their registers, so it counts as reached. On slow paths free blocks
// may be on no list, or live ones known by a number alone. So blocks of pages that a thread is at
// work on are not listed; blocks outside pages count as reached while their heap's lock is held;
// and a thread that has the descriptor of a large block has the block.
//
// SPDX-License-Identifier: MIT
#include "watch/unreachable/block_index.hpp"

#include "engine/records/thread.hpp"
#include "engine/threads/orphans.hpp"
#include "heaps/checked/places.hpp"
#include "heaps/hardened/hardened.hpp"
#include "heaps/heap/registry.hpp"
#include "platform/os/process.hpp"

namespace tarn {

namespace {

// Calls visit(span, is_in_region) for every descriptor of the store and of regions.
template <class Visit>
void for_each_span_anywhere(Visit visit) noexcept {
  store.for_each_span([&](Span* span) noexcept { visit(span, false); });
  registry.for_each_region_span([&](Span* span) noexcept { visit(span, true); });
}

// Calls visit(start, bytes) for the chunks of heaps that have memory of their own.
template <class Visit>
void for_each_chunk(Visit visit) noexcept {
  registry.for_each(
      [&](const HeapRecord& record) noexcept { record.source.for_each_own_chunk(visit); });
}

// Whether addresses lead to the span. In a region there may be no such way without a lock.
bool is_known(const Span* span, bool is_in_region) noexcept {
  return is_in_region || page_map.span_of(span->base) == span;
}

// The heap that has the blocks of a record.
HeapRecord* living(HeapRecord* record) noexcept {
  // A deleted heap's mixed page and checked blocks stay with its record, but the blocks are
  // malloc's.
  return record->id.load(std::memory_order_relaxed) == 0 ? &main_record : record;
}

// The heap whose blocks the span has; null when it has none.
HeapRecord* record_with_blocks(const Span* span, bool is_in_region) noexcept {
  const auto* const page = static_cast<const Page*>(span);
  switch (span->kind_now()) {
    case SpanKind::page: {
      const ThreadHeap* const thread_heap = page->heap_now();
      return thread_heap == nullptr || page->block_bytes == 0 ? nullptr
                                                              : living(thread_heap->record);
    }
    case SpanKind::mixed:
    case SpanKind::checked:
    case SpanKind::lone:
    case SpanKind::large: {
      HeapRecord* const record = page->record_now();
      return record == nullptr || !is_known(span, is_in_region) ? nullptr : living(record);
    }
    default: return nullptr;
  }
}

BlockRangeKind kind_of(SpanKind kind) noexcept {
  switch (kind) {
    case SpanKind::page: return BlockRangeKind::page;
    case SpanKind::mixed: return BlockRangeKind::mixed;
    case SpanKind::checked: return BlockRangeKind::checked;
    case SpanKind::lone: return BlockRangeKind::lone;
    default: return BlockRangeKind::large;
  }
}

// How many places for blocks the span has.
std::uint32_t places_of(const Page& page) noexcept {
  switch (page.kind_now()) {
    case SpanKind::page: return page.carved;
    case SpanKind::checked: return page.carved;
    case SpanKind::mixed: return MixedPage::grains;
    default: return 1;
  }
}

const MixedPage& mixed_page_of(const BlockRange& range) noexcept {
  return range.page->record_now()->mixed;
}

std::uint64_t padded(std::uint32_t places) noexcept { return align_up(places, std::size_t{64}); }

}  // namespace

namespace {

[[maybe_unused]] bool lists_are_held() noexcept {
  return registry.lock().held_by_this_thread() && store.lock().held_by_this_thread();
}

}  // namespace

bool is_outside() noexcept {
  return !current_thread->busy.load(std::memory_order_relaxed) &&
         !registry.lock().held_by_this_thread() && !store.lock().held_by_this_thread();
}

bool take_unless_stuck(os::Lock& lock) noexcept {
  constexpr std::uint64_t longest_ms = 200;
  if (lock.held_by_this_thread()) return false;
  std::uint64_t until_ms = 0;
  while (!lock.try_lock()) {
    const std::uint64_t now_ms = os::clock_coarse_ms();
    if (until_ms == 0) until_ms = now_ms + longest_ms;
    if (now_ms > until_ms) return false;
    os::yield();
  }
  TARN_ASSERT(lock.held_by_this_thread());
  return true;
}

bool hold_lists() noexcept {
  TARN_ASSERT(!store.lock().held_by_this_thread());
  if (!take_unless_stuck(registry.lock())) return false;
  if (take_unless_stuck(store.lock())) return true;
  registry.lock().unlock();
  return false;
}

bool try_hold_lists() noexcept {
  if (!registry.lock().try_lock()) return false;
  if (store.lock().try_lock()) return true;
  registry.lock().unlock();
  return false;
}

void let_lists_go() noexcept {
  TARN_ASSERT(lists_are_held());
  store.lock().unlock();
  registry.lock().unlock();
}

namespace {

// Whether the thread was stopped on a slow path.
bool is_at_work(const Thread& thread) noexcept {
  return thread.state.load(std::memory_order_relaxed) != ThreadState::lost &&
         (thread.busy.load(std::memory_order_relaxed) ||
          thread.inside.load(std::memory_order_relaxed));
}

// Whether a thread may be changing the page's lists, so that it may hold blocks.
bool is_worked_on(const Page& page) noexcept {
  const Thread* owner = page.owner.load(std::memory_order_relaxed);
  if (owner == nullptr || owner == &frozen_owner || owner == &lost_owner) return false;
  if (owner == &hardened_owner) owner = thread_of(page);
  if (owner == &locked_owner) return page.heap_now()->record->lock.is_held();
  if (owner->state.load(std::memory_order_relaxed) == ThreadState::orphan && orphans.is_locked()) {
    return true;
  }
  return is_at_work(*owner);
}

}  // namespace

Rest rest() noexcept {
  TARN_ASSERT(lists_are_held());
  Rest rest = Rest::full;
  for (const Thread* t = orphans.first_known(); t != nullptr; t = t->next_known) {
    if (is_at_work(*t)) rest = Rest::partial;
  }
  registry.for_each([&](const HeapRecord& record) noexcept {
    if (record.lock.is_held()) rest = Rest::partial;
  });
  if (orphans.is_locked()) rest = Rest::partial;
  registry.for_each([&](const HeapRecord& record) noexcept {
    if (record.source.is_locked()) rest = Rest::no;
  });
  store.for_each_span([&](const Span* span) noexcept {
    if (span->kind_now() == SpanKind::moving) rest = Rest::no;
  });
  return rest;
}

bool BlockIndex::begin(Scratch& scratch) noexcept {
  TARN_ASSERT(lists_are_held());
  TARN_ASSERT(scratch_ == nullptr && range_end_ == first_range_);
  scratch_ = &scratch;
  std::uint64_t count = 0;
  std::uint64_t bits = 0;
  for_each_span_anywhere([&](const Span* span, bool in_region) noexcept {
    if (record_with_blocks(span, in_region) == nullptr) return;
    ++count;
    bits += padded(places_of(*static_cast<const Page*>(span)));
  });
  std::uint64_t chunks = 0;
  for_each_chunk([&](const std::byte*, std::size_t) noexcept { ++chunks; });
  root_ = scratch.take_array<std::uint32_t*>(root_entries);
  ranges_ = scratch.take_array<BlockRange>(first_range_ + count);
  bits_ = scratch.take_array<std::uint64_t>(bits / 64 * 2);
  hosts_ = scratch.take_array<Spot>(chunks);
  if (root_ == nullptr || ranges_ == nullptr || bits_ == nullptr || hosts_ == nullptr ||
      count > UINT32_MAX / 2) {
    return false;
  }
  room_ = {count, bits, chunks};
  lowest_ = UINTPTR_MAX;
  // The memory of a heap may lie in a block of another one, so what is inside is added last.
  if (!add_all_own() || !add_ranges(false) || !add_chunks() || !add_ranges(true)) return false;
  strike_at_hand();
  if (!make_descriptors()) return false;
  for (std::uint64_t i = 0; i < bit_count_ / 64; ++i) {
    live_count_ += static_cast<std::uint64_t>(__builtin_popcountll(bits_[2 * i]));
  }
  TARN_ASSERT(check());
  return true;
}

// Adds the spans of heaps that have memory of their own (apart), or those of all others.
bool BlockIndex::add_ranges(bool apart) noexcept {
  bool done = true;
  for_each_span_anywhere([&](const Span* span, bool in_region) noexcept {
    HeapRecord* const record = record_with_blocks(span, in_region);
    if (!done || record == nullptr || record->source.is_store() == apart) return;
    done = add_range(static_cast<const Page&>(*span), record);
  });
  return done;
}

bool BlockIndex::add_range(const Page& page, HeapRecord* record) noexcept {
  const BlockRangeKind kind = kind_of(page.kind_now());
  const bool in_steps = kind == BlockRangeKind::page || kind == BlockRangeKind::checked;
  const std::uint32_t step = kind == BlockRangeKind::mixed ? std::uint32_t{block_align}
                             : in_steps                    ? page.block_bytes
                                                           : 0;
  const std::uint32_t places = places_of(page);
  // Threads that were missed may have made more spans meanwhile.
  if (range_end_ - first_range_ == room_.ranges || bit_count_ + padded(places) > room_.bits) {
    return true;
  }
  TARN_ASSERT(record != nullptr && bit_count_ % 64 == 0);
  BlockRange& range = ranges_[range_end_];
  range = {page.base, bit_count_, step, places, &page, record, kind, true, false};
  if (!set_slices(page.base, page.bytes(), range_end_)) return false;
  ++range_end_;
  bit_count_ += padded(places);
  const std::uintptr_t end = address_of(page.end());
  const std::uintptr_t end_before = extent_ == 0 ? 0 : lowest_ + extent_;
  if (address_of(page.base) < lowest_) lowest_ = address_of(page.base);
  extent_ = (end > end_before ? end : end_before) - lowest_;
  TARN_ASSERT(may_have(address_of(page.base)) && range_end_ - first_range_ <= room_.ranges);
  fill(range);
  if (kind == BlockRangeKind::page) {
    range.is_wanted = range.is_wanted && !is_worked_on(page);
  } else if (page.record_now()->lock.is_held()) {
    range.is_kept = kind != BlockRangeKind::large;
  }
  return true;
}

bool BlockIndex::make_descriptors() noexcept {
  std::size_t count = 0;
  for (std::uint32_t g = first_range_; g < range_end_; ++g) {
    count += ranges_[g].kind == BlockRangeKind::large ? 1 : 0;
  }
  descriptor_bits_ = log2_floor(count + 1) + 2;
  descriptors_ = scratch_->take_array<std::uint32_t>(std::size_t{1} << descriptor_bits_);
  if (descriptors_ == nullptr) return false;
  const std::size_t mask = (std::size_t{1} << descriptor_bits_) - 1;
  TARN_ASSERT(count < mask / 2 + 1);  // So a search meets a free entry.
  for (std::uint32_t g = first_range_; g < range_end_; ++g) {
    if (ranges_[g].kind != BlockRangeKind::large) continue;
    std::size_t i = slot_of(address_of(ranges_[g].page));
    TARN_ASSERT(ranges_[g].places == 1 && i <= mask);
    while (descriptors_[i] != 0) i = (i + 1) & mask;
    descriptors_[i] = g;
  }
  return true;
}

bool BlockIndex::find_by_descriptor(std::uintptr_t address, Spot* spot) const noexcept {
  TARN_ASSERT(descriptors_ != nullptr);
  if (address % alignof(Page) != 0) return false;
  const std::size_t mask = (std::size_t{1} << descriptor_bits_) - 1;
  for (std::size_t i = slot_of(address); descriptors_[i] != 0; i = (i + 1) & mask) {
    if (address_of(ranges_[descriptors_[i]].page) != address) continue;
    TARN_ASSERT(range(descriptors_[i]).kind == BlockRangeKind::large);
    *spot = {descriptors_[i], 0};
    return true;
  }
  return false;
}

// Adds the chunks of heaps, and notes the blocks that contain them: a live heap needs these.
bool BlockIndex::add_chunks() noexcept {
  bool done = true;
  for_each_chunk([&](const std::byte* start, std::size_t bytes) noexcept {
    Spot host{};
    if (find(address_of(start), &host) && host_count_ < room_.chunks) hosts_[host_count_++] = host;
    done = done && add_own(start, bytes);
  });
  return done;
}

bool BlockIndex::set_slices(const std::byte* start, std::size_t bytes,
                            std::uint32_t number) noexcept {
  std::uintptr_t at = address_of(start) >> slice_shift;
  const std::uintptr_t end = (address_of(start) + bytes) >> slice_shift;
  TARN_ASSERT(number == own_ || is_aligned(start, slice_bytes));
  TARN_ASSERT(at >= end || (end - 1) >> (leaf_shift - slice_shift) < root_entries);
  while (at < end) {
    const std::uintptr_t first = at & (leaf_entries - 1);
    const std::uintptr_t rest = leaf_entries - first;
    const std::uintptr_t in_leaf = rest < end - at ? rest : end - at;
    std::uint32_t*& leaf = root_[at >> (leaf_shift - slice_shift)];
    if (leaf == nullptr) leaf = scratch_->take_array<std::uint32_t>(leaf_entries);
    if (leaf == nullptr) return false;
    for (std::uintptr_t i = first; i < first + in_leaf; ++i) leaf[i] = number;
    at += in_leaf;
  }
  TARN_ASSERT(at >= end && (number == own_ || slice_at(address_of(start)) == number));
  return true;
}

bool BlockIndex::add_own(const std::byte* start, std::size_t bytes) noexcept {
  return set_slices(start, bytes, own_);
}

// Adds all slices that are tarn's, with blocks or without.
bool BlockIndex::add_all_own() noexcept {
  bool done = true;
  const auto add = [&](const std::byte* start, std::size_t bytes) noexcept {
    done = done && add_own(start, bytes);
  };
  store.for_each_record_region(add);
  page_map.for_each_leaf(add);
  store.for_each_span([&](const Span* span) noexcept {
    const SpanKind kind = span->kind_now();
    if (kind == SpanKind::idle || kind == SpanKind::moving || span->base == nullptr) return;
    add(span->base, span->bytes());
  });
  return done;
}

// Sets the bits of the live blocks of a range, and counts their bytes.
void BlockIndex::fill(BlockRange& range) noexcept {
  switch (range.kind) {
    case BlockRangeKind::page: fill_page(range); break;
    case BlockRangeKind::mixed: {
      const MixedPage& mixed = mixed_page_of(range);
      if (mixed.page != range.page) break;
      for (std::size_t at = mixed.next_block(0); at != MixedPage::none;
           at = mixed.next_block(at + block_align)) {
        set_live(range, static_cast<std::uint32_t>(at / block_align));
      }
      break;
    }
    case BlockRangeKind::checked:
      for (std::uint32_t i = 0; i < range.places; ++i) {
        if (place_number(range.page, i).note->state() == NoteState::live) set_live(range, i);
      }
      break;
    case BlockRangeKind::lone:
      if (lone_place(range.page).note->state() == NoteState::live) set_live(range, 0);
      break;
    case BlockRangeKind::large: set_live(range, 0); break;
  }
  for (std::uint32_t i = 0; i < range.places; i += 64) {
    const std::uint64_t word = bits_[(range.first_bit + i) / 64 * 2];
    if (word == 0) continue;
    if (range.kind == BlockRangeKind::page) {
      live_bytes_ += static_cast<std::uint64_t>(__builtin_popcountll(word)) * range.place_bytes;
      continue;
    }
    for (std::uint64_t rest = word; rest != 0; rest &= rest - 1) {
      live_bytes_ +=
          bytes_of_block({range_end_ - 1, i + static_cast<std::uint32_t>(__builtin_ctzll(rest))})
              .count();
    }
  }
}

void BlockIndex::fill_page(BlockRange& range) noexcept {
  TARN_ASSERT(range.kind == BlockRangeKind::page && range.place_bytes != 0);
  const Page& page = *range.page;
  if (page_has_no_lists(&page)) return;  // It has no live block.
  for (std::uint32_t i = 0; i < range.places; ++i) set_live(range, i);
  std::uint32_t listed = strike_list(range, page.free);
  listed += strike_list(range, page.local_free);
  const Remote remote{page.remote.load(std::memory_order_relaxed)};
  if (remote.count() != 0) strike_list(range, page.block_at(decode_head(remote.head())));
  if (is_hardened(page)) {  // What threads have freed and hold back.
    for (std::uint32_t i = 0; i < range.places; ++i) {
      if (is_live(range, i) && hardened_is_free(page, page.base + i * range.place_bytes))
        strike(range, i);
    }
  }
  // A fork has left the page half-changed: some blocks may be on no list.
  if (page.owner.load(std::memory_order_relaxed) == &lost_owner) range.is_wanted = false;
  // One block may be on its way from a list to the program or back; then a thread has it. If more
  // are missing, the lists cannot be trusted.
  const std::uint32_t places = range.places - page.reserved;
  if (listed + 1 < places - page.live() && page.live() <= places) {
    range.is_wanted = false;
  }
}

// Clears the bits of the blocks on a list and returns their number. A list that leads astray is
// being changed; it ends there.
std::uint32_t BlockIndex::strike_list(const BlockRange& range, const Block* block) noexcept {
  std::uint32_t count = 0;
  for (; block != nullptr && range.page->is_block(block); block = block->next) {
    const std::size_t i = range.page->offset_of(block) / range.place_bytes;
    if (i >= range.places || !is_live(range, static_cast<std::uint32_t>(i))) break;
    TARN_ASSERT(count < range.places);
    strike(range, static_cast<std::uint32_t>(i));
    ++count;
  }
  return count;
}

// What threads have at hand is free. A thread that is at work may be changing its cache; its
// pages are not wanted.
void BlockIndex::strike_at_hand() noexcept {
  const auto strike_one = [&](const Block* block) noexcept {
    Spot spot{};
    if (!find_start(address_of(block), &spot)) return false;
    const BlockRange& range = ranges_[spot.range];
    if (range.kind != BlockRangeKind::page || !is_live(range, spot.place)) return false;
    strike(range, spot.place);
    live_bytes_ -= range.place_bytes;
    return true;
  };
  for (const Thread* t = orphans.first_known(); t != nullptr; t = t->next_known) {
    for (std::size_t c = 0; c < class_count && !is_at_work(*t); ++c) {
      t->cache.for_each(c, strike_one);
    }
    // These are whole at any moment, and of other threads' pages.
    t->gathered.for_each([&](const GatheredChain& chain) noexcept {
      const Block* block = chain.first;
      while (block != nullptr && strike_one(block)) block = block->next;
    });
  }
}

bool BlockIndex::find_in(const BlockRange& range, std::uint32_t number, std::uintptr_t address,
                         Spot* spot) const noexcept {
  const std::size_t offset = address - address_of(range.base);
  std::uint32_t place = 0;
  if (range.kind == BlockRangeKind::page || range.kind == BlockRangeKind::checked) {
    place = static_cast<std::uint32_t>(offset) / range.place_bytes;
    if (place >= range.places) return false;
  } else if (range.kind == BlockRangeKind::mixed) {
    const std::size_t start = mixed_page_of(range).block_around(offset);
    if (start == MixedPage::none) return false;
    place = static_cast<std::uint32_t>(start / block_align);
  } else if (range.kind == BlockRangeKind::lone) {
    if (address < address_of(lone_place(range.page).start)) return false;
  }
  if (!is_live(range, place)) return false;
  *spot = {number, place};
  return true;
}

os::Bytes BlockIndex::bytes_of_block(Spot spot) const noexcept {
  const BlockRange& range = ranges_[spot.range];
  const std::byte* const start = range.base + std::size_t{spot.place} * range.place_bytes;
  switch (range.kind) {
    case BlockRangeKind::page: return {start, start + range.place_bytes};
    case BlockRangeKind::mixed:
      return {start, start + mixed_page_of(range).size_at(std::size_t{spot.place} * block_align)};
    case BlockRangeKind::checked:
      return {start, start + place_number(range.page, spot.place).note->requested()};
    case BlockRangeKind::lone: {
      const Place place = lone_place(range.page);
      return {place.start, place.start + place.note->requested()};
    }
    case BlockRangeKind::large: break;
  }
  return {range.base, range.base + range.page->bytes()};
}

const void* BlockIndex::site_of(Spot spot) const noexcept {
  TARN_ASSERT(is_live(range(spot.range), spot.place));
  const BlockRange& range = ranges_[spot.range];
  const Note* note = nullptr;
  if (range.kind == BlockRangeKind::checked) note = place_number(range.page, spot.place).note;
  if (range.kind == BlockRangeKind::lone) note = lone_place(range.page).note;
  return note == nullptr ? nullptr : note->allocated_at;
}

}  // namespace tarn
