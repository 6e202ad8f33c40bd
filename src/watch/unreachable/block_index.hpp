// block_index: the blocks as a search sees them. For any address it finds the block that contains
// it, in two loads and a division, and what is known of each block, in bits.
//
//   address --slice--> 0: not tarn's | 1: tarn's, no block | number of a range
//   range: base, size of its places | first bit ---> words of 64 places: live, reached, live, ...
//
// It is built while all lists are at rest (hold_lists), in memory from the OS.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/layout/geometry.hpp"
#include "engine/pages/page.hpp"
#include "engine/records/record.hpp"
#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"
#include "platform/standstill/standstill.hpp"
#include "watch/unreachable/scratch.hpp"

namespace tarn {

enum class BlockRangeKind : std::uint8_t { page, mixed, checked, lone, large };

// A span with blocks. Its places for blocks are numbered in the order of their addresses.
struct BlockRange {
  const std::byte* base;
  std::uint64_t first_bit;    // The number of the first place's bit; a multiple of 64.
  std::uint32_t place_bytes;  // 0: there is one place.
  std::uint32_t places;
  const Page* page;    // The descriptor.
  HeapRecord* record;  // The heap of the blocks.
  BlockRangeKind kind;
  bool is_wanted;  // Its blocks are listed when nothing reaches them.
  bool is_kept;    // All its blocks count as reached.
};

// A live block, by its range and place.
struct Spot {
  std::uint32_t range;
  std::uint32_t place;
};

class BlockIndex {
 public:
  // Builds the index. False when out of memory. pre: the lists are held
  bool begin(Scratch& scratch) noexcept;

  // Marks slices as tarn's without blocks, so that they are no root. False when out of memory.
  bool add_own(const std::byte* start, std::size_t bytes) noexcept;

  // False when no block contains the address. It may be true of others.
  bool may_have(std::uintptr_t address) const noexcept { return address - lowest_ < extent_; }

  // Finds the live block that contains the address. False when there is none.
  bool find(std::uintptr_t address, Spot* spot) const noexcept {
    if (!may_have(address)) return false;
    const std::uint32_t number = slice_at(address);
    return number >= first_range_ && find_in(ranges_[number], number, address, spot);
  }
  // As above, for a block that begins at the address.
  bool find_start(std::uintptr_t address, Spot* spot) const noexcept {
    return find(address, spot) && address_of(bytes_of_block(*spot).start) == address;
  }

  // Whether the slice of the address is tarn's, with blocks or without.
  bool is_own(const std::byte* page) const noexcept { return slice_at(address_of(page)) != 0; }

  // The bytes of a block that the program may use.
  os::Bytes bytes_of_block(Spot spot) const noexcept;
  const void* site_of(Spot spot) const noexcept;
  const BlockRange& range(std::uint32_t number) const noexcept {
    TARN_ASSERT(number >= first_range_ && number < range_end_);
    return ranges_[number];
  }
  BlockRange& range(std::uint32_t number) noexcept {
    TARN_ASSERT(number >= first_range_ && number < range_end_);
    return ranges_[number];
  }

  // Marks a block as reached. True when it was not before.
  bool reach(Spot spot) noexcept {
    TARN_ASSERT(is_live(range(spot.range), spot.place));
    const std::uint64_t i = ranges_[spot.range].first_bit + spot.place;
    std::uint64_t& word = bits_[i / 64 * 2 + 1];
    const std::uint64_t bit = std::uint64_t{1} << (i % 64);
    if ((word & bit) != 0) return false;
    word |= bit;
    return true;
  }
  bool is_reached(Spot spot) const noexcept {
    TARN_ASSERT(is_live(range(spot.range), spot.place));
    const std::uint64_t i = ranges_[spot.range].first_bit + spot.place;
    return (bits_[i / 64 * 2 + 1] >> (i % 64) & 1) != 0;
  }
  // The number of a block's bit, less than bit_count().
  std::uint64_t number_of(Spot spot) const noexcept {
    TARN_ASSERT(spot.place < range(spot.range).places);
    return ranges_[spot.range].first_bit + spot.place;
  }
  std::uint64_t bit_count() const noexcept { return bit_count_; }
  std::uint64_t live_count() const noexcept { return live_count_; }
  std::uint64_t live_bytes() const noexcept { return live_bytes_; }
  std::uint32_t first_range() const noexcept { return first_range_; }
  std::uint32_t range_end() const noexcept { return range_end_; }

  // Calls visit(spot) for the blocks that contain memory of other heaps.
  template <class Visit>
  void for_each_host(Visit visit) const noexcept {
    for (std::uint64_t i = 0; i < host_count_; ++i) visit(hosts_[i]);
  }

  // Calls visit(spot) for the live blocks that count as reached because a thread is at work on
  // them.
  template <class Visit>
  void for_each_kept(Visit visit) const noexcept {
    for (std::uint32_t g = first_range_; g < range_end_; ++g) {
      for (std::uint32_t i = 0; ranges_[g].is_kept && i < ranges_[g].places; ++i) {
        if (is_live(ranges_[g], i)) visit(Spot{g, i});
      }
    }
  }

