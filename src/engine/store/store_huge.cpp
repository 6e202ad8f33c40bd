// store_huge: a store that has become large grows by huge pages. See docs/design/source.md.
//
// SPDX-License-Identifier: MIT
#include <initializer_list>
#include <utility>

#include "engine/store/store.hpp"
#include "platform/base/check.hpp"
#include "platform/os/process.hpp"
#include "platform/os/vm.hpp"

namespace tarn {

namespace {

constexpr std::size_t window_bytes = os::huge_page_bytes;  // What may become a huge page.

// Of a longer span much may never be used. A class that has such long pages of small blocks has
// filled many.
constexpr std::size_t short_slices_max(Fit fit) noexcept {
  return fit == Fit::small ? small_slices_most : (std::size_t{64} << 10) >> slice_shift;
}

bool is_written(const std::byte* base, std::size_t slices) noexcept {
  for (const std::size_t at : {slices / 2, slices - 1}) {
    if (os::vm_resident(base + (at << slice_shift), slice_bytes) == 0) return false;
  }
  return true;
}

}  // namespace

// Whether chunks are to have huge pages for the asking alone; finds out once, by the first window
// of a chunk, which is used next.
bool Store::asks_for_huge_locked(std::byte* chunk, std::size_t slices) noexcept {
  TARN_ASSERT(lock_.held_by_this_thread());
  if (policy.huge_from_slices.load(std::memory_order_relaxed) == 0) return false;
  if (huge_pages_ == HugePages::unknown && slices >= 2 * (window_bytes >> slice_shift)) {
    void* const window = reinterpret_cast<void*>(align_up(address_of(chunk), window_bytes));
    huge_pages_ = os::vm_is_huge_unasked(window) ? HugePages::unasked : HugePages::asked;
  }
  return huge_pages_ == HugePages::asked;
}

// A chunk has small pages, except for windows; so it stays one mapping for the OS, and a block in
// it can be moved by page tables. Where the OS gives huge pages unasked all is left to it, but for
// a small program, which has little more than its first chunk.
void Store::choose_pages_locked(std::byte* chunk, std::size_t slices) noexcept {
  const bool is_small_program = reserved_slices_ == 0 && slices <= chunk_slices_min;
  if (is_small_program || asks_for_huge_locked(chunk, slices)) {
    os::vm_avoid_huge(chunk, slices << slice_shift);
  }
}

// What is left of a window is dirty from now on, so that it is taken next, and purged in time.
void Store::warm_locked(Span* clean, std::size_t slices) noexcept {
  TARN_ASSERT(clean->kind_now() == SpanKind::clean && slices <= clean->slices);
  note_taken_clean_locked(slices);
  remove_locked(clean);
  Span* const warm = make_span_locked(clean->base, slices);
  put_rest_locked(clean, slices);
  join_locked(warm, SpanKind::dirty)->stamp_ms = os::clock_coarse_ms();
  insert_locked(warm, SpanKind::dirty);
}

// The window that begins in a short span, if all of it was clean.
Store::Windows Store::window_locked(const Span* taken, const std::byte* clean_end) noexcept {
  const std::uintptr_t start = align_up(address_of(taken->base), window_bytes);
  const std::uintptr_t end = start + window_bytes;
  const std::uintptr_t taken_end = address_of(taken->end());
  if (start >= taken_end || end > address_of(clean_end)) return {};
  warm_locked(page_map.span_of(taken->end()), (end - taken_end) >> slice_shift);
  return {reinterpret_cast<std::byte*>(start), window_bytes};
}

// The windows of which a long span consists, if the one before was written to, and at most twice as
// many bytes as that had. Its last slice is left out, and with it the window that has it: it tells
// of the next one. What is asked about may have gone meanwhile.
Store::Windows Store::windows_of_long_locked(const Span* taken) noexcept {
  const std::byte* const before = std::exchange(long_base_, taken->base);
  const std::size_t slices = std::exchange(long_slices_, taken->slices);
  const std::uintptr_t start = align_up(address_of(taken->base), window_bytes);
  const std::uintptr_t end = align_down(address_of(taken->end()) - 1, window_bytes);
  if (start >= end || slices == 0 || !is_written(before, slices)) return {};
  const std::size_t most = align_down(2 * slices << slice_shift, window_bytes);
  return {reinterpret_cast<std::byte*>(start), end - start < most ? end - start : most};
}

// pre: what is taken was clean, as was all up to clean_end
Store::Windows Store::windows_locked(const Span* taken, Fit fit,
                                     const std::byte* clean_end) noexcept {
  TARN_ASSERT(lock_.held_by_this_thread() && taken->zeroed && taken->end() <= clean_end);
  if (taken->slices > short_slices_max(fit)) return windows_of_long_locked(taken);
  return window_locked(taken, clean_end);
}

void Store::fill(Windows windows) noexcept {
  if (!os::vm_fill_huge(windows.start, windows.bytes)) {
    policy.huge_from_slices.store(0, std::memory_order_relaxed);
  }
}

}  // namespace tarn
