// best_table: see best_table.hpp.
// SPDX-License-Identifier: MIT
#include "best_table.hpp"

#include <algorithm>
#include <cassert>

namespace tarn {

namespace {

constexpr std::uint64_t impossible = UINT64_MAX;

std::size_t rounded(std::uint64_t bytes) {
  constexpr std::size_t grain = TARN_HEAP_CLASS_GRAIN;
  return std::max<std::size_t>((bytes + grain - 1) / grain, 1) * grain;
}

}  // namespace

BestTables::BestTables(const SizeCounts& counts, std::size_t count_most) : asked_(counts.bytes) {
  assert(!counts.empty() && count_most >= 1);
  for (const SizeCount& row : counts.sizes) {
    const std::size_t bytes = rounded(row.bytes);
    if (bytes != bytes_.back()) {
      bytes_.push_back(bytes);
      requests_.push_back(requests_.back());
    }
    requests_.back() += row.count;
  }
  const std::size_t n = bytes_.size() - 1;
  Row none{std::vector<std::uint64_t>(n + 1, impossible), std::vector<std::uint32_t>(n + 1, 0)};
  none.reserved[0] = 0;
  const Row* below = &none;
  rows_.reserve(std::min(count_most, n));
  while (rows_.size() < std::min(count_most, n)) {
    const std::size_t k = rows_.size() + 1;
    Row row{std::vector<std::uint64_t>(n + 1, impossible), std::vector<std::uint32_t>(n + 1, 0)};
    fill(row, *below, k, n + 1, k - 1, n - 1);
    rows_.push_back(std::move(row));
    below = &rows_.back();
  }
}

// Fills in row[first, end), where the best i lie from before_first to before_last.
void BestTables::fill(Row& row, const Row& below, std::size_t first, std::size_t end,
                      std::size_t before_first, std::size_t before_last) const {
  if (first >= end) return;
  const std::size_t j = first + (end - first) / 2;
  for (std::size_t i = before_first; i <= std::min(before_last, j - 1); ++i) {
    if (below.reserved[i] == impossible) continue;
    const std::uint64_t reserved = below.reserved[i] + bytes_[j] * (requests_[j] - requests_[i]);
    if (reserved < row.reserved[j]) {
      row.reserved[j] = reserved;
      row.before[j] = static_cast<std::uint32_t>(i);
    }
  }
  fill(row, below, first, j, before_first, row.before[j]);
  fill(row, below, j + 1, end, row.before[j], before_last);
}

std::vector<std::size_t> BestTables::table(std::size_t count) const {
  assert(count >= 1 && count <= count_max());
  std::vector<std::size_t> classes(count);
  std::size_t served = bytes_.size() - 1;
  for (std::size_t k = count; k != 0; --k) {
    classes[k - 1] = bytes_[served];
    served = rows_[k - 1].before[served];
  }
  return classes;
}

std::size_t BestTables::knee(double part) const {
  const double least = part * static_cast<double>(std::max<std::uint64_t>(asked_, 1));
  std::size_t count = 1;
  while (count < count_max() &&
         static_cast<double>(reserved_bytes(count) - reserved_bytes(count + 1)) >= least) {
    ++count;
  }
  return count;
}

}  // namespace tarn
