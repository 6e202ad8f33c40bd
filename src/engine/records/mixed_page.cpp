// mixed_page: see mixed_page.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/records/mixed_page.hpp"

#include <bit>

#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"

namespace tarn {

namespace {
constexpr std::size_t grains_of(std::size_t bytes) noexcept {
  return MixedPage::size_for(bytes) / block_align;
}
}  // namespace

// The first bit with that value at or after `from`; grains when there is none.
std::size_t MixedPage::find(const Bits& bits, std::size_t from, bool value) noexcept {
  while (from < grains) {
    const std::uint64_t word = value ? bits[from / 64] : ~bits[from / 64];
    const std::uint64_t rest = word >> (from % 64);
    if (rest != 0) return from + static_cast<std::size_t>(std::countr_zero(rest));
    from = (from / 64 + 1) * 64;
  }
  return grains;
}

void MixedPage::fill(Bits& bits, std::size_t from, std::size_t to, bool value) noexcept {
  TARN_ASSERT(from <= to && to <= grains);
  while (from < to) {
    const std::size_t in_word = from % 64;
    std::size_t count = 64 - in_word;
    if (count > to - from) count = to - from;
    const std::uint64_t ones = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
    std::uint64_t& word = bits[from / 64];
    word = value ? word | ones << in_word : word & ~(ones << in_word);
    from += count;
  }
}

// One past the last grain of the block that begins at `first`.
std::size_t MixedPage::end_of(std::size_t first) const noexcept {
  TARN_ASSERT(bit(first_, first));
  const std::size_t hole = find(used_, first + 1, false);
  const std::size_t next = find(first_, first + 1, true);
  TARN_ASSERT(bit(used_, first));
  return hole < next ? hole : next;
}

std::size_t MixedPage::take(std::size_t bytes, std::size_t alignment) noexcept {
  TARN_ASSERT(bytes <= bytes_max && alignment <= slice_bytes);
  TARN_ASSERT(is_power_of_two(alignment));
  const std::size_t wanted = grains_of(bytes);
  const std::size_t step = alignment <= block_align ? 1 : alignment / block_align;
  for (std::size_t at = 0;;) {
    at = align_up(find(used_, at, false), step);
    if (at + wanted > grains) return none;
    const std::size_t end = find(used_, at, true);
    if (end >= at + wanted) {
      ++allocations;
      fill(used_, at, at + wanted, true);
      TARN_FORK_FENCE();
      fill(first_, at, at + 1, true);
      slack_bytes += static_cast<std::uint32_t>(wanted * block_align - bytes);
      TARN_ASSERT_EVERY(64, check());
      return at * block_align;
    }
    at = end;
  }
}

std::size_t MixedPage::size_at(std::size_t offset) const noexcept {
  const std::size_t at = offset / block_align;
  if (offset % block_align != 0 || at >= grains || !bit(first_, at)) return 0;
  return (end_of(at) - at) * block_align;
}

void MixedPage::give(std::size_t offset) noexcept {
  const std::size_t at = offset / block_align;
  TARN_ASSERT(bit(first_, at));
  const std::size_t end = end_of(at);
  fill(first_, at, at + 1, false);  // First: what a fork leaves is room of the block before.
  TARN_FORK_FENCE();
  fill(used_, at, end, false);
  TARN_ASSERT_EVERY(64, check());
}

void MixedPage::count(std::size_t size_class, std::size_t bytes) noexcept {
  TARN_ASSERT(size_class < bin_count && bytes <= bytes_max);
  const std::size_t cost = size_for(bytes) * class_allocations_max / class_bytes_max;
  const std::size_t parts = cost == 0 ? 1 : cost;
  std::uint8_t& left = left_to_[size_class];
  left = parts < left ? static_cast<std::uint8_t>(left - parts) : std::uint8_t{0};
}

void MixedPage::cancel(std::size_t offset, std::size_t bytes) noexcept {
  TARN_ASSERT(allocations != 0 && size_at(offset) == size_for(bytes));
  give(offset);
  --allocations;
  slack_bytes -= static_cast<std::uint32_t>(size_for(bytes) - bytes);
  TARN_ASSERT(check());
}

bool MixedPage::resize(std::size_t offset, std::size_t bytes) noexcept {
  TARN_ASSERT(size_at(offset) != 0 && bytes <= bytes_max);
  const std::size_t at = offset / block_align;
  const std::size_t end = end_of(at);
  const std::size_t wanted = at + grains_of(bytes);
  if (wanted > end && (wanted > grains || find(used_, end, true) < wanted)) return false;
  fill(used_, at, end, false);
  fill(used_, at, wanted, true);
  TARN_ASSERT(size_at(offset) == size_for(bytes));
  return true;
}

void MixedPage::clear() noexcept {
  page = nullptr;
  TARN_FORK_FENCE();
  used_ = {};
  first_ = {};
  left_to_ = make_full_quotas();
  allocations = 0;
  slack_bytes = 0;
  slices_charged = 0;
}

bool MixedPage::empty() const noexcept { return find(first_, 0, true) == grains; }

std::uint64_t MixedPage::live_blocks() const noexcept {
  std::uint64_t count = 0;
  for (const std::uint64_t word : first_) count += static_cast<std::uint64_t>(std::popcount(word));
  return count;
}

std::uint64_t MixedPage::live_bytes() const noexcept {
  std::uint64_t count = 0;
  for (const std::uint64_t word : used_) count += static_cast<std::uint64_t>(std::popcount(word));
  return count * block_align;
}

std::uint64_t MixedPage::holes() const noexcept {
  std::uint64_t count = 0;
  for (std::size_t at = 0;; ++count) {
    at = find(used_, find(used_, at, false), true);
    if (at >= grains) return count;
  }
}

std::size_t MixedPage::block_around(std::size_t offset) const noexcept {
  std::size_t at = offset / block_align;
  if (at >= grains) return none;
  while (!bit(first_, at)) {
    if (!bit(used_, at) || at == 0) return none;
    --at;
  }
  return offset / block_align < end_of(at) ? at * block_align : none;
}

std::size_t MixedPage::next_block(std::size_t offset) const noexcept {
  const std::size_t at = find(first_, (offset + block_align - 1) / block_align, true);
  TARN_ASSERT(at <= grains);
  return at == grains ? none : at * block_align;
}

#ifdef TARN_DEBUG
bool MixedPage::check() const noexcept {
  bool is_in_block = false;
  for (std::size_t i = 0; i < grains; ++i) {
    if (bit(first_, i) && !bit(used_, i)) return false;
    is_in_block = bit(first_, i) || (is_in_block && bit(used_, i));
    if (bit(used_, i) && !is_in_block) return false;
  }
  return slices_charged <= slices;
}
#endif

}  // namespace tarn
