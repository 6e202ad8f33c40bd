// size_counts: how often each size was asked for: read from text, written as text, and judged
// against a class table.
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

// The sizes ascend strictly, and no count is 0. Those above the largest class are kept apart.
struct SizeCounts {
  std::vector<SizeCount> sizes;
  std::uint64_t requests = 0;  // Their number; at most requests_max.
  std::uint64_t bytes = 0;     // The bytes that they asked for.
  std::uint64_t large_requests = 0;
  double large_bytes = 0;

  bool empty() const noexcept { return requests == 0; }
};

// With so many requests for the largest class no sum of bytes overflows.
inline constexpr std::uint64_t requests_max = std::uint64_t{1} << 46;

// Sums up counts in any order, where sizes may occur several times. Throws Failure, which names
// `where`, beyond requests_max.
SizeCounts sum_up(std::vector<SizeCount> sizes, const std::string& where);

// Reads a size in each line, or a size and its count. A # begins a comment. Throws Failure with the
// line that is wrong, or when there is no size.
SizeCounts parse_sizes(std::string_view text, const std::string& where);
// Reads a file; "-" is stdin.
SizeCounts read_sizes(const std::string& file);
std::string text_of_sizes(const SizeCounts& counts);

// The bytes that the requests reserve in blocks of these classes. pre: the classes ascend, and the
// last one holds the largest size
std::uint64_t reserved_bytes(const SizeCounts& counts, const std::vector<std::size_t>& classes);

// How often a block moves that grows from the least size to the largest in small steps.
std::size_t moves_of_growth(const SizeCounts& counts, const std::vector<std::size_t>& classes);

}  // namespace tarn
