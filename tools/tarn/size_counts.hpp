// size_counts: how often each size was asked for: read from text, written as text, and what a class
// table makes of it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tarn {

struct SizeCount {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
};

// Sizes ascend, none twice, no count is 0; those above the largest class stand apart.
struct SizeCounts {
  std::vector<SizeCount> sizes;
  std::uint64_t requests = 0;  // Of these sizes; at most requests_max.
  std::uint64_t bytes = 0;     // That they asked for.
  std::uint64_t large_requests = 0;
  double large_bytes = 0;

  bool empty() const noexcept { return requests == 0; }
};

// With so many of the largest class no sum of bytes overflows.
inline constexpr std::uint64_t requests_max = std::uint64_t{1} << 46;

// In any order, sizes perhaps several times. Throws Failure beyond requests_max; `where` is for it.
SizeCounts sum_up(std::vector<SizeCount> sizes, const std::string& where);

// One size a line, or a size and how often; after # comes a comment. Throws Failure with the line
// that is wrong, or when there is none.
SizeCounts parse_sizes(std::string_view text, const std::string& where);
// "-" is stdin.
SizeCounts read_sizes(const std::string& file);
std::string text_of_sizes(const SizeCounts& counts);

// What the requests reserve in blocks of these classes. pre: ascending; the last holds the largest
std::uint64_t reserved_bytes(const SizeCounts& counts, const std::vector<std::size_t>& classes);

// How often a block moves that grows from the least size to the largest in small steps.
std::size_t moves_of_growth(const SizeCounts& counts, const std::vector<std::size_t>& classes);

}  // namespace tarn
