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

// Pages of small blocks have at most so many slices. Of a longer span much may never be used; and
// its last window is taken only if no larger part of the span than this is left of it, since what
// is left may be too short for others of its kind.
constexpr std::size_t short_slices_max = (std::size_t{64} << 10) >> slice_shift;
constexpr std::size_t rest_part_max = 8;

// A long span is written to if the one before was; but one that is so many times longer may be of
// another kind.
constexpr std::size_t long_factor_max = 4;

bool is_written(const std::byte* base, std::size_t slices) noexcept {
  for (const std::size_t at : {slices / 2, slices - 1}) {
    if (os::vm_resident(base + (at << slice_shift), slice_bytes) == 0) return false;
  }
  return true;
}

}  // namespace

// Asks once, by the last window of a chunk. pre: huge pages are wanted
bool Store::gives_huge_unasked_locked(std::byte* chunk, std::size_t slices) noexcept {
  if (huge_known_ || slices < 2 * (window_bytes >> slice_shift)) return false;
  huge_known_ = true;
  const std::uintptr_t end = address_of(chunk + (slices << slice_shift)) & ~(window_bytes - 1);
  if (!os::vm_is_huge_unasked(reinterpret_cast<void*>(end - window_bytes))) return false;
  policy.huge_from_slices.store(0, std::memory_order_relaxed);
  return true;
}

// A chunk has small pages, except for windows; so it stays one mapping for the OS, and a block in
// it can be moved by page tables. Where the OS gives huge pages unasked all is left to it, but for
// a small program, which has little more than its first chunk.
void Store::choose_pages_locked(std::byte* chunk, std::size_t slices) noexcept {
  const bool is_small_program = reserved_slices_ == 0 && slices <= chunk_slices_min;
  const bool wanted = policy.huge_from_slices.load(std::memory_order_relaxed) != 0;
  if (is_small_program || (wanted && !gives_huge_unasked_locked(chunk, slices))) {
    os::vm_avoid_huge(chunk, slices << slice_shift);
  }
}

// Whether all of a long span is likely to be written to. What is asked about may have gone since.
bool Store::will_be_written_locked(const Span* taken) noexcept {
  TARN_ASSERT(lock_.held_by_this_thread());
  const std::byte* const before = std::exchange(long_base_, taken->base);
  const std::size_t slices = std::exchange(long_slices_, taken->slices);
  return slices != 0 && taken->slices / long_factor_max <= slices && is_written(before, slices);
}

// What is left of a window is dirty from now on, so that it is taken next, and purged in time.
void Store::warm_locked(Span* clean, std::size_t slices) noexcept {
  TARN_ASSERT(clean->kind_now() == SpanKind::clean && slices <= clean->slices);
  remove_locked(clean);
  Span* const warm = make_span_locked(clean->base, slices);
  warm->stamp_ms = os::clock_coarse_ms();
  put_rest_locked(clean, slices);
  insert_locked(warm, SpanKind::dirty);
}

// The windows that begin in what is taken, if all of them was clean.
Store::Windows Store::windows_locked(const Span* taken, const std::byte* clean_end) noexcept {
  TARN_ASSERT(lock_.held_by_this_thread() && taken->zeroed && taken->end() <= clean_end);
  const bool is_long = taken->slices > short_slices_max;
  if (is_long && !will_be_written_locked(taken)) return {};
  const std::uintptr_t taken_end = address_of(taken->end());
  const std::uintptr_t start = align_up(address_of(taken->base), window_bytes);
  std::uintptr_t end = align_up(taken_end, window_bytes);
  if (is_long && end - taken_end > taken->bytes() / rest_part_max) end -= window_bytes;
  if (start >= end || end > address_of(clean_end)) return {};
  if (end > taken_end) {
    warm_locked(page_map.span_of(taken->end()), (end - taken_end) >> slice_shift);
  }
  return {reinterpret_cast<std::byte*>(start), end - start};
}

void Store::fill(Windows windows) noexcept {
  if (!os::vm_fill_huge(windows.start, windows.bytes)) {
    policy.huge_from_slices.store(0, std::memory_order_relaxed);
  }
}

}  // namespace tarn
