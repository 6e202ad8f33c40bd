// large: see large.hpp.
//
// SPDX-License-Identifier: MIT
#include "heaps/heap/large.hpp"

#include <cstring>

#include "engine/records/live_bytes.hpp"
#include "engine/records/totals.hpp"
#include "engine/threads/span_cache.hpp"
#include "platform/base/check.hpp"
#include "platform/os/vm.hpp"
#include "platform/settings/settings.hpp"

namespace tarn {

namespace {

void count_resized(const Span* span, std::size_t bytes_before) noexcept {
  const std::int64_t more =
      static_cast<std::int64_t>(span->bytes()) - static_cast<std::int64_t>(bytes_before);
  totals.resize_large(more);
  add_live(*static_cast<const Page*>(span)->record_now(), more);
}

Span* make_large(Span* span, SpanSource source) noexcept {
  if (span == nullptr) return nullptr;
  TARN_ASSERT(address_of(span->base) % slice_bytes == 0 && span->slices != 0);
  span->set_kind(SpanKind::large);
  span->remote.store(0, std::memory_order_relaxed);
  static_cast<Page*>(span)->set_record(&main_record);
  source.map(span, false);
  return span;
}

Span* take_large(std::size_t slices, Fit fit) noexcept {
  return make_large(store.take(slices, 1, fit), {});
}

// The contents in a new span, the old one given back; null when there is none.
void* grow_by_copy(Span* span, std::size_t slices, Fit fit) noexcept {
  Span* const target = take_large(slices, fit);
  if (target == nullptr) return nullptr;
  TARN_ASSERT(target->bytes() >= span->bytes());
  // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): a span in use has memory.
  memcpy(target->base, span->base, span->bytes());
  count_resized(target, span->bytes());
  const SpanSource source;
  source.unmap(span, false);
  source.give(span);
  return target->base;
}

// By page tables: no byte is copied, none touched.
void* grow_by_remap(Span* span, std::size_t slices, std::size_t spare) noexcept {
  const std::size_t bytes_before = span->bytes();
  if (!store.remap(span, slices, spare)) return nullptr;
  count_resized(span, bytes_before);
  return span->base;
}

// The cheapest first; docs/design/source.md has the figures. A remap needs address space for the
// difference alone, but the OS refuses it to a block that lies in several of its mappings. The copy
// into just any span may give all free memory back to the OS first; then there is room again.
void* grow_elsewhere(Span* span, std::size_t slices) noexcept {
  void* p = nullptr;
  if (large_moves(*span)) {
    p = grow_by_copy(span, slices, Fit::roomy);
    if (p == nullptr) p = grow_by_remap(span, slices, slices);
    if (p == nullptr) p = grow_by_copy(span, slices, Fit::roomy_cold);
    if (p == nullptr) p = grow_by_remap(span, slices, 0);
  }
  if (p == nullptr) p = grow_by_copy(span, slices, Fit::warm);
  if (p == nullptr) p = grow_by_remap(span, slices, 0);
  return p;
}

// To write zeros over memory that is there takes a fifteenth of the time of a purge and its page
// faults, and a third of that of the purge alone. What is not there becomes resident when it is
// written, though the program may use little of it; and so much never stays for long.
constexpr std::size_t looked_at_bytes_min = std::size_t{4} << 20;
constexpr std::size_t written_bytes_most = std::size_t{48} << 20;

bool is_better_written(const Span& span) noexcept {
  if (span.bytes() < looked_at_bytes_min) return true;
  if (span.bytes() > written_bytes_most) return false;
  constexpr std::size_t looks = 16;
  const std::size_t apart = span.slices / looks;
  std::size_t absent = 0;
  for (std::size_t i = 0; i < looks && absent < 2; ++i) {
    const std::byte* const at = span.base + ((i * apart + apart / 2) << slice_shift);
    absent += os::vm_resident(at, slice_bytes) == 0 ? 1 : 0;
  }
  return absent < 2;
}

void make_zero(Span* span, SpanSource source) noexcept {
  if (span->zeroed) return;
  const bool fresh =
      source.is_store() && !is_better_written(*span) && os::vm_purge(span->base, span->bytes());
  if (!fresh) memset(span->base, 0, span->bytes());
}

}  // namespace

Span* large_take(std::size_t bytes, std::size_t alignment, bool zero, SpanSource source,
                 Fit fit) noexcept {
  if (bytes > request_bytes_max || alignment > request_bytes_max) return nullptr;
  const std::size_t slices = bytes == 0 ? 1 : slices_for(bytes);
  const std::size_t aligned = alignment <= slice_bytes ? 1 : alignment >> slice_shift;
  const bool fresh = zero && slices > slices_for(written_bytes_most);
  Span* const span = make_large(source.take(slices, aligned, fresh ? Fit::zero : fit), source);
  if (span == nullptr) return nullptr;
  TARN_ASSERT(span->bytes() >= bytes && address_of(span->base) % alignment == 0);
  if (zero) make_zero(span, source);
  static_cast<Page*>(span)->set_requested(bytes);
  totals.add_large(static_cast<std::int64_t>(span->bytes()));
  return span;
}

namespace {

// A block that the thread has freed, as large_allocate() wants it; or null.
void* take_kept(std::size_t bytes, std::size_t alignment, bool zero) noexcept {
  if (bytes > kept_slices_most << slice_shift || alignment > slice_bytes) return nullptr;
  if (bytes == 0 || current_thread == no_thread()) return nullptr;
  Span* const span = span_cache_take(*current_thread, slices_for(bytes));
  if (span == nullptr) return nullptr;
  static_cast<Page*>(span)->set_requested(bytes);
  if (zero) memset(span->base, 0, span->bytes());
  return span->base;
}

}  // namespace

void* large_allocate(std::size_t bytes, std::size_t alignment, bool zero) noexcept {
  if (void* const kept = take_kept(bytes, alignment, zero)) return kept;
  Span* const span = large_take(bytes, alignment, zero, {});
  if (span == nullptr) return nullptr;
  add_live(main_record, static_cast<std::int64_t>(span->bytes()));
  return span->base;
}

void large_free(Span* span) noexcept {
  if (current_thread != no_thread() && span_cache_keep(*current_thread, span)) return;
  large_give(span);
}

bool large_resize(Span* span, std::size_t slices, SpanSource source) noexcept {
  TARN_ASSERT(slices != 0 && span->kind_now() == SpanKind::large);
  const std::size_t bytes_before = span->bytes();
  if (slices == span->slices) return true;
  if (slices < span->slices) {
    // A small excess stays: it may be wanted again, and giving it back costs a lock.
    if (span->slices - slices <= slices / 8) return true;
    source.shrink(span, slices);
  } else if (!source.extend(span, slices)) {
    return false;
  }
  count_resized(span, bytes_before);
  return true;
}

bool large_moves(const Span& span) noexcept {
  return span.bytes() >= settings[Option::large_move_kib] * 1024;
}

bool large_remap(Span* span, std::size_t slices) noexcept {
  TARN_ASSERT(slices > span->slices);
  if (!large_moves(*span)) return false;
  return grow_by_remap(span, slices, slices) != nullptr ||
         grow_by_remap(span, slices, 0) != nullptr;
}

void* large_reallocate(Span* span, std::size_t bytes) noexcept {
  TARN_ASSERT(bytes > block_bytes_max && span->kind_now() == SpanKind::large);
  if (bytes > request_bytes_max) return nullptr;
  const std::size_t slices = slices_for(bytes);
  // What is kept may be what the block could grow over, and is of sizes that blocks grow out of.
  if (slices > span->slices && current_thread != no_thread()) span_cache_empty(*current_thread);
  void* const p = large_resize(span, slices, {}) ? span->base : grow_elsewhere(span, slices);
  TARN_ASSERT(p == nullptr || page_map.span_of(p)->bytes() >= bytes);
  if (p != nullptr) static_cast<Page*>(page_map.span_of(p))->set_requested(bytes);
  return p;
}

}  // namespace tarn
