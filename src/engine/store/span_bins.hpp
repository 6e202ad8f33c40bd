// span_bins: the free spans of one kind (clean or dirty), by size, so that the smallest that fits
// is found without a search.
//
//   bin     0   1  ...  31 |  32 ... 39 |  40 ...
//   slices  1   2  ...  32 | 33..64 in eight steps | 65..128 in eight steps | ...
//
// A bitmap tells which bins hold something. Within a bin above 32 slices the sizes differ by up to
// an eighth: the first few spans are compared, and the smallest that fits is taken (good fit).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/spans/span.hpp"
#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"
#include "platform/base/list.hpp"
#include "tarn/detail/steps.h"

namespace tarn {

class SpanBins {
 public:
  static constexpr unsigned exact_bins_log2 = 5;
  static constexpr unsigned steps_log2 = 3;  // Eight bins a doubling above the exact ones.

  // pre: slices != 0
  static constexpr std::size_t bin_of(std::size_t slices) noexcept {
    TARN_ASSERT(slices != 0);
    return tarn_step_after(slices - 1, exact_bins_log2, steps_log2);
  }
  static constexpr std::size_t exact_bins = std::size_t{1} << exact_bins_log2;
  static constexpr std::size_t bin_count = exact_bins + ((32 - exact_bins_log2) << steps_log2);

  void insert(Span* span) noexcept {
    const std::size_t bin = bin_of(span->slices);
    bins_[bin].push_front(span);
    filled_[bin / 64] |= std::uint64_t{1} << (bin % 64);
    slices_ += span->slices;
  }

  void remove(Span* span) noexcept {
    const std::size_t bin = bin_of(span->slices);
    TARN_ASSERT(slices_ >= span->slices && (filled_[bin / 64] >> (bin % 64) & 1) != 0);
    bins_[bin].remove(span);
    if (bins_[bin].empty()) filled_[bin / 64] &= ~(std::uint64_t{1} << (bin % 64));
    slices_ -= span->slices;
  }

  // The smallest span found that holds `slices` with its base aligned to `alignment` slices; null
  // when none is found. pre: slices != 0, alignment is a power of two
  Span* find(std::size_t slices, std::size_t alignment) const noexcept;

  // A span of less than `slices` and at least `least`, one of the longest; null when none is found.
  Span* find_less(std::size_t slices, std::size_t least) const noexcept;

  std::size_t slices() const noexcept { return slices_; }
  bool check(SpanKind kind) const noexcept;

 private:
  friend struct SpanBinsAccess;  // Of the tests.

  std::size_t filled_from(std::size_t bin) const noexcept;

  // Those of short spans come next: one page of a small process.
  std::uint64_t filled_[(bin_count + 63) / 64] = {};
  std::size_t slices_ = 0;
  List<Span> bins_[bin_count];
};

static_assert(SpanBins::bin_of(1) == 0 && SpanBins::bin_of(32) == 31 && SpanBins::bin_of(33) == 32);
static_assert(SpanBins::bin_of(64) == 39 && SpanBins::bin_of(65) == 40);
static_assert(SpanBins::bin_of(UINT32_MAX) == SpanBins::bin_count - 1);

}  // namespace tarn
