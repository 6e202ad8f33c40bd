// mark: finds what is reached from what. Blocks that are reached wait on a stack until they have
// been read. The stack has room for all live blocks, so nothing can fail once it is made.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/base/check.hpp"
#include "platform/standstill/standstill.hpp"
#include "watch/unreachable/block_index.hpp"
#include "watch/unreachable/mappings.hpp"
#include "watch/unreachable/nodes.hpp"

namespace tarn {

// Calls hit(value) for the aligned words in the bytes that may be addresses in blocks.
template <class Hit>
TARN_UNSANITIZED void for_each_word_in(const BlockIndex& index, os::Bytes bytes, Hit hit) noexcept {
  const std::uintptr_t first = align_up(address_of(bytes.start), sizeof(std::uintptr_t));
  const auto* word = reinterpret_cast<const std::uintptr_t*>(first);
  const auto* const end = reinterpret_cast<const std::uintptr_t*>(address_of(bytes.end) &
                                                                  ~(sizeof(std::uintptr_t) - 1));
  for (; word < end; ++word) {
    const std::uintptr_t value = *word;
    if (TARN_LIKELY(!index.may_have(value))) continue;
    hit(value);
  }
}

class Mark {
 public:
  Mark(BlockIndex& index, Mappings& mappings) noexcept : index_(index), mappings_(mappings) {}

  // False when out of memory.
  bool begin(Scratch& scratch) noexcept;

  // From now on memory may be unmapped while it is read, so the OS copies it first.
  void be_careful() noexcept { careful_ = true; }

  // Marks what the words lead to as reached, and all that is reached from there.
  void add_words(os::Bytes bytes) noexcept;
  // As above, for the stack and registers of a thread, which may also hold the descriptor of a
  // block instead of its address.
  void add_words_in_use(os::Bytes bytes) noexcept;
  // Marks a block as reached, and all that is reached from there.
  void add_block(Spot spot) noexcept;
  void add_block_at(const void* p) noexcept;  // The block that contains p, if any does.

  // Finds, among the blocks that are not reached, those that others of them lead to. Afterwards
  // is_indirect() tells them from direct ones.
  void find_indirect() noexcept;
  bool is_indirect(Spot spot) const noexcept {
    TARN_ASSERT(!index_.is_reached(spot));
    return bit(indirect_, spot);
  }

  // Whether find_indirect() has sorted all blocks: a direct one leads to each of the others.
  bool check() const noexcept {
    bool is_sorted = depth_ == 0;
    index_.for_each_unreached([&](Spot spot) noexcept { is_sorted &= bit(covered_, spot); });
    return is_sorted;
  }

 private:
  template <class Hit>
  void for_each_word(os::Bytes bytes, Hit hit) noexcept;
  template <class Hit>
  void for_each_named(std::uintptr_t value, Hit hit) noexcept;
  template <class Hit>
  void for_each_target(Spot spot, Hit hit) noexcept;
  void drain() noexcept;
  void cover_from(Spot spot) noexcept;

  bool bit(const std::uint64_t* bits, Spot spot) const noexcept {
    const std::uint64_t i = index_.number_of(spot);
    TARN_ASSERT(i < index_.bit_count());
    return (bits[i / 64] >> (i % 64) & 1) != 0;
  }
  // Sets the bit of a block. True when it was not set before.
  bool set_bit(std::uint64_t* bits, Spot spot) noexcept {
    const std::uint64_t i = index_.number_of(spot);
    TARN_ASSERT(i < index_.bit_count() && !index_.is_reached(spot));
    const std::uint64_t bit = std::uint64_t{1} << (i % 64);
    if ((bits[i / 64] & bit) != 0) return false;
    bits[i / 64] |= bit;
    return true;
  }

  BlockIndex& index_;
  Mappings& mappings_;
  bool careful_ = false;
  Spot* stack_ = nullptr;
  std::size_t depth_ = 0;
  std::uint64_t* indirect_ = nullptr;  // Another unreached block leads to it.
  std::uint64_t* covered_ = nullptr;   // A direct block leads to it, perhaps through others.
};

}  // namespace tarn
