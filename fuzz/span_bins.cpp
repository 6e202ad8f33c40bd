// span_bins: inserting, removing and finding against a plain vector in order of insertion.
//
// SPDX-License-Identifier: MIT
#include "engine/store/span_bins.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "input.hpp"

namespace tarn::fuzz {

namespace {

constexpr std::size_t spans_max = 64;
constexpr std::ptrdiff_t looked_at = 8;  // As many as a search compares within one bin.

class Model {
 public:
  ~Model() {
    while (!spans_.empty()) remove(0);
    TARN_REQUIRE(bins_.slices() == 0 && bins_.check(SpanKind::dirty));
    TARN_REQUIRE(bins_.find(1, 1) == nullptr);
  }

  void insert(std::size_t slices, std::size_t first) {
    auto span = std::make_unique<Span>();
    // A bin never looks into the memory, so any address will do.
    span->base = reinterpret_cast<std::byte*>(first << slice_shift);
    span->slices = static_cast<std::uint32_t>(slices);
    span->set_kind(SpanKind::dirty);
    bins_.insert(span.get());
    spans_.push_back(std::move(span));
  }

  void remove(std::size_t i) {
    bins_.remove(spans_[i].get());
    spans_.erase(spans_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  void find(std::size_t slices, std::size_t alignment) const {
    const Span* const found = bins_.find(slices, alignment);
    TARN_REQUIRE(found == nullptr || fits(*found, slices, alignment));
    const std::size_t bin_found =
        found == nullptr ? SpanBins::bin_count : SpanBins::bin_of(found->slices);
    for (const auto& span : spans_) {
      if (!fits(*span, slices, alignment)) continue;
      const std::size_t bin = SpanBins::bin_of(span->slices);
      if (age_in_bin(span.get()) >= looked_at) continue;
      TARN_REQUIRE(bin >= bin_found);
      TARN_REQUIRE(bin != bin_found || span->slices >= found->slices);
    }
  }

  void check() const {
    std::size_t slices = 0;
    for (const auto& span : spans_) slices += span->slices;
    TARN_REQUIRE(bins_.slices() == slices && bins_.check(SpanKind::dirty));
  }

  std::size_t count() const { return spans_.size(); }

 private:
  static bool fits(const Span& span, std::size_t slices, std::size_t alignment) {
    std::size_t first = address_of(span.base) >> slice_shift;
    std::size_t left = span.slices;
    while (first % alignment != 0 && left > 0) ++first, --left;
    return left >= slices;
  }

  // How many spans of the same bin came later; those stand before it.
  std::ptrdiff_t age_in_bin(const Span* span) const {
    const auto self =
        std::find_if(spans_.begin(), spans_.end(), [&](const auto& s) { return s.get() == span; });
    const std::size_t bin = SpanBins::bin_of(span->slices);
    return std::count_if(self + 1, spans_.end(),
                         [&](const auto& s) { return SpanBins::bin_of(s->slices) == bin; });
  }

  SpanBins bins_;
  std::vector<std::unique_ptr<Span>> spans_;
};

}  // namespace

void run(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  Model model;
  while (input.has_step()) {
    // Small numbers mostly, so that spans share bins.
    const bool wide = input.byte() % 4 == 0;
    const std::size_t slices = (wide ? input.magnitude(31) : input.below(90)) + 1;
    switch (input.below(4)) {
      case 0:
      case 1:
        if (model.count() < spans_max) model.insert(slices, input.below(65536) + 1);
        break;
      case 2:
        if (model.count() != 0) model.remove(input.below(model.count()));
        break;
      default: model.find(slices, std::size_t{1} << input.below(8));
    }
    model.check();
  }
}

}  // namespace tarn::fuzz
