// zone: chunks, and the spans in them. What a region has besides is in zone_region.cpp.
//
// SPDX-License-Identifier: MIT
#include "engine/zones/zone.hpp"

#include <cstring>
#include <new>

#include "platform/base/check.hpp"
#include "platform/os/vm.hpp"

namespace tarn {

namespace {

// So many slices of empty chunks stay. So many free slices stay backed, beside a quarter of what is
// in use.
constexpr std::size_t empty_slices_kept = (std::size_t{1} << 20) / slice_bytes + 64;
constexpr std::size_t dirty_slices_kept = (std::size_t{1} << 20) / slice_bytes;

}  // namespace

std::byte* Zone::first_slice_in(Piece piece) noexcept {
  auto* const start = static_cast<std::byte*>(piece.start);
  return start + (align_up(address_of(start), slice_bytes) - address_of(start));
}

std::size_t Zone::slices_in(Piece piece) noexcept {
  const std::size_t before =
      align_up(address_of(piece.start), slice_bytes) - address_of(piece.start);
  return piece.bytes < before ? 0 : (piece.bytes - before) >> slice_shift;
}

std::size_t Zone::chunk_bytes_for(std::size_t slices, std::size_t alignment) noexcept {
  if (slices > span_slices_max || alignment > span_slices_max - slices) return 0;
  const std::size_t room = slices + alignment - 1;
  const std::size_t head = sizeof(Chunk) + cache_line_bytes + sizeof(Zone) + cache_line_bytes;
  // One for the bits of the head's own slices, one for a start that is not aligned.
  const std::size_t head_slices = slices_for(head + SliceBits::bytes_for(room)) + 2;
  return (room + head_slices) << slice_shift;
}

// Puts a head at the start of a chunk, with room for `own_bytes` in it. Null: too small.
Zone::Chunk* Zone::lay_out(Piece piece, std::size_t own_bytes, std::byte** own) noexcept {
  std::byte* const base = first_slice_in(piece);
  const std::size_t slices = slices_in(piece);
  const std::size_t chunk_bytes = align_up(sizeof(Chunk), cache_line_bytes);
  const std::size_t bits_bytes = SliceBits::bytes_for(slices);
  const std::size_t head_slices = slices_for(chunk_bytes + own_bytes + bits_bytes);
  if (head_slices >= slices) return nullptr;
  TARN_ASSERT(own_bytes % cache_line_bytes == 0 && address_of(base) % slice_bytes == 0);
  Chunk* const chunk = new (base) Chunk;
  chunk->base = base;
  chunk->piece = piece;
  chunk->head_slices = chunk->touched = head_slices;
  *own = base + chunk_bytes;
  void* const words = *own + own_bytes;
  memset(words, 0, bits_bytes);
  chunk->bits.begin(static_cast<std::uint64_t*>(words), slices);
  chunk->bits.take(0, head_slices);
  TARN_ASSERT(chunk->empty() && chunk->has(words));
  return chunk;
}

Zone* Zone::begin(Piece piece, const ZoneTraits& traits) noexcept {
  const std::size_t own_bytes = align_up(sizeof(Zone), cache_line_bytes);
  if (traits.region && !may_be_region(piece)) return nullptr;  // Before anything is written there.
  std::byte* own = nullptr;
  Chunk* const chunk = lay_out(piece, own_bytes, &own);
  if (chunk == nullptr) return nullptr;
  Zone* const zone = new (own) Zone;
  zone->traits_ = traits;
  zone->first_ = zone->last_ = chunk;
  if (traits.region) {
    const std::size_t head_end = chunk->head_slices << slice_shift;
    zone->records_ = own + own_bytes + SliceBits::bytes_for(chunk->bits.slices());
    zone->records_end_ = chunk->base + head_end;
    TARN_ASSERT(zone->records_ <= zone->records_end_);
    return zone->begin_region() ? zone : nullptr;
  }
  return zone->prepare(*chunk) ? zone : nullptr;
}

// The head stays as it is on a fork: the child needs it.
bool Zone::prepare(const Chunk& chunk) noexcept {
  const std::size_t bytes = chunk.bits.slices() << slice_shift;
  const std::size_t head_bytes = chunk.head_slices << slice_shift;
  if (traits_.secret && !(os::vm_lock(chunk.base, bytes) &&
                          os::vm_hide(chunk.base + head_bytes, bytes - head_bytes))) {
    return false;
  }
  return store.cover(chunk.base, bytes);
}

bool Zone::add(Piece piece) noexcept {
  TARN_ASSERT(!traits_.region);
  std::byte* unused = nullptr;
  Chunk* const chunk = lay_out(piece, 0, &unused);
  if (chunk == nullptr || !prepare(*chunk)) return false;
  os::Locked locked(lock_);
  TARN_FORK_FENCE();
  TARN_ASSERT(last_->next == nullptr && chunk_of(chunk->base) == nullptr);
  last_->next = chunk;
  last_ = chunk;
  empty_slices_ += chunk->bits.free_slices();
  TARN_ASSERT(check_locked());
  return true;
}

Zone::Chunk* Zone::chunk_of(const void* p) const noexcept {
  Chunk* chunk = first_;
  while (chunk != nullptr && !chunk->has(p)) chunk = chunk->next;
  return chunk;
}

// Gives the descriptor a place; null when there is none.
Span* Zone::take_locked(Span* span, std::size_t slices, std::size_t alignment) noexcept {
  TARN_ASSERT(lock_.held_by_this_thread() && span->kind_now() == SpanKind::large);
  for (Chunk* chunk = first_; chunk != nullptr; chunk = chunk->next) {
    const std::uintptr_t first_slice = address_of(chunk->base) >> slice_shift;
    const std::size_t at = chunk->bits.find(slices, first_slice, alignment);
    if (at == SliceBits::none) continue;
    TARN_ASSERT(at >= chunk->head_slices && (first_slice + at) % alignment == 0);
    if (chunk != first_ && chunk->empty()) empty_slices_ -= chunk->bits.free_slices();
    chunk->bits.take(at, slices);
    used_slices_ += slices;
    span->base = chunk->base + (at << slice_shift);
    span->slices = static_cast<std::uint32_t>(slices);
    span->zeroed = traits_.zeroed && at >= chunk->touched;
    if (at + slices > chunk->touched) chunk->touched = at + slices;
    note_surplus_locked();
    return span;
  }
  return nullptr;
}

Span* Zone::take(std::size_t slices, std::size_t alignment) noexcept {
  if (slices > span_slices_max || alignment > span_slices_max - slices) return nullptr;
  TARN_ASSERT(slices != 0 && is_power_of_two(alignment));
  if (unlocked_) return nullptr;
  Span* span = nullptr;
  if (!traits_.region) {
    span = store.lend_descriptor();
    if (span == nullptr) return nullptr;
  }
  {
    os::Locked locked(lock_);
    if (traits_.region) span = take_descriptor_locked();
    if (span == nullptr) return nullptr;
    if (take_locked(span, slices, alignment) != nullptr) return span;
  }
  give_descriptor(span);
  return nullptr;
}

void Zone::give_slices_locked(const std::byte* start, std::size_t slices) noexcept {
  Chunk* const chunk = chunk_of(start);
  TARN_CHECK(chunk != nullptr);
  TARN_ASSERT(lock_.held_by_this_thread() && used_slices_ >= slices);
  TARN_ASSERT(chunk->index_of(start) >= chunk->head_slices);
  chunk->bits.give(chunk->index_of(start), slices);
  used_slices_ -= slices;
  given_slices_ += slices;
  if (chunk != first_ && chunk->empty()) empty_slices_ += chunk->bits.free_slices();
  note_surplus_locked();
}

bool Zone::is_dirty_locked() const noexcept {
  return traits_.purgeable && given_slices_ > dirty_slices_kept + used_slices_ / 4;
}

void Zone::note_surplus_locked() noexcept {
  TARN_ASSERT(lock_.held_by_this_thread());
  surplus_.store(is_dirty_locked() || empty_slices_ > empty_slices_kept, std::memory_order_relaxed);
}

void Zone::give_descriptor(Span* span) noexcept {
  TARN_ASSERT(span->kind_now() != SpanKind::idle && span != spare_);
  if (!traits_.region) return store.return_descriptor(span);
  os::Locked locked(lock_);
  span->set_kind(SpanKind::idle);
  span->next = spare_;
  spare_ = span;
}

void Zone::give(Span* span) noexcept {
  TARN_ASSERT(span->slices != 0 && span_of(span->base) != span);
  {
    os::Locked locked(lock_);
    give_slices_locked(span->base, span->slices);
    TARN_ASSERT_EVERY(256, check_locked());
  }
  give_descriptor(span);
}

void Zone::give_all(Span* chain) noexcept {
  while (chain != nullptr) {
    Span* const span = chain;
    chain = span->next;
    span->next = nullptr;
    if (may_have_host()) {
      unmap(span->base, span->slices, true);
    } else {
      page_map.forget(span->base, span->slices);
    }
    give(span);
  }
}

bool Zone::extend(Span* span, std::size_t slices) noexcept {
  TARN_ASSERT(slices > span->slices && span->kind_now() == SpanKind::large);
  if (slices > span_slices_max) return false;
  os::Locked locked(lock_);
  Chunk* const chunk = chunk_of(span->base);
  TARN_ASSERT(chunk != nullptr && used_slices_ >= span->slices);
  const std::size_t end = chunk->index_of(span->base) + span->slices;
  const std::size_t missing = slices - span->slices;
  if (chunk->bits.slices() - end < missing || !chunk->bits.all_free(end, missing)) return false;
  unmap(span->base, span->slices, false);
  chunk->bits.take(end, missing);
  used_slices_ += missing;
  if (end + missing > chunk->touched) chunk->touched = end + missing;
  span->slices = static_cast<std::uint32_t>(slices);
  span->zeroed = false;
  map(span, false);
  return true;
}

void Zone::shrink(Span* span, std::size_t slices) noexcept {
  TARN_ASSERT(slices != 0 && slices < span->slices && span->kind_now() == SpanKind::large);
  os::Locked locked(lock_);
  unmap(span->base, span->slices, false);
  const std::size_t before = span->slices;
  span->slices = static_cast<std::uint32_t>(slices);
  map(span, false);
  give_slices_locked(span->end(), before - slices);
}

bool Zone::take_out(Piece* piece, bool all) noexcept {
  os::Locked locked(lock_);
  if (!all && empty_slices_ <= empty_slices_kept) return false;
  Chunk* before = first_;
  while (before->next != nullptr && !before->next->empty()) before = before->next;
  Chunk* const chunk = before->next;
  if (chunk == nullptr) return false;
  TARN_ASSERT(chunk != first_ && empty_slices_ >= chunk->bits.free_slices());
  before->next = chunk->next;
  if (last_ == chunk) last_ = before;
  empty_slices_ -= chunk->bits.free_slices();
  TARN_ASSERT(check_locked());
  note_surplus_locked();
  *piece = chunk->piece;
  return true;
}

void Zone::purge(bool all) noexcept {
  if (!traits_.purgeable) return;
  os::Locked locked(lock_);
  if (!all && !is_dirty_locked()) return;
  for (Chunk* chunk = first_; chunk != nullptr; chunk = chunk->next) {
    for (std::size_t at = 0; at < chunk->touched;) {
      at = chunk->bits.next(at, chunk->touched, false);
      const std::size_t end = chunk->bits.next(at, chunk->touched, true);
      // Where the OS refuses it stays as it is.
      if (end != at) os::vm_purge(chunk->base + (at << slice_shift), (end - at) << slice_shift);
      at = end;
    }
  }
  given_slices_ = 0;
  TARN_ASSERT(check_locked());
  note_surplus_locked();
}

std::size_t Zone::chunk_bytes() noexcept {
  os::Locked locked(lock_);
  std::size_t bytes = 0;
  for (const Chunk* c = first_; c != nullptr; c = c->next) bytes += c->piece.bytes;
  return bytes;
}

}  // namespace tarn
