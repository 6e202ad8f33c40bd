// request: a request to a heap and its outcome, and the free of a block.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/layout/size_class.hpp"
#include "engine/records/record.hpp"

namespace tarn {

// The functions that a block comes from and by which it is to go. Only heaps that check their
// blocks remember it.
enum class Family : std::uint8_t {
  any,  // Not known, and that of heaps of one's own: these take their blocks back from every one.
  malloc,
  object,  // operator new
  array,   // operator new[]
  aligned_object,
  aligned_array,
};

struct Request {
  std::size_t bytes;
  std::size_t alignment = block_align;
  bool zero = false;
  const char* function;  // The public function that was called, for reports.
  Family family = Family::any;
  const FixedClass* fixed = nullptr;  // Not null: a request for a block of this class.
  const void* site = nullptr;         // Return address of the public function, for reports.
  // The caller names no heap: if the heap has ended, the result is null, without a report.
  bool may_end = false;
  void* block = nullptr;  // A block to be resized, in a page of the heap.
  // The class of `block`. If the request is for the same class, `block` itself is the result.
  std::size_t block_class = 0;
};

// True when a call of the one family may end a block of the other.
constexpr bool go_together(Family block, Family call) noexcept {
  return block == call || block == Family::any || call == Family::any;
}

enum class Outcome : std::uint8_t {
  done,
  again,    // The heap was held exclusively, or is no longer young: start again.
  refused,  // A ceiling refused it.
  out_of_memory,
  ended,  // The heap was destroyed meanwhile.
  frozen,
};

struct Attempt {
  Outcome outcome;
  void* block;
  HeapRecord* refused_by;
  bool zeroed = false;          // The block is known to read as zero.
  bool soft_marks_due = false;  // The callbacks of soft marks of the heap or its ancestors are due.
};

// The function of a family that ends a block.
constexpr const char* free_name(Family family) noexcept {
  switch (family) {
    case Family::object:
    case Family::aligned_object: return "operator delete";
    case Family::array:
    case Family::aligned_array: return "operator delete[]";
    case Family::any:
    case Family::malloc: break;
  }
  return "free";
}

// A call by which a program ends or changes a block.
struct FreeCall {
  const char* function;           // The public function that was called, for reports.
  const void* site;               // Return address of the public function.
  std::size_t bytes = any_bytes;  // The size that the program says it asked for.
  Family family = Family::any;    // That of the function.

  // None said: no block has this size.
  static constexpr unsigned family_shift = 61;
  static constexpr std::size_t any_bytes = (std::size_t{1} << family_shift) - 1;
};

// What a call of free or operator delete says of its block, in one word: | family 3 | bytes 61 |
class Said {
 public:
  // pre: bytes <= any_bytes
  explicit constexpr Said(Family family, std::size_t bytes = FreeCall::any_bytes) noexcept
      : word_(static_cast<std::size_t>(family) << FreeCall::family_shift | bytes) {}
  // Of a program that says SIZE_MAX, a size that no block has is meant, and not none.
  static constexpr Said of(Family family, std::size_t bytes) noexcept {
    constexpr std::size_t most = FreeCall::any_bytes - 1;
    return Said(family, bytes < most ? bytes : most);
  }
  constexpr std::size_t bytes() const noexcept { return word_ & FreeCall::any_bytes; }
  constexpr bool has_bytes() const noexcept { return bytes() != FreeCall::any_bytes; }
  constexpr Family family() const noexcept {
    return static_cast<Family>(word_ >> FreeCall::family_shift);
  }
  // The call, of the family's function. `site` is its return address.
  constexpr FreeCall call(const void* site) const noexcept {
    return {free_name(family()), site, bytes(), family()};
  }

 private:
  std::size_t word_;
};
static_assert(sizeof(Said) == sizeof(std::size_t));

// What is to be said of a block of the family.
constexpr const char* expected_free(Family family) noexcept {
  switch (family) {
    case Family::aligned_object: return "operator delete with an alignment";
    case Family::aligned_array: return "operator delete[] with an alignment";
    default: return free_name(family);
  }
}

}  // namespace tarn
