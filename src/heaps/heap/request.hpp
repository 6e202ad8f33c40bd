// request: a request to a heap and its outcome, and the free of a block.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
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
  // For a large block that grows: in warm memory with room behind it; else null, and nobody is
  // asked to make room.
  bool roomy = false;
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

// What a block comes from, and what a call that ends one says that it does: the family, and the
// alignment as it was asked for. | 0 | alignment 4 | family 3 |
class Origin {
 public:
  static constexpr unsigned bits_count = 7;

  constexpr Origin() noexcept = default;  // Nothing is known.
  constexpr Origin(Family family) noexcept : bits_(static_cast<std::uint8_t>(family)) {}
  // Of no family's block is it known.
  constexpr Origin(Family family, std::size_t alignment) noexcept
      : bits_(family == Family::any ? std::uint8_t{0} : with(family, alignment)) {}
  static constexpr Origin of_bits(std::size_t bits) noexcept {
    Origin origin;
    origin.bits_ = static_cast<std::uint8_t>(bits & ((1U << bits_count) - 1));
    return origin;
  }

  constexpr std::uint8_t bits() const noexcept { return bits_; }
  constexpr Family family() const noexcept { return static_cast<Family>(bits_ & family_mask); }
  // The alignment, or alignment_most for that and all larger ones; 0: not known, or not said.
  static constexpr std::size_t alignment_most = block_align << 14;
  constexpr std::size_t alignment() const noexcept {
    const unsigned code = bits_ >> family_bits;
    return code == 0 ? 0 : block_align << (code - 1);
  }

  // True when a call of the one family may end a block of the other.
  static constexpr bool families_go(Origin block, Origin call) noexcept {
    return ((block.bits_ ^ call.bits_) & family_mask) == 0 || block.family() == Family::any ||
           call.family() == Family::any;
  }
  // Likewise, and it says no other alignment.
  static constexpr bool go_together(Origin block, Origin call) noexcept {
    const unsigned differ = block.bits_ ^ call.bits_;
    if ((differ & family_mask) == 0 && (call.bits_ <= family_mask || differ == 0)) return true;
    const unsigned said = call.bits_ >> family_bits;
    const unsigned known = block.bits_ >> family_bits;
    return families_go(block, call) && (said == 0 || known == 0 || said == known);
  }

 private:
  static constexpr unsigned family_bits = 3;
  static constexpr unsigned family_mask = (1U << family_bits) - 1;

  static constexpr std::uint8_t with(Family family, std::size_t alignment) noexcept {
    const std::size_t usual = alignment < block_align ? block_align : alignment;
    const std::size_t noted = usual < alignment_most ? usual : alignment_most;
    const int code = static_cast<int>(std::bit_width(noted)) -
                     static_cast<int>(std::bit_width(block_align)) + 1;  // Also of no power of two.
    return static_cast<std::uint8_t>(static_cast<unsigned>(code) << family_bits |
                                     static_cast<unsigned>(family));
  }

  std::uint8_t bits_ = 0;
};

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
  Origin origin{};                // The function's family, and the alignment that it is told.

  // None said: no block has this size.
  static constexpr unsigned origin_shift = 64 - Origin::bits_count;
  static constexpr std::size_t any_bytes = (std::size_t{1} << origin_shift) - 1;
};

// What a call of free or operator delete says of its block, in one word: | origin 7 | bytes 57 |
class Said {
 public:
  // pre: bytes <= any_bytes
  explicit constexpr Said(Origin origin, std::size_t bytes = FreeCall::any_bytes) noexcept
      : word_(std::size_t{origin.bits()} << FreeCall::origin_shift | bytes) {}
  explicit constexpr Said(const FreeCall& call) noexcept : Said(call.origin, call.bytes) {}
  // Of a program that says SIZE_MAX, a size that no block has is meant, and not none.
  static constexpr Said of(Origin origin, std::size_t bytes) noexcept {
    constexpr std::size_t most = FreeCall::any_bytes - 1;
    return Said(origin, bytes < most ? bytes : most);
  }
  constexpr std::size_t bytes() const noexcept { return word_ & FreeCall::any_bytes; }
  constexpr bool has_bytes() const noexcept { return bytes() != FreeCall::any_bytes; }
  constexpr Origin origin() const noexcept {
    return Origin::of_bits(word_ >> FreeCall::origin_shift);
  }
  // The call, of the family's function. `site` is its return address.
  constexpr FreeCall call(const void* site) const noexcept {
    return {free_name(origin().family()), site, bytes(), origin()};
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
