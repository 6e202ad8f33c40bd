// thread_cache: free blocks of each class that a thread has at hand, in front of its pages. See
// docs/design/thread_cache.md.
//
//   list of a class:  first -> ... freed blocks, the last one first ... -> ... unreached -> null
//
// The unreached blocks are the rest of what the page at hand gave when the list was empty.
// To their pages all of these blocks are live. A freed block says so itself (FreedBlock).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/layout/size_class.hpp"
#include "engine/pages/page.hpp"
#include "engine/spans/page_map.hpp"
#include "platform/base/check.hpp"
#include "platform/base/config.hpp"
#include "platform/base/watched.hpp"

namespace tarn {

// A slice's tag is a key and a class. The class lies where it is the offset of the class's list as
// it is, so that a hit neither shifts nor compares: tag ^ key has no other bits.
inline constexpr unsigned tag_class_shift = 5;
inline constexpr std::uint32_t tag_class_mask = 127u << tag_class_shift;
static_assert(class_count < 127);  // Class 127 is that of hosted_tag.
constexpr std::size_t class_of_tag(SliceTag tag) noexcept {
  return (tag & tag_class_mask) >> tag_class_shift;
}
// True for the tag of a page of malloc's own heap, any thread's.
constexpr bool is_mallocs(SliceTag tag) noexcept {
  return tag != 0 && class_of_tag(tag) < class_count;
}

// The keys of threads, by number: the bits of a tag that are not the class's. 0 is that of tags
// that say nothing, and the last one that of hosted_tag.
inline constexpr std::uint32_t cache_keys = 1u << 9;
constexpr std::uint32_t cache_key(std::uint32_t number) noexcept {
  constexpr std::uint32_t low = (1u << tag_class_shift) - 1;
  return (number & low) | ((number & ~low) << 7);
}
static_assert((cache_key(cache_keys - 1) ^ hosted_tag) == tag_class_mask);
// The key of threads to which no page is tagged: no tag has it.
inline constexpr std::uint32_t no_cache_key = 0x10000;

// The most freed blocks of a class that are at hand, beside those that its page gave; and the most
// bytes that they may have.
inline constexpr std::size_t cached_blocks_most = 63;
inline constexpr std::size_t cached_bytes_most = 128 * 1024;

// A freed block of malloc's own heap. Its mark tells a second free: the hit path reads it, and
// malloc takes it away. What has no mark may be free all the same, as are blocks that were never
// used. (glibc has had such a word in the blocks of its thread caches since 2.29.)
struct FreedBlock : Block {
  std::uint64_t mark;
};
static_assert(sizeof(FreedBlock) <= block_align);

// The first block of a page's free list, without a mark: it may have been freed by malloc's frees.
// pre: there is one, and it is at least as large as those of class 0.
TARN_INLINE Block* page_pop_unmarked(Page* page) noexcept {
  Block* const block = page_pop(page);
  static_cast<FreedBlock*>(block)->mark = 0;
  return block;
}

// A class takes blocks that are larger by up to this part. See docs/design/thread_cache.md.
inline constexpr std::size_t larger_part = 8;

// What hits touch of a class: half a cache line.
struct alignas(32) CachedList {
  Watched<Block*> first;
  Watched<std::int64_t> room;         // How many more freed blocks it takes.
  Watched<std::uint64_t> taken;       // How many blocks malloc has taken, ever.
  Watched<std::uint64_t> reached_at;  // As long as `taken` is less, some are unreached.
};
static_assert(sizeof(CachedList) == std::size_t{1} << tag_class_shift);

// What slow paths keep of a class.
struct CachedListCare {
  Watched<std::int32_t> most;        // Blocks in the list, and room.
  std::uint32_t freed = 0;           // How many freed blocks it takes, beside what its page gave.
  std::uint32_t seen_taken = 0;      // As they were at the last look: the low parts of `taken`,
  std::uint32_t seen_room = 0;       // and of `room`.
  std::uint32_t emptied_taken = 0;   // That of `taken` when a page of the class had become empty.
  std::uint32_t emptied_blocks = 0;  // The blocks of such pages since a block was taken.
  std::uint32_t larger = 0;          // Blocks that it took of larger classes, since
  std::uint32_t larger_from = 0;     // `taken` was so much: its low part.
};

struct ThreadCache {
  std::array<CachedList, class_count> lists{};
  std::uint32_t key = no_cache_key;
  // What the process writes into its freed blocks: a random number, so that no program does.
  Watched<std::uint64_t> freed_mark;
  bool torn = false;  // A fork has left it: room and reached_at may be off. See cache_mend().
  std::array<CachedListCare, class_count> care{};

