// large: see large.hpp.
//
// SPDX-License-Identifier: MIT
#include "heap/large.hpp"

#include <cstring>

#include "heap/process.hpp"
#include "source/store.hpp"

namespace tarn {

namespace {

void count(const Span* span, bool allocated) noexcept {
  const auto bytes = static_cast<std::int64_t>(span->bytes());
  process.add_large(allocated ? bytes : -bytes);
}

void count_resized(const Span* span, std::size_t bytes_before) noexcept {
  process.resize_large(static_cast<std::int64_t>(span->bytes()) -
                       static_cast<std::int64_t>(bytes_before));
}

Span* take_large(std::size_t slices, std::size_t alignment, Fit fit) noexcept {
  Span* const span = store.take(slices, alignment, fit);
  if (span == nullptr) return nullptr;
  span->set_kind(SpanKind::large);
  span->remote.store(0, std::memory_order_relaxed);
  page_map.set_ends(span);
  return span;
}

void give_large(Span* span) noexcept {
  page_map.clear_ends(span->base, span->slices);
  store.give(span);
}

// The contents in a new span, the old one given back; null when there is none.
void* copy_large(Span* span, std::size_t slices, Fit fit) noexcept {
  Span* const target = take_large(slices, 1, fit);
  if (target == nullptr) return nullptr;
  memcpy(target->base, span->base, span->bytes());
  count_resized(target, span->bytes());
  give_large(span);
  return target->base;
}

// Grows by page tables: no byte is copied, none touched. Asks for as much again behind the block.
bool remap_large(Span* span, std::size_t slices) noexcept {
  const std::size_t bytes_before = span->bytes();
  if (!store.remap(span, slices, slices) && !store.remap(span, slices, 0)) return false;
  count_resized(span, bytes_before);
  return true;
}

}  // namespace

void* large_allocate(std::size_t bytes, std::size_t alignment, bool zero) noexcept {
  if (bytes > request_bytes_max || alignment > request_bytes_max) return nullptr;
  const std::size_t slices = bytes == 0 ? 1 : slices_for(bytes);
  const std::size_t aligned = alignment <= slice_bytes ? 1 : alignment >> slice_shift;
  Span* const span = take_large(slices, aligned, Fit::warm);
  if (span == nullptr) return nullptr;
  if (zero && !span->zeroed) memset(span->base, 0, bytes);
  count(span, true);
  return span->base;
}

void large_free(Span* span) noexcept {
  count(span, false);
  give_large(span);
}

void* large_reallocate(Span* span, std::size_t bytes) noexcept {
  if (bytes > request_bytes_max) return nullptr;
  const std::size_t slices = slices_for(bytes);
  const std::size_t bytes_before = span->bytes();
  if (slices == span->slices) return span->base;
  if (slices < span->slices) {
    // A small excess stays: it may be wanted again, and giving it back costs a lock.
    if (span->slices - slices <= slices / 8) return span->base;
    store.shrink(span, slices);
    count_resized(span, bytes_before);
    return span->base;
  }
  if (store.extend(span, slices)) {
    count_resized(span, bytes_before);
    return span->base;
  }
  const bool moves = span->bytes() >= process.settings()[Option::large_move_kib] * 1024;
  void* const copied = copy_large(span, slices, moves ? Fit::roomy : Fit::warm);
  if (copied != nullptr) return copied;
  // By page tables, into fresh memory; for the smaller ones, because two blocks of them do not fit
  // what is left of the address space. The OS may refuse a block that lies in several mappings.
  if (remap_large(span, slices)) return span->base;
  return moves ? copy_large(span, slices, Fit::warm) : nullptr;
}

}  // namespace tarn
