// exerciser: the program of requirement S0.13. Five lists grow in turn: in each iteration each list
// does one operation, which in 80 % of cases appends a string of random length 1..64, and in 20 %
// deletes the head. Then each is searched for a value that is not there, and then all are
// destroyed. Each phase is timed by the wall clock, since processor time hides paging. The same
// seed does the same work in every memory.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

#include "string_list.hpp"

namespace lists {

inline constexpr int list_count = 5;
inline constexpr unsigned append_percent = 80;
inline constexpr unsigned string_length_max = 64;

struct Plan {
  std::uint64_t iterations = 1'000'000;
  std::uint64_t seed = 1994;
  bool checksum = false;  // Also read every string between the phases, untimed.
};

struct Outcome {
  double insertion = 0;  // In seconds, like the other three.
  double search = 0;
  double deletion = 0;
  double overall = 0;
  std::uint64_t strings_left = 0;  // When insertion ended; the same in every memory.
  std::uint64_t checksum = 0;      // The checksum of these strings, if the plan asks for it.
  bool found = false;              // Whether the search found what cannot be there.
};

// SplitMix64 (Steele, Lea, Flood 2014): small, fast, and the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

// Strings of random letters, cut out of one text, so that making them costs almost nothing.
class Letters {
 public:
  explicit Letters(Random& random) noexcept {
    for (char& letter : text_) letter = static_cast<char>('a' + random.next() % 26);
  }
  std::string_view cut(std::uint64_t bits) const noexcept {
    const std::uint64_t length = 1 + bits % string_length_max;
    return {text_.data() + (bits >> 32) % (text_.size() - string_length_max), length};
  }

 private:
  std::array<char, 4096> text_{};
};

inline double seconds_between(std::chrono::steady_clock::time_point first,
                              std::chrono::steady_clock::time_point last) noexcept {
  return std::chrono::duration<double>(last - first).count();
}

template <class Memory>
Outcome exercise(const Plan& plan) {
  using Lists = std::array<StringList<Memory>, list_count>;
  Random random(plan.seed);
  const Letters letters(random);
  Outcome outcome;

  const auto start = std::chrono::steady_clock::now();
  auto lists = std::make_unique<Lists>();
  for (std::uint64_t i = 0; i < plan.iterations; ++i) {
    for (auto& list : *lists) {
      const std::uint64_t bits = random.next();
      if (bits % 100 < append_percent) {
        list.append(letters.cut(bits >> 8));
      } else {
        list.remove_head();
      }
    }
  }
  const auto inserted = std::chrono::steady_clock::now();

  for (const auto& list : *lists) {
    outcome.found |= list.contains("not made of letters: 0");
    outcome.strings_left += list.length();
  }
  const auto searched = std::chrono::steady_clock::now();

  if (plan.checksum) {
    outcome.checksum = 0xcbf29ce484222325;
    for (const auto& list : *lists) outcome.checksum = list.checksum(outcome.checksum);
  }
  const auto read = std::chrono::steady_clock::now();

  lists.reset();
  const auto destroyed = std::chrono::steady_clock::now();

  outcome.insertion = seconds_between(start, inserted);
  outcome.search = seconds_between(inserted, searched);
  outcome.deletion = seconds_between(read, destroyed);
  outcome.overall = outcome.insertion + outcome.search + outcome.deletion;
  return outcome;
}

}  // namespace lists
