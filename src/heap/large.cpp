// large: see large.hpp.
//
// SPDX-License-Identifier: MIT
#include "heap/large.hpp"

#include <cstring>

#include "heap/process.hpp"
#include "os/vm.hpp"
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

void give_large(Span* span, bool clean) noexcept {
  page_map.clear_ends(span->base, span->slices);
  store.give(span, clean);
}

// Moves the contents by page tables into a span with room to grow: no byte is copied, none touched.
void* move_large(Span* span, std::size_t slices) noexcept {
  Span* const target = take_large(slices, 1, Fit::roomy);
  if (target == nullptr) return nullptr;
  const std::size_t bytes = span->bytes();
  store.count_map_call();
  const bool moved = os::vm_move(span->base, target->base, bytes);
  if (!moved) memcpy(target->base, span->base, bytes);
  count_resized(target, bytes);
  give_large(span, moved);
  return target->base;
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
  give_large(span, false);
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
  if (span->bytes() >= process.settings()[Option::large_move_kib] * 1024) {
    return move_large(span, slices);
  }
  void* const moved = large_allocate(bytes, 1, false);
  if (moved == nullptr) return nullptr;
  memcpy(moved, span->base, span->bytes());
  large_free(span);
  return moved;
}

}  // namespace tarn
