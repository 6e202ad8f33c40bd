// size_counts: see size_counts.hpp.
// SPDX-License-Identifier: MIT
#include "size_counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "failure.hpp"
#include "quantity.hpp"
#include "tarn/heap/heap.h"

namespace tarn {

namespace {

constexpr std::string_view between = " \t\r,;";

// Takes the next word off a line. Empty at its end.
std::string_view next_word(std::string_view& line) {
  const std::size_t start = std::min(line.find_first_not_of(between), line.size());
  const std::size_t end = std::min(line.find_first_of(between, start), line.size());
  const std::string_view word = line.substr(start, end - start);
  line.remove_prefix(end);
  return word;
}

bool parse_number(std::string_view word, std::uint64_t most, std::uint64_t* number) {
  const char* const end = word.data() + word.size();
  const auto [stopped, error] = std::from_chars(word.data(), end, *number);
  return error == std::errc{} && stopped == end && *number <= most;
}

// A word from a file, made fit to print and cut to a line.
std::string quoted(std::string_view word) {
  const std::string text = text_of_name(word.substr(0, 40));
  return fmt::format("'{}{}'", text, word.size() > 40 ? "..." : "");
}

// False for a line without a size. Throws the reason otherwise.
bool parse_line(std::string_view line, SizeCount* row) {
  line = line.substr(0, line.find('#'));
  const std::string_view size = next_word(line);
  if (size.empty()) return false;
  if (!parse_number(size, PTRDIFF_MAX, &row->bytes)) {
    throw std::string(quoted(size) + " is no size in bytes");
  }
  row->count = 1;
  const std::string_view count = next_word(line);
  if (count.empty()) return true;
  if (!parse_number(count, requests_max, &row->count) || row->count == 0) {
    throw fmt::format("{} is no number of requests (1 to {})", quoted(count), requests_max);
  }
  const std::string_view more = next_word(line);
  if (!more.empty()) {
    throw fmt::format("{} is one word too many: a line has a size, or a size and how often",
                      quoted(more));
  }
  return true;
}

}  // namespace

SizeCounts sum_up(std::vector<SizeCount> sizes, const std::string& where) {
  std::ranges::sort(sizes, {}, &SizeCount::bytes);
  SizeCounts counts;
  for (const SizeCount& row : sizes) {
    const std::uint64_t before = counts.requests + counts.large_requests;
    if (row.count > requests_max || before > requests_max - row.count) {
      throw Failure(status_usage,
                    fmt::format("{}: more than {} requests in all", where, requests_max));
    }
    if (row.count == 0) continue;
    if (row.bytes > TARN_HEAP_CLASS_BYTES_MAX) {
      counts.large_requests += row.count;
      counts.large_bytes += static_cast<double>(row.bytes) * static_cast<double>(row.count);
      continue;
    }
    counts.requests += row.count;
    counts.bytes += row.bytes * row.count;
    if (!counts.sizes.empty() && counts.sizes.back().bytes == row.bytes) {
      counts.sizes.back().count += row.count;
    } else {
      counts.sizes.push_back(row);
    }
  }
  return counts;
}

SizeCounts parse_sizes(std::string_view text, const std::string& where) {
  std::vector<SizeCount> sizes;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    SizeCount row;
    try {
      if (parse_line(text.substr(0, end), &row)) sizes.push_back(row);
    } catch (const std::string& reason) {
      throw Failure(status_usage, fmt::format("{}:{}: {}", where, number, reason));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (sizes.empty()) throw Failure(status_usage, fmt::format("{}: there is no size in it", where));
  return sum_up(std::move(sizes), where);
}

SizeCounts read_sizes(const std::string& file) {
  std::ostringstream text;
  const std::string where = file == "-" ? "standard input" : text_of_name(file);
  if (file == "-") {
    text << std::cin.rdbuf();
  } else {
    errno = 0;
    std::ifstream stream(file);
    // A folder can be opened, but reads as nothing.
    if (!stream.is_open() || (stream.peek() == EOF && errno != 0)) {
      throw Failure(status_usage, fmt::format("cannot read '{}': {}", where, std::strerror(errno)));
    }
    text << stream.rdbuf();
  }
  return parse_sizes(text.str(), where);
}

std::string text_of_sizes(const SizeCounts& counts) {
  std::string text = "# size in bytes, requests\n";
  for (const SizeCount& row : counts.sizes) text += fmt::format("{} {}\n", row.bytes, row.count);
  if (counts.large_requests != 0) {
    text += fmt::format("# and {} above {}\n", counts.large_requests, TARN_HEAP_CLASS_BYTES_MAX);
  }
  return text;
}

std::uint64_t reserved_bytes(const SizeCounts& counts, const std::vector<std::size_t>& classes) {
  assert(counts.empty() || counts.sizes.back().bytes <= classes.back());
  std::uint64_t reserved = 0;
  std::size_t at = 0;
  for (const SizeCount& row : counts.sizes) {
    while (classes[at] < row.bytes) ++at;
    reserved += row.count * classes[at];
  }
  return reserved;
}

std::size_t moves_of_growth(const SizeCounts& counts, const std::vector<std::size_t>& classes) {
  if (counts.empty()) return 0;
  const auto first = std::ranges::lower_bound(classes, counts.sizes.front().bytes);
  const auto last = std::ranges::lower_bound(classes, counts.sizes.back().bytes);
  return static_cast<std::size_t>(last - first);
}

}  // namespace tarn
