// zone_region: what a region has inside that other zones have from the store: descriptors, records,
// the way from an address to its span. None of this calls the OS.
//
// SPDX-License-Identifier: MIT
#include <cstring>
#include <new>

#include "engine/zones/zone.hpp"
#include "platform/base/check.hpp"
#include "platform/os/vm.hpp"

namespace tarn {

constinit Regions regions;

namespace {

bool may_host(SpanKind kind) noexcept {
  return kind == SpanKind::idle || kind == SpanKind::page || kind == SpanKind::large ||
         kind == SpanKind::checked || kind == SpanKind::lone;
}

}  // namespace

bool Zone::may_be_region(Piece piece) noexcept {
  const std::byte* const base = first_slice_in(piece);
  const std::size_t slices = slices_in(piece);
  constexpr std::uintptr_t end = std::uintptr_t{1} << address_bits;
  if (slices == 0 || address_of(base) >= end || slices << slice_shift > end - address_of(base)) {
    return false;
  }
  const std::byte* const last = base + ((slices - 1) << slice_shift);
  return may_host(page_map.span_of(base)->kind_now()) &&
         may_host(page_map.span_of(last)->kind_now()) && regions.has_room_for(piece);
}

bool Zone::begin_region() noexcept {
  const std::byte* const base = first_->base;
  const std::size_t slices = first_->bits.slices();
  if (!store.cover_from_static(base, slices << slice_shift)) {
    void* const table = allocate_record_locked(slices * sizeof *table_);
    if (table == nullptr) return false;
    memset(table, 0, slices * sizeof *table_);
    table_ = static_cast<std::atomic<Span*>*>(table);
    return regions.add(*this);
  }
  Span* const at_start = page_map.span_of(base);
  Span* const at_end = page_map.span_of(base + ((slices - 1) << slice_shift));
  host_ = at_start->kind_now() != SpanKind::idle ? at_start : at_end;
  if (host_->kind_now() == SpanKind::idle) host_ = nullptr;
  return regions.add(*this);
}

void* Zone::allocate_record_locked(std::size_t bytes) noexcept {
  TARN_ASSERT(bytes != 0 && traits_.region);
  const std::size_t size = align_up(bytes, cache_line_bytes);
  if (size < bytes) return nullptr;
  auto* at = reinterpret_cast<std::byte*>(align_up(address_of(records_), cache_line_bytes));
  if (records_ == nullptr || at > records_end_ ||
      static_cast<std::size_t>(records_end_ - at) < size) {
    const std::size_t slices = slices_for(size + sizeof(RecordArea));
    // At the end, so that they do not lie between the blocks.
    const std::size_t first = first_->bits.find_last(slices);
    if (first == SliceBits::none) return nullptr;
    first_->bits.take(first, slices);
    std::byte* const start = first_->base + (first << slice_shift);
    RecordArea* const area = new (start) RecordArea{areas_, slices};
    TARN_FORK_FENCE();
    areas_ = area;
    at = start + sizeof(RecordArea);
    records_end_ = start + (slices << slice_shift);
  }
  records_ = at + size;
  TARN_ASSERT(records_ <= records_end_ && first_->has(at));
  return at;
}

void* Zone::allocate_record(std::size_t bytes) noexcept {
  os::Locked locked(lock_);
  void* const record = allocate_record_locked(bytes);
  if (record != nullptr) memset(record, 0, bytes);
  return record;
}

Span* Zone::take_descriptor_locked() noexcept {
  TARN_ASSERT(lock_.held_by_this_thread() && traits_.region);
  if (spare_ == nullptr) {
    void* const memory = allocate_record_locked(sizeof(DescriptorBlock));
    if (memory == nullptr) return nullptr;
    memset(memory, 0, sizeof(DescriptorBlock));
    auto* const block = static_cast<DescriptorBlock*>(memory);
    for (std::size_t i = block_descriptors_; i-- != 0;) {
      Span* const span = new (block->bytes + i * descriptor_bytes) Span;
      span->next = spare_;
      spare_ = span;
    }
    block->next = descriptors_;
    TARN_FORK_FENCE();
    descriptors_ = block;
  }
  Span* const span = spare_;
  TARN_ASSERT(span->kind_now() == SpanKind::idle);
  spare_ = span->next;
  span->next = span->prev = span->newer = span->older = nullptr;
  span->set_kind(SpanKind::large);  // In use by nobody, until it has a place.
  return span;
}

void Zone::map(const Span* span, bool all) noexcept {
  TARN_ASSERT(span->slices != 0 && chunk_of(span->base) != nullptr);
  if (table_ == nullptr) {
    if (may_have_host()) page_map.tag(span->base, span->slices, hosted_tag);
    if (all) return page_map.set(span->base, span->slices, span);
    return page_map.set_ends(span);
  }
  const std::size_t first = first_->index_of(span->base);
  for (std::size_t i = 0; i < span->slices; ++i) {
    table_[first + i].store(const_cast<Span*>(span), std::memory_order_relaxed);
  }
}

// A page of malloc's own heap has tags that would send the zone's blocks there. It may be a host
// that is not known: a zone that lay there before does not put entries back.
bool Zone::may_have_host() const noexcept {
  return traits_.region || traits_.source.acquire != nullptr;
}

// Makes the entries what they were before the region was there.
void Zone::restore_host(const std::byte* start, std::size_t slices) noexcept {
  TARN_ASSERT(host_ != nullptr && host_->kind_now() != SpanKind::idle);
  const SpanKind kind = host_->kind_now();
  const bool has_ends = kind == SpanKind::large || kind == SpanKind::lone;
  for (; slices != 0; --slices, start += slice_bytes) {
    const bool has_entry = has_ends ? start == host_->end() - slice_bytes
                                    : start >= host_->base && start < host_->end();
    if (has_entry) {
      page_map.set(start, 1, host_);
    } else {
      page_map.clear(start, 1);
    }
  }
}

void Zone::unmap(const std::byte* start, std::size_t slices, bool all) noexcept {
  if (table_ != nullptr) {
    const std::size_t first = first_->index_of(start);
    for (std::size_t i = 0; i < slices; ++i) {
      table_[first + i].store(nullptr, std::memory_order_relaxed);
    }
    return;
  }
  // A host may itself lie in a host, as the head's slice says then, which no span covers. No tag at
  // all costs other blocks the longer way and no more.
  if (may_have_host()) {
    const bool nested = page_map.tag_of(first_->base) == hosted_tag;
    page_map.tag(start, slices, nested ? hosted_tag : SliceTag{0});
  }
  if (host_ != nullptr) {
    restore_host(start, slices);
  } else if (all) {
    page_map.clear(start, slices);
  } else {
    page_map.clear_ends(start, slices);
  }
}

Span* Zone::span_at(const void* p) const noexcept {
  TARN_ASSERT(table_ != nullptr && first_->has(p));
  return table_[first_->index_of(p)].load(std::memory_order_relaxed);
}

bool Zone::is_in_use(const Span* span) const noexcept {
  switch (span->kind_now()) {
    case SpanKind::page:
    case SpanKind::mixed:
    case SpanKind::large:
      return span->slices != 0 && chunk_of(span->base) != nullptr &&
             (table_ != nullptr ? span_at(span->base) : page_map.span_of(span->base)) == span;
    default: return false;
  }
}

void Zone::clear_bits() noexcept {
  used_slices_ = 0;
  for (Chunk* c = first_; c != nullptr; c = c->next) {
    c->bits.clear();
    c->bits.take(0, c->head_slices);
  }
  for (const RecordArea* a = areas_; a != nullptr; a = a->next) {
    // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): areas lie in the first chunk.
    first_->bits.take(first_->index_of(a), a->slices);
  }
}

void Zone::mark_used(const Span* span) noexcept {
  Chunk* const chunk = chunk_of(span->base);
  TARN_ASSERT(span->slices != 0 && chunk != nullptr);
  chunk->bits.take(chunk->index_of(span->base), span->slices);
  used_slices_ += span->slices;
}

void Zone::take_back_descriptors() noexcept {
  spare_ = nullptr;
  for_each_span([this](Span* span) noexcept {
    if (is_in_use(span)) return;
    span->set_kind(SpanKind::idle);
    span->next = spare_;
    spare_ = span;
  });
}

void Zone::forget_lost() noexcept {
  if (used_slices_ == 0) return;
  const auto forget = [this](Span* span) noexcept {
    if (!is_in_use(span)) return;
    unmap(span->base, span->slices, true);
    span->set_kind(SpanKind::idle);  // Its descriptor is not used again.
  };
  if (traits_.region) {
    for_each_span(forget);
  } else {
    store.for_each_span(forget);
  }
  clear_bits();
  empty_slices_ = 0;
  for (const Chunk* c = first_->next; c != nullptr; c = c->next) {
    empty_slices_ += c->bits.free_slices();
  }
  TARN_ASSERT(check_locked());
}

void Zone::recover_after_fork() noexcept {
  if (traits_.secret) {  // A lock in memory is not inherited.
    for (const Chunk* c = first_; c != nullptr; c = c->next) {
      unlocked_ = unlocked_ || !os::vm_lock(c->base, c->bits.slices() << slice_shift);
    }
  }
  if (!lock_.recover_after_fork()) return;
  clear_bits();
  const auto mark = [this](Span* span) noexcept {
    if (is_in_use(span)) mark_used(span);
  };
  if (traits_.region) {
    records_ = records_end_ = nullptr;
    take_back_descriptors();
    for_each_span(mark);
  } else {
    store.for_each_span(mark);
  }
  empty_slices_ = 0;
  for (Chunk* c = first_; c != nullptr; c = c->next) last_ = c;
  for (const Chunk* c = first_; c != nullptr; c = c->next) {
    if (c != first_ && c->empty()) empty_slices_ += c->bits.free_slices();
  }
  TARN_ASSERT(check_locked());
}

bool Zone::check_locked() const noexcept {
  std::size_t in_use = 0;
  std::size_t empty = 0;
  for (const Chunk* c = first_; c != nullptr; c = c->next) {
    if (!c->bits.check() || (c->next == nullptr) != (c == last_)) return false;
    if (c->touched < c->head_slices || c->touched > c->bits.slices()) return false;
    in_use += c->bits.slices() - c->bits.free_slices() - c->head_slices;
    if (c != first_ && c->empty()) empty += c->bits.free_slices();
  }
  for (const RecordArea* a = areas_; a != nullptr; a = a->next) in_use -= a->slices;
  return in_use == used_slices_ && empty == empty_slices_;
}

bool Regions::has_room_for(Piece piece) noexcept {
  os::Locked locked(lock_);
  return has_room_locked(piece);
}

bool Regions::has_room_locked(Piece piece) const noexcept {
  const auto start = address_of(piece.start);
  const auto end = start + piece.bytes;
  for (const Zone* z = head_; z != nullptr; z = z->next_region_) {
    const auto other = address_of(z->first_->piece.start);
    const auto other_end = other + z->first_->piece.bytes;
    if (end <= other || other_end <= start) continue;
    // In a block of another region it may lie, as in any other block.
    const auto blocks = address_of(z->first_->base) + (z->first_->head_slices << slice_shift);
    if (start < blocks || end > other_end) return false;
  }
  return true;
}

bool Regions::add(Zone& zone) noexcept {
  os::Locked locked(lock_);
  if (!has_room_locked(zone.first_->piece)) return false;
  TARN_ASSERT(zone.traits_.region && zone.next_region_ == nullptr);
  zone.next_region_ = head_;
  TARN_FORK_FENCE();
  head_ = &zone;
  if (zone.table_ != nullptr) with_table_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void Regions::remove(Zone& zone) noexcept {
  os::Locked locked(lock_);
  Zone** link = &head_;
  while (*link != &zone) {
    TARN_ASSERT(*link != nullptr);
    link = &(*link)->next_region_;
  }
  *link = zone.next_region_;
  TARN_ASSERT(zone.table_ == nullptr || with_table_.load(std::memory_order_relaxed) != 0);
  if (zone.table_ != nullptr) with_table_.fetch_sub(1, std::memory_order_relaxed);
}

Span* Regions::search(const void* p) noexcept {
  os::Locked locked(lock_);
  for (const Zone* z = head_; z != nullptr; z = z->next_region_) {
    if (z->table_ == nullptr || !z->first_->has(p)) continue;
    Span* const span = z->span_at(p);
    if (span != nullptr) return span;
  }
  return nullptr;
}

}  // namespace tarn
