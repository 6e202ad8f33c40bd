// span_bins: see span_bins.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/store/span_bins.hpp"

namespace tarn {

namespace {

constexpr int candidates_max = 8;  // How many spans are compared in a bin of unequal sizes.

bool holds(const Span* span, std::size_t slices, std::size_t alignment) noexcept {
  if (alignment <= 1) return span->slices >= slices;
  const std::uintptr_t first = address_of(span->base) >> slice_shift;
  const std::size_t skipped = align_up(first, alignment) - first;
  return span->slices >= slices + skipped;
}

}  // namespace

std::size_t SpanBins::filled_from(std::size_t bin) const noexcept {
  if (bin >= bin_count) return bin_count;
  std::size_t word = bin / 64;
  std::uint64_t bits = filled_[word] & (~std::uint64_t{0} << (bin % 64));
  while (bits == 0) {
    if (++word == sizeof filled_ / sizeof filled_[0]) return bin_count;
    bits = filled_[word];
  }
  return word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
}

Span* SpanBins::find(std::size_t slices, std::size_t alignment) const noexcept {
  TARN_ASSERT(slices != 0 && is_power_of_two(alignment));
  if (slices > slices_) return nullptr;
  for (std::size_t bin = filled_from(bin_of(slices)); bin < bin_count; bin = filled_from(bin + 1)) {
    Span* best = nullptr;
    int candidates = bin < exact_bins && alignment <= 1 ? 1 : candidates_max;
    for (Span* s = bins_[bin].head(); s != nullptr && candidates > 0; s = s->next, --candidates) {
      if (!holds(s, slices, alignment)) continue;
      if (best == nullptr || s->slices < best->slices) best = s;
    }
    TARN_ASSERT(!bins_[bin].empty());
    if (best != nullptr) return best;
  }
  return nullptr;
}

Span* SpanBins::find_less(std::size_t slices, std::size_t least) const noexcept {
  TARN_ASSERT(least != 0 && least < slices);
  if (least > slices_) return nullptr;
  const std::size_t last = bin_of(least);
  for (std::size_t bin = bin_of(slices - 1) + 1; bin-- > last;) {
    Span* const span = bins_[bin].head();  // Of unequal sizes above the exact bins.
    if (span != nullptr && span->slices >= least && span->slices < slices) return span;
  }
  return nullptr;
}

bool SpanBins::check(SpanKind kind) const noexcept {
  std::size_t total = 0;
  for (std::size_t bin = 0; bin < bin_count; ++bin) {
    if (!bins_[bin].check()) return false;
    const bool marked = (filled_[bin / 64] >> (bin % 64) & 1) != 0;
    if (marked == bins_[bin].empty()) return false;
    for (const Span* s = bins_[bin].head(); s != nullptr; s = s->next) {
      if (s->kind_now() != kind || bin_of(s->slices) != bin) return false;
      total += s->slices;
    }
  }
  return total == slices_;
}

}  // namespace tarn
