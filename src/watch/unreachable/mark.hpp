// mark: what is reached from what. Blocks that are reached wait on a stack until they have been
// read; it has room for all live blocks, so nothing can fail once it is made.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/os/standstill.hpp"
#include "watch/unreachable/block_index.hpp"
#include "watch/unreachable/mappings.hpp"
#include "watch/unreachable/nodes.hpp"

namespace tarn {

// Calls hit(spot) for the live blocks whose addresses, or addresses of bytes in them, are in the
// words from `from` to `to`.
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

  // Memory may go while it is read: it is copied first, where the OS finds it.
  void be_careful() noexcept { careful_ = true; }

  // What the words lead to is reached, and all that leads from there.
  void add_words(os::Bytes bytes) noexcept;
  // As above, of a thread's own: also what has no more than a descriptor there.
  void add_words_in_use(os::Bytes bytes) noexcept;
  void add_block(Spot spot) noexcept;
  void add_block_at(const void* p) noexcept;

  // Of the blocks that are not reached, those that others of them lead to. Afterwards `leads` is
  // false of blocks that are direct.
  void find_indirect() noexcept;
  bool is_indirect(Spot spot) const noexcept { return bit(indirect_, spot); }

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
    return (bits[i / 64] >> (i % 64) & 1) != 0;
  }
  // True: it was not, until now.
  bool set_bit(std::uint64_t* bits, Spot spot) noexcept {
    const std::uint64_t i = index_.number_of(spot);
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
  std::uint64_t* indirect_ = nullptr;  // Another one leads to it.
  std::uint64_t* covered_ = nullptr;   // A direct one does, at last.
};

}  // namespace tarn
