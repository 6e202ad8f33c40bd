// block_index: what blocks lie in, as a search sees it: for any address the block that has it, in
// two loads and a division; and what is known of each block, in bits.
//
//   address --slice--> 0: not tarn's | 1: tarn's, no block | number of a range
//   range: base, size of its places | first bit ---> live reached, 64 places each, in turn
//
// Built while all lists are at rest (hold_lists), of memory that the OS gives.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/layout/geometry.hpp"
#include "engine/pages/page.hpp"
#include "engine/records/record.hpp"
#include "platform/base/bits.hpp"
#include "platform/os/standstill.hpp"
#include "watch/unreachable/scratch.hpp"

namespace tarn {

enum class BlockRangeKind : std::uint8_t { page, mixed, checked, lone, large };

// A span with blocks. Places are numbered by their offset.
struct BlockRange {
  const std::byte* base;
  std::uint64_t first_bit;
  std::uint32_t place_bytes;  // 0: there is one.
  std::uint32_t places;
  const Page* page;
  HeapRecord* record;  // Whose the blocks are.
  BlockRangeKind kind;
  bool is_wanted;  // Its blocks are shown when nothing reaches them.
  bool is_kept;    // All of them count as reached.
};

// A live block.
struct Spot {
  std::uint32_t range;
  std::uint32_t place;
};

class BlockIndex {
 public:
  // False when out of memory. pre: the lists are held
  bool begin(Scratch& scratch) noexcept;

  // Their slices are tarn's, and no root. False when out of memory.
  bool add_own(const std::byte* start, std::size_t bytes) noexcept;

  // False: no block has the address.
  bool may_have(std::uintptr_t address) const noexcept { return address - lowest_ < extent_; }

  // The live block that has the address; false when none has.
  bool find(std::uintptr_t address, Spot* spot) const noexcept {
    if (!may_have(address)) return false;
    const std::uint32_t number = slice_at(address);
    return number >= first_range_ && find_in(ranges_[number], number, address, spot);
  }
  // As above, and it begins there.
  bool find_start(std::uintptr_t address, Spot* spot) const noexcept {
    return find(address, spot) && address_of(bytes_of_block(*spot).start) == address;
  }

  // tarn's, with blocks or without.
  bool is_own(const std::byte* page) const noexcept { return slice_at(address_of(page)) != 0; }

  // What the program may use.
  os::Bytes bytes_of_block(Spot spot) const noexcept;
  const void* site_of(Spot spot) const noexcept;
  const BlockRange& range(std::uint32_t number) const noexcept { return ranges_[number]; }
  BlockRange& range(std::uint32_t number) noexcept { return ranges_[number]; }

  // True: it was not, until now.
  bool reach(Spot spot) noexcept {
    const std::uint64_t i = ranges_[spot.range].first_bit + spot.place;
    std::uint64_t& word = bits_[i / 64 * 2 + 1];
    const std::uint64_t bit = std::uint64_t{1} << (i % 64);
    if ((word & bit) != 0) return false;
    word |= bit;
    return true;
  }
  bool is_reached(Spot spot) const noexcept {
    const std::uint64_t i = ranges_[spot.range].first_bit + spot.place;
    return (bits_[i / 64 * 2 + 1] >> (i % 64) & 1) != 0;
  }
  std::uint64_t number_of(Spot spot) const noexcept {  // Below bit_count().
    return ranges_[spot.range].first_bit + spot.place;
  }
  std::uint64_t bit_count() const noexcept { return bit_count_; }
  std::uint64_t live_count() const noexcept { return live_count_; }
  std::uint64_t live_bytes() const noexcept { return live_bytes_; }
  std::uint32_t first_range() const noexcept { return first_range_; }
  std::uint32_t range_end() const noexcept { return range_end_; }

  // Calls visit(spot) for the blocks in which other heaps have their memory.
  template <class Visit>
  void for_each_host(Visit visit) const noexcept {
    for (std::uint64_t i = 0; i < host_count_; ++i) visit(hosts_[i]);
  }

  // Calls visit(spot) for the live blocks that count as reached since somebody is at work on them.
  template <class Visit>
  void for_each_kept(Visit visit) const noexcept {
    for (std::uint32_t g = first_range_; g < range_end_; ++g) {
      for (std::uint32_t i = 0; ranges_[g].is_kept && i < ranges_[g].places; ++i) {
        if (is_live(ranges_[g], i)) visit(Spot{g, i});
      }
    }
  }