  // Finds the block of a span of one block by the address of its descriptor; false when that is
  // none. A thread that is taking or freeing such a block may for a moment know only the
  // descriptor.
  bool find_by_descriptor(std::uintptr_t address, Spot* spot) const noexcept;

  // Whether the slice at the address belongs to the range, and not to memory that lies inside its
  // block.
  bool has_slice(std::uint32_t range, const std::byte* at) const noexcept {
    return slice_at(address_of(at)) == range;
  }

  // Calls visit(spot) for the live blocks that are not reached, range by range.
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

  // Every invariant: the bits of ranges follow each other, and only live blocks are reached.
  bool check() const noexcept {
    std::uint64_t next_bit = 0;
    std::uint64_t live = 0;
    for (std::uint32_t g = first_range_; g < range_end_; ++g) {
      if (!check_range(ranges_[g], next_bit, &live)) return false;
      next_bit += align_up(ranges_[g].places, std::size_t{64});
    }
    return next_bit == bit_count_ && next_bit <= room_.bits && live == live_count_ &&
           range_end_ - first_range_ <= room_.ranges && host_count_ <= room_.chunks;
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
  bool check_range(const BlockRange& range, std::uint64_t first_bit,
                   std::uint64_t* live) const noexcept {
    if (range.first_bit != first_bit || address_of(range.base) - lowest_ >= extent_) return false;
    for (std::uint64_t i = 0; i < range.places; i += 64) {
      const std::uint64_t* const words = &bits_[(first_bit + i) / 64 * 2];
      const std::uint64_t rest = range.places - i;
      const std::uint64_t beyond = rest < 64 ? ~std::uint64_t{0} << rest : 0;
      if ((words[0] & beyond) != 0 || (words[1] & ~words[0]) != 0) return false;
      *live += static_cast<std::uint64_t>(__builtin_popcountll(words[0]));
    }
    return true;
  }
  bool set_slices(const std::byte* start, std::size_t bytes, std::uint32_t number) noexcept;
  bool add_all_own() noexcept;
  bool add_chunks() noexcept;
  bool add_ranges(bool apart) noexcept;
  bool add_range(const Page& page, HeapRecord* record) noexcept;
  void fill(BlockRange& range) noexcept;
  void fill_page(BlockRange& range) noexcept;
  std::uint32_t strike_list(const BlockRange& range, const Block* block) noexcept;
  void strike_at_hand() noexcept;
  void strike(const BlockRange& range, std::uint32_t place) noexcept {
    TARN_ASSERT(is_live(range, place));
    const std::uint64_t i = range.first_bit + place;
    bits_[i / 64 * 2] &= ~(std::uint64_t{1} << (i % 64));
  }
  void set_live(const BlockRange& range, std::uint32_t place) noexcept {
    TARN_ASSERT(place < range.places);
    const std::uint64_t i = range.first_bit + place;
    bits_[i / 64 * 2] |= std::uint64_t{1} << (i % 64);
  }
  bool is_live(const BlockRange& range, std::uint32_t place) const noexcept {
    TARN_ASSERT(place < range.places);
    const std::uint64_t i = range.first_bit + place;
    return (bits_[i / 64 * 2] >> (i % 64) & 1) != 0;
  }

  // What begin() has counted, and made room for.
  struct Room {
    std::uint64_t ranges = 0;
    std::uint64_t bits = 0;
    std::uint64_t chunks = 0;
  };

  // A hash table with open addressing, from descriptors to ranges of one block.
  bool make_descriptors() noexcept;
  std::size_t slot_of(std::uintptr_t descriptor) const noexcept {
    return hashed_place(descriptor >> 7, descriptor_bits_);
  }
  std::uint32_t* descriptors_ = nullptr;  // Numbers of ranges. 0: free.
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
  std::uintptr_t lowest_ = 0;  // The lowest address of all ranges.
  std::uintptr_t extent_ = 0;  // The bytes from there to the end of the highest one.
};

// How far the library's lists are at rest while other threads stand still.
enum class Rest : std::uint8_t {
  no,       // A list or a block cannot be found.
  partial,  // Threads are at work on their pages, or on a heap: blocks may be in no list.
  full,     // All lists are at rest.
};
Rest rest() noexcept;  // pre: the lists are held

// Takes the locks of all lists by which spans are found, so that these stay at rest. Tries once;
// false when another thread holds one of the locks.
bool try_hold_lists() noexcept;

// As above, but waits for the locks for a while. Not for ever, since a signal handler may have
// interrupted a thread that holds what another one waits for.
bool hold_lists() noexcept;
void let_lists_go() noexcept;

// False when the calling thread is in the middle of changing its lists.
bool is_outside() noexcept;

// Waits for a lock for up to 200 ms. False when it is still held then, or by the calling thread.
bool take_unless_stuck(os::Lock& lock) noexcept;

}  // namespace tarn