  SliceTag tag(std::size_t size_class) const noexcept {
    return key == no_cache_key ? SliceTag{0}
                               : static_cast<SliceTag>(key | size_class << tag_class_shift);
  }

  // How far the list of the tag's class lies from the first one, if the tag is of a page that is
  // the thread's own: then is_own().
  TARN_INLINE std::uint32_t list_of(SliceTag tag) const noexcept { return tag ^ key; }
  static TARN_INLINE bool is_own(std::uint32_t list) noexcept {
    return (list & ~tag_class_mask) == 0;
  }
  TARN_INLINE bool has(SliceTag tag) const noexcept { return is_own(list_of(tag)); }

  // The next two are for what is tagged as malloc's own. No live block looks free, unless the
  // program has written the mark to it. Reads no further than the slice in which p lies.
  TARN_INLINE bool looks_free(const void* p) const noexcept {
    if (address_of(p) % block_align != 0) return true;
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): null has no tag of a page.
    return static_cast<const FreedBlock*>(p)->mark == freed_mark;
  }
  TARN_INLINE void mark_freed(void* p) const noexcept {
    static_cast<FreedBlock*>(p)->mark = freed_mark;
  }

  // The number of blocks in the list. Any thread; of another moment than what else it reads.
  std::size_t count(std::size_t size_class) const noexcept {
    const std::int64_t count = care[size_class].most - std::int64_t{lists[size_class].room};
    return count > 0 ? static_cast<std::size_t>(count) : 0;
  }

  // So many of them, if not more, are unreached: every block taken may have been one. Likewise.
  std::size_t count_unreached(std::size_t size_class) const noexcept {
    const std::uint64_t at = lists[size_class].reached_at;
    const std::uint64_t taken = lists[size_class].taken;
    return at > taken ? at - taken : 0;
  }

  // Calls visit(block) until it returns false. pre: the thread does nothing meanwhile
  template <class Visit>
  void for_each(std::size_t size_class, Visit visit) const noexcept {
    const Block* block = lists[size_class].first;
    while (block != nullptr && visit(block)) block = block->next;
  }
};

// The block that was freed last, or an unreached one; null when there is none. After any of these
// instructions the list is whole, for a fork.
TARN_INLINE void* cache_take(ThreadCache& cache, std::size_t size_class) noexcept {
  CachedList& list = cache.lists[size_class];
  Block* block = list.first;
  if (TARN_UNLIKELY(block == nullptr)) return nullptr;
  // The block lies where it is returned: gcc would move it there, an instruction more.
  __asm__("" : "+r"(block));
  Block* const next = block->next;
  ++list.taken;
  ++list.room;
  list.first = next;
  static_cast<FreedBlock*>(block)->mark = 0;
  return block;
}

// Which list of a cache: how many bytes it lies from the first one. Each access makes the address
// anew, since as part of the access it is no instruction.
class CachedListAt {
 public:
  CachedListAt(ThreadCache& cache, std::size_t offset) noexcept
      : lists_(reinterpret_cast<std::byte*>(cache.lists.data())), offset_(offset) {}

  TARN_INLINE CachedList& operator*() const noexcept {
    std::size_t offset = offset_;
    __asm__("" : "+r"(offset));
    return *reinterpret_cast<CachedList*>(lists_ + offset);
  }
  TARN_INLINE CachedList* operator->() const noexcept { return &**this; }

 private:
  std::byte* lists_;
  std::size_t offset_;
};

// False when the list is full. pre: the block's tag is of the class and of the calling thread
TARN_INLINE bool cache_put(CachedListAt list, void* p) noexcept {
  if (TARN_UNLIKELY(std::int64_t{list->room} <= 0)) return false;
  // What was read is read again below, so that reading, changing and writing are one instruction;
  // the first read waits for no change before.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  --list->room;
  auto* const block = static_cast<Block*>(p);
  block->next = list->first;
  TARN_FORK_FENCE();
  list->first = block;
  return true;
}

}  // namespace tarn