  // The block of a span of one block whose descriptor this is; false when it is none. A thread that
  // is taking or giving back such a block may have no more than the descriptor for a moment.
  bool find_by_descriptor(std::uintptr_t address, Spot* spot) const noexcept;

  // Whether the slice at the address belongs to the range, and not to what lies in its block.
  bool has_slice(std::uint32_t range, const std::byte* at) const noexcept {
    return slice_at(address_of(at)) == range;
  }

  // Calls visit(spot) for the live blocks that are not reached, by range.
  template <class Visit>
  void for_each_unreached(Visit visit) const noexcept {
    for (std::uint32_t g = first_range_; g < range_end_; ++g) {
      const BlockRange& range = ranges_[g];
      for (std::uint64_t i = 0; i < range.places; i += 64) {
        const std::uint64_t* const words = &bits_[(range.first_bit + i) / 64 * 2];
        for (std::uint64_t rest = words[0] & ~words[1]; rest != 0; rest &= rest - 1) {
          const auto at = static_cast<std::uint32_t>(__builtin_ctzll(rest));
          visit(Spot{g, static_cast<std::uint32_t>(i) + at});
        }
      }
    }
  }

 private:
  static constexpr std::uint32_t own_ = 1;
  static constexpr std::uint32_t first_range_ = 2;

  std::uint32_t slice_at(std::uintptr_t address) const noexcept {
    if (address >> address_bits != 0) return 0;
    const std::uint32_t* const leaf = root_[address >> leaf_shift];
    return leaf == nullptr ? 0 : leaf[address >> slice_shift & (leaf_entries - 1)];
  }
  bool find_in(const BlockRange& range, std::uint32_t number, std::uintptr_t address,
               Spot* spot) const noexcept;
  bool set_slices(const std::byte* start, std::size_t bytes, std::uint32_t number) noexcept;
  bool add_all_own() noexcept;
  bool add_chunks() noexcept;
  bool add_ranges(bool apart) noexcept;
  bool add_range(const Page& page, HeapRecord* record) noexcept;
  void fill(BlockRange& range) noexcept;
  void fill_page(BlockRange& range) noexcept;
  std::uint32_t strike_list(const BlockRange& range, const Block* block) noexcept;
  void set_live(const BlockRange& range, std::uint32_t place) noexcept {
    const std::uint64_t i = range.first_bit + place;
    bits_[i / 64 * 2] |= std::uint64_t{1} << (i % 64);
  }
  bool is_live(const BlockRange& range, std::uint32_t place) const noexcept {
    const std::uint64_t i = range.first_bit + place;
    return (bits_[i / 64 * 2] >> (i % 64) & 1) != 0;
  }

  struct Room {
    std::uint64_t ranges = 0;
    std::uint64_t bits = 0;
    std::uint64_t chunks = 0;
  };

  // Finds spans of one block by their descriptor; open addressing.
  bool make_descriptors() noexcept;
  std::size_t slot_of(std::uintptr_t descriptor) const noexcept {
    constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;
    return (descriptor >> 7) * golden >> (64 - descriptor_bits_);
  }
  std::uint32_t* descriptors_ = nullptr;  // Numbers of ranges; 0: none.
  unsigned descriptor_bits_ = 1;

  Scratch* scratch_ = nullptr;
  Room room_;
  Spot* hosts_ = nullptr;
  std::uint64_t host_count_ = 0;
  std::uint32_t** root_ = nullptr;
  BlockRange* ranges_ = nullptr;
  std::uint64_t* bits_ = nullptr;
  std::uint32_t range_end_ = first_range_;
  std::uint64_t bit_count_ = 0;
  std::uint64_t live_count_ = 0;
  std::uint64_t live_bytes_ = 0;
  std::uintptr_t lowest_ = 0;  // Blocks lie from here
  std::uintptr_t extent_ = 0;  // so far.
};

// How far the library's lists are at rest while other threads stand still.
enum class Rest : std::uint8_t {
  no,       // A list, or a block, cannot be found.
  partial,  // Threads are at work on pages of theirs, or on a heap: their blocks may be in no list.
  full,
};
Rest rest() noexcept;  // pre: the lists are held

// All lists by which spans are found, at rest until they are let go. Tried once; false when another
// thread has one.
bool try_hold_lists() noexcept;

// As above; waits, but not for ever: a handler of a signal may have come upon a thread that has
// what another one waits for.
bool hold_lists() noexcept;
void let_lists_go() noexcept;

// False: the calling thread is in the midst of changing its lists.
bool is_outside() noexcept;

bool take_unless_stuck(os::Lock& lock) noexcept;

}  // namespace tarn
