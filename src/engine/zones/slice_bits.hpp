// slice_bits: which slices of a run are in use, a bit for each, and where so many free ones lie
// together. The first fit is taken, so that memory that was never used stays so.
//
//   slice   0 1 2 3 4 5 6 7 8 ...
//   used    1 1 1 0 0 1 0 0 0 ...        find(3) == 6
//
// A search reads a word for every 64 slices that it passes. What the last search passed is
// remembered, so a run that fills up is not searched from its start each time.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn {

class SliceBits {
 public:
  static constexpr std::size_t none = SIZE_MAX;

  static constexpr std::size_t bytes_for(std::size_t slices) noexcept {
    return (slices + 63) / 64 * sizeof(std::uint64_t);
  }

  // Begins with all slices free. words: bytes_for(slices) of zeros. pre: slices != 0
  void begin(std::uint64_t* words, std::size_t slices) noexcept;

  // The first of `count` free slices; `first_slice` + its index is a multiple of `alignment`, a
  // power of two. `none` when there is no such run. pre: count != 0
  std::size_t find(std::size_t count, std::size_t first_slice, std::size_t alignment) noexcept;

  // The first slice of the last such run, at any address, for what is to lie out of the way. pre:
  // count != 0
  std::size_t find_last(std::size_t count) const noexcept;

  // pre: all of them are free
  void take(std::size_t first, std::size_t count) noexcept;
  // pre: all of them are in use
  void give(std::size_t first, std::size_t count) noexcept;

  // pre: first + count <= slices()
  bool all_free(std::size_t first, std::size_t count) const noexcept {
    return next(first, first + count, true) == first + count;
  }

  // The first slice from `from` on that is in use (or free); `end` if there is none before it.
  std::size_t next(std::size_t from, std::size_t end, bool used) const noexcept;

  std::size_t slices() const noexcept { return slices_; }
  std::size_t free_slices() const noexcept { return free_; }

  // Makes all slices free, whatever the bits say: they may be half-written.
  void clear() noexcept;

  bool check() const noexcept;

 private:
  void fill(std::size_t first, std::size_t count, bool used) noexcept;

  std::uint64_t* words_ = nullptr;
  std::size_t slices_ = 0;
  std::size_t free_ = 0;
  // No run of passed_count_ free slices begins before passed_end_.
  std::size_t passed_count_ = 1;
  std::size_t passed_end_ = 0;
};

}  // namespace tarn
