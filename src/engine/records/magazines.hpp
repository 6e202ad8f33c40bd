// magazines: freed blocks at hand, in front of the pages: for each class of malloc's own heap an
// array of pointers, a thread's own. (Bonwick and Adams, 2001.)
//
//   bottom           top              end
//   | null | oldest ... newest | free slots |
//
// free puts a block at top, malloc takes the one below it; null there says that the magazine is
// empty. Neither touches the block, or the descriptor of its page. To its page such a block is
// live. Only blocks of the thread's own pages come here: free knows them by the slice's tag
// (engine/spans/page_map.hpp), which is the thread's key and the page's class. The slow paths are
// engine/threads/magazine_care.hpp; docs/design/magazines.md says why, and what was measured.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "engine/layout/size_class.hpp"
#include "engine/pages/page.hpp"
#include "engine/spans/page_map.hpp"
#include "platform/base/check.hpp"
#include "platform/base/config.hpp"
#include "platform/base/watched.hpp"

namespace tarn {

using SlotPointer = Block**;

// A key is in the upper bits of a tag, the class in the lower ones.
inline constexpr unsigned magazine_key_shift = 7;
inline constexpr std::uint32_t magazine_keys = 1u << (16 - magazine_key_shift);
static_assert(class_count <= std::size_t{1} << magazine_key_shift);
constexpr std::size_t class_of_tag(SliceTag tag) noexcept {
  return tag & ((1u << magazine_key_shift) - 1);
}
// The key of threads that have no magazines: no tag has it. Key 0 is that of tags that say nothing.
inline constexpr std::uint32_t no_magazine_key = (magazine_keys - 1) << magazine_key_shift;

// The places of a magazine: few in memory that neighbouring classes share, and, for a class that
// is often full, as many as this in memory of its own. And the most that blocks at hand may have.
inline constexpr std::size_t magazine_blocks_first = 15;
inline constexpr std::size_t magazine_blocks_most = 63;
inline constexpr std::size_t magazine_bytes_most = 128 * 1024;

// The magazine of classes that have none: it rests.
extern Block* const no_slots[2];
constexpr SlotPointer no_top() noexcept { return const_cast<SlotPointer>(no_slots + 1); }
template <class Slot, std::size_t... c>
constexpr std::array<Slot, sizeof...(c)> no_tops(std::index_sequence<c...>) noexcept {
  return {(static_cast<void>(c), Slot{no_top()})...};
}

// What slow paths keep for a class.
struct MagazineCare {
  Watched<SlotPointer> bottom;     // The slot that is always null.
  SlotPointer seen = nullptr;      // Where top was,
  std::uint64_t taken = 0;         // and how often a block had been taken, at the last look.
  std::uint64_t taken_before = 0;  // When it was woken, or full the last time.
  std::size_t places = 0;
  std::size_t run = 0;      // How many blocks have come since one was taken, when it was last full.
  std::uint32_t fills = 0;  // How often it was full, but for runs of frees.
};

// Magazines of neighbouring classes: made when the first of them is used, and never freed.
inline constexpr std::size_t magazine_group = 8;
struct MagazineGroup {
  std::array<MagazineCare, magazine_group> care;
  std::array<std::array<Block*, magazine_blocks_first + 1>, magazine_group> slots;
};
inline constexpr std::size_t magazine_groups = (class_count + magazine_group - 1) / magazine_group;

struct Magazines {
  // Never null.
  std::array<Watched<SlotPointer>, class_count> top =
      no_tops<Watched<SlotPointer>>(std::make_index_sequence<class_count>());
  std::array<SlotPointer, class_count> end =
      no_tops<SlotPointer>(std::make_index_sequence<class_count>());
  std::array<Watched<std::uint64_t>, class_count> taken{};  // How many blocks malloc has taken.
  std::uint32_t key = no_magazine_key;
  std::array<std::atomic<MagazineGroup*>, magazine_groups> groups{};  // As ThreadHeap::groups.
  std::array<std::uint64_t, (class_count + 63) / 64> open{};  // The classes that do not rest.

  bool is_served() const noexcept { return key != no_magazine_key; }
  SliceTag tag(std::size_t size_class) const noexcept {
    return is_served() ? static_cast<SliceTag>(key | size_class) : SliceTag{0};
  }

  // True when the magazine is empty and has no room either, so blocks of the class go past it:
  // until freed blocks of the class are allocated again, and after a run of frees has filled it.
  TARN_INLINE bool rests(std::size_t size_class) const noexcept {
    const SlotPointer at = top[size_class];
    return at == end[size_class] && *(at - 1) == nullptr;
  }

  // Null where no magazine of the group was ever used. Any thread.
  MagazineCare* find_care(std::size_t size_class) const noexcept {
    TARN_ASSERT(size_class < class_count);
    MagazineGroup* const group =
        groups[size_class / magazine_group].load(std::memory_order_acquire);
    return group == nullptr ? nullptr : &group->care[size_class % magazine_group];
  }

  // The number of blocks at hand. Any thread; of another moment than what else it reads.
  std::size_t count(std::size_t size_class) const noexcept {
    const MagazineCare* const care = find_care(size_class);
    if (care == nullptr) return 0;
    const SlotPointer first = SlotPointer{care->bottom} + 1;
    const auto blocks = static_cast<std::size_t>(SlotPointer{top[size_class]} - first);
    return blocks <= magazine_blocks_most ? blocks : 0;  // More: it was changing its slots.
  }

  // Calls visit(block). pre: the thread is at rest
  template <class Visit>
  void for_each(std::size_t size_class, Visit visit) const noexcept {
    const SlotPointer newest = SlotPointer{top[size_class]} - 1;
    for (std::size_t i = count(size_class); i != 0; --i) visit(*(newest + 1 - i));
  }
};

// The newest block; null when the magazine is empty.
TARN_INLINE void* magazine_take(Magazines& magazines, std::size_t size_class) noexcept {
  Block* const block = *(SlotPointer{magazines.top[size_class]} - 1);
  if (TARN_UNLIKELY(block == nullptr)) return nullptr;
  ++magazines.taken[size_class];
  // What is read before is read again, so that this is one instruction.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  magazines.top[size_class] = SlotPointer{magazines.top[size_class]} - 1;
  return block;
}

// False when the magazine is full. pre: the block's tag is of the class and of the calling thread
TARN_INLINE bool magazine_put(Magazines& magazines, std::size_t size_class, void* block) noexcept {
  const SlotPointer top = magazines.top[size_class];
  if (TARN_UNLIKELY(top == magazines.end[size_class])) return false;
  *top = static_cast<Block*>(block);
  // A fork finds the block there before the magazine says so. (What is read before is read again.)
  TARN_FORK_FENCE();
  magazines.top[size_class] = SlotPointer{magazines.top[size_class]} + 1;
  return true;
}

}  // namespace tarn
