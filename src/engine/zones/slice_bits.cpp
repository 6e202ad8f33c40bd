// slice_bits: see slice_bits.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/zones/slice_bits.hpp"

#include <bit>

#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"

namespace tarn {

namespace {
constexpr std::size_t word_bits = 64;
}  // namespace

void SliceBits::begin(std::uint64_t* words, std::size_t slices) noexcept {
  TARN_ASSERT(slices != 0 && address_of(words) % alignof(std::uint64_t) == 0);
  words_ = words;
  slices_ = free_ = slices;
  passed_count_ = 1;
  passed_end_ = 0;
}

void SliceBits::clear() noexcept {
  fill(0, slices_, false);
  begin(words_, slices_);
}

std::size_t SliceBits::next(std::size_t from, std::size_t end, bool used) const noexcept {
  TARN_ASSERT(end <= slices_);
  const std::uint64_t flip = used ? 0 : ~std::uint64_t{0};
  while (from < end) {
    const std::uint64_t word = (words_[from / word_bits] ^ flip) >> (from % word_bits);
    if (word != 0) {
      from += static_cast<std::size_t>(std::countr_zero(word));
      break;
    }
    from += word_bits - from % word_bits;
  }
  return from < end ? from : end;
}

std::size_t SliceBits::find(std::size_t count, std::size_t first_slice,
                            std::size_t alignment) noexcept {
  TARN_ASSERT(count != 0 && is_power_of_two(alignment) && free_ <= slices_);
  if (count > free_) return none;
  const std::size_t start = count >= passed_count_ ? passed_end_ : 0;
  std::size_t found = none;
  for (std::size_t at = start;;) {
    at = next(at, slices_, false);
    at = align_up(first_slice + at, alignment) - first_slice;
    if (at > slices_ || slices_ - at < count) break;
    const std::size_t used = next(at, at + count, true);
    if (used == at + count) {
      found = at;
      break;
    }
    at = used;
  }
  if (alignment == 1) {  // Else a run may have been passed because of where it lies.
    passed_count_ = count;
    passed_end_ = found == none ? slices_ : found;
  }
  TARN_ASSERT(found == none || all_free(found, count));
  return found;
}

std::size_t SliceBits::find_last(std::size_t count) const noexcept {
  TARN_ASSERT(count != 0);
  if (count > free_) return none;
  for (std::size_t at = slices_ - count + 1; at-- != 0;) {
    if (all_free(at, count)) return at;
  }
  return none;
}

void SliceBits::fill(std::size_t first, std::size_t count, bool used) noexcept {
  TARN_ASSERT(first <= slices_ && count <= slices_ - first);
  while (count != 0) {
    const std::size_t in_word = word_bits - first % word_bits;
    const std::size_t n = count < in_word ? count : in_word;
    const std::uint64_t ones = n == word_bits ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
    const std::uint64_t mask = ones << (first % word_bits);
    std::uint64_t& word = words_[first / word_bits];
    word = used ? word | mask : word & ~mask;
    first += n;
    count -= n;
  }
}

void SliceBits::take(std::size_t first, std::size_t count) noexcept {
  TARN_ASSERT(count != 0 && count <= free_ && all_free(first, count));
  fill(first, count, true);
  free_ -= count;
}

void SliceBits::give(std::size_t first, std::size_t count) noexcept {
  TARN_ASSERT(count != 0 && next(first, first + count, false) == first + count);
  fill(first, count, false);
  free_ += count;
  TARN_ASSERT(free_ <= slices_);
  // A run that ends in these slices may begin so far before them.
  const std::size_t before = first > passed_count_ ? first - passed_count_ : 0;
  if (before < passed_end_) passed_end_ = before;
}

bool SliceBits::check() const noexcept {
  std::size_t free = 0;
  for (std::size_t at = 0; at < slices_;) {
    at = next(at, slices_, false);
    const std::size_t end = next(at, slices_, true);
    if (at < passed_end_ && end - at >= passed_count_) return false;
    free += end - at;
    at = end;
  }
  return free == free_;
}

}  // namespace tarn
