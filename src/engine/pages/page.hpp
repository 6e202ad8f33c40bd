// page: the blocks of one size in one span, and which of them are free.
//
//   | block 0 | block 1 | ... | block carved-1 | never touched ............. | < 1 block |
//
// reserved + live + free + local_free + remote == carved <= capacity
// live + remote == countdown + kept      (blocks handed out whose free the owner has not seen)
//
// `countdown` is what free() decrements; at zero the owner takes the slow path. `kept` is the rest:
//   current page   -1     one pin: the countdown cannot reach zero
//   asleep (full)  > 0    zero after page_threshold() frees: the page wakes
//   queued         0      zero when the last block is freed: the page retires
//
// Only the owner writes anything but `remote`; what others read stays until the page retires.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/layout/size_class.hpp"
#include "engine/pages/remote.hpp"
#include "engine/spans/span.hpp"
#include "engine/zones/span_source.hpp"
#include "platform/base/check.hpp"
#include "platform/base/watched.hpp"

namespace tarn {

struct HeapRecord;
struct Thread;
struct ThreadHeap;

struct Block;
struct Note;

// A pointer at any address: not all blocks of 20 bytes are aligned to 8.
class Link {
 public:
  TARN_INLINE operator Block*() const noexcept {
    Block* p = nullptr;
    if constexpr (TARN_TSAN) {  // See Watched.
      return __atomic_load_n(reinterpret_cast<Block* const*>(bytes_), __ATOMIC_ACQUIRE);
    } else {
      __builtin_memcpy(&p, bytes_, sizeof p);
    }
    return p;
  }
  TARN_INLINE Link& operator=(Block* p) noexcept {
    if constexpr (TARN_TSAN) {
      __atomic_store_n(reinterpret_cast<Block**>(bytes_), p, __ATOMIC_RELEASE);
    } else {
      __builtin_memcpy(bytes_, &p, sizeof p);
    }
    return *this;
  }

 private:
  unsigned char bytes_[sizeof(Block*)];
};

struct Block {
  Link next;
};
inline constexpr std::size_t block_bytes_min = sizeof(Block);

// The Span is the first cache line, the fields here are the second. Hit paths touch only the
// second.
struct alignas(cache_line_bytes) Page : Span {
  union {
    Block* free = nullptr;  // What is taken next, or moved to a thread's cache. Owner.
    std::size_t requested;  // For a large block: the bytes that were asked for.
    Note* notes;            // For checked blocks: a note for each place.
  };
  Watched<Block*> local_free;           // What free pushes; a refill moves it to `free`. Owner.
  std::atomic<Thread*> owner{nullptr};  // Relaxed: only its own thread finds itself here.
  Watched<std::uint32_t> countdown;
  Watched<std::int32_t> kept;
  union {
    ThreadHeap* heap = nullptr;
    HeapRecord* record;  // For a mixed page, a large block, or checked blocks.
  };
  std::uint32_t block_bytes = 0;
  std::uint32_t capacity = 0;
  Watched<std::uint32_t> carved;
  std::uint32_t live_seen = 0;  // Live blocks when the statistics last looked.
  SizeClass size_class = 0;
  bool queued = false;
  std::uint8_t reserved = 0;  // The first blocks, which are nobody's: see page_seal().

  // Adoption changes it while other threads read it. Both thread heaps have the same record, and
  // what the new one says of itself was written before.
  ThreadHeap* heap_now() const noexcept { return __atomic_load_n(&heap, __ATOMIC_ACQUIRE); }
  void set_heap(ThreadHeap* h) noexcept { __atomic_store_n(&heap, h, __ATOMIC_RELEASE); }

  // For a large block: deleting its heap changes it while other threads read it.
  HeapRecord* record_now() const noexcept { return __atomic_load_n(&record, __ATOMIC_RELAXED); }
  void set_record(HeapRecord* r) noexcept { __atomic_store_n(&record, r, __ATOMIC_RELAXED); }

  std::size_t requested_now() const noexcept {
    return __atomic_load_n(&requested, __ATOMIC_RELAXED);
  }
  void set_requested(std::size_t n) noexcept { __atomic_store_n(&requested, n, __ATOMIC_RELAXED); }

  std::uint32_t live() const noexcept {
    return countdown + static_cast<std::uint32_t>(std::int32_t{kept});
  }
  Block* block_at(std::size_t offset) const noexcept {
    return reinterpret_cast<Block*>(base + offset);
  }
  bool is_block(const void* p) const noexcept {
    const std::size_t offset = offset_of(p);
    return offset % block_bytes == 0 && offset / block_bytes < capacity;
  }
  // As above, for a page of a common class, without the cache line that the owner writes to.
  bool is_block_of(const void* p, std::size_t common_class) const noexcept {
    const std::size_t offset = offset_of(p);
    return is_multiple_of_block(offset, common_class) &&
           offset + class_block_bytes[common_class] <= bytes();
  }
};
static_assert(sizeof(Page) == descriptor_bytes);

// The first block of the free list. pre: there is one.
TARN_INLINE Block* page_pop(Page* page) noexcept {
  TARN_ASSERT(page->free != nullptr);
  Block* const block = page->free;
  page->free = block->next;
  ++page->countdown;
  return block;
}

// The list that a page's remote word held when it was emptied.
struct Collected {
  Block* head = nullptr;
  std::uint32_t count = 0;
};

// How many slices a page is to have: `most`, or a hole of fewer. See Store::take_page().
struct PageLength {
  std::size_t least;
  std::size_t most;

  constexpr explicit PageLength(std::size_t slices) noexcept : least(slices), most(slices) {}
  constexpr PageLength(std::size_t shortest, std::size_t longest) noexcept
      : least(shortest), most(longest) {}
};

// Takes a page for blocks of a class, in state open, none of them handed out. Null when out of
// memory. The class says which lists the page goes on; a class of the heap's own has blocks of a
// size of its own. source: of the heap that the page is for.
Page* page_take(std::size_t size_class, std::size_t block_bytes, PageLength length,
                SpanSource source = {}) noexcept;
inline Page* page_take(std::size_t size_class, std::size_t slices) noexcept {
  return page_take(size_class, class_block_bytes[size_class], PageLength(slices));
}

// pre: live() == 0, not queued, remote state dead (page_kill).
void page_give(Page* page, SpanSource source = {}) noexcept;

// Makes the next blocks of a page and puts them on page->free. Returns how many. pre: carved <
// capacity, page->free == nullptr
std::uint32_t page_carve(Page* page) noexcept;

// Owner: moves all live blocks into the countdown, so that `kept` is 0. The order of the two stores
// matters: a thread that reads `kept` first never counts too few (page_begin_purge). pre: the page
// is not current
inline void page_count_all(Page* page) noexcept {
  TARN_ASSERT(page->kept >= 0);
  page->countdown = page->live();
  page->kept.release(0);
}

// Owner: the number of blocks that wait to be popped. Walks the list.
std::uint64_t page_untaken(const Page* page) noexcept;

// Owner: takes what the remote word holds and leaves it in `state`.
Collected page_collect(Page* page, RemoteState state) noexcept;

// Owner: as page_collect, but a page in the mail stays there. Collects nothing while another thread
// purges the page.
Collected page_collect_unless_mailed(Page* page, RemoteState state) noexcept;

// Owner: open or listed -> listed with this threshold. False, with nothing done, when remote frees
// have come in: collect first. A page in the mail stays there, and is no longer current.
bool page_list(Page* page, std::uint32_t threshold) noexcept;

// How many frees, local or remote, wake a full page: a part of its capacity.
std::uint32_t page_threshold(const Page* page) noexcept;

// Owner, page not current: collects remote frees until none is left, leaves the page listed, and
// sets kept to 0. The threshold is at most the number of live blocks, so if other threads free them
// all, the last free posts the page. A page in the mail stays there; so does one that is being
// purged. `received`: the caller has just taken the page out of the mail.
void page_settle(Page* page, bool received) noexcept;

// Owner: listed -> open, keeping what the word holds. False when the page is in the mail, where it
// stays.
bool page_open(Page* page) noexcept;

// Owner, about to make it the current page: as page_open, but also for a page in the mail, which
// stays there. False, with nothing done, while the page is being purged.
bool page_use(Page* page) noexcept;

// Owner: listed and empty -> dead. False when the page is in the mail.
bool page_kill(Page* page) noexcept;

enum class RemoteFree : std::uint8_t { done, post, dead };

// Any thread: gives `added` blocks back, linked from `first` to `last`. `post`: the caller put the
// page in state mailed and must post it.
RemoteFree page_free_remote(Page* page, Block* first, Block* last, std::uint32_t added) noexcept;
inline RemoteFree page_free_remote(Page* page, Block* block) noexcept {
  return page_free_remote(page, block, block, 1);
}

// Any thread that has taken the page out of its owner's mail: mailed -> purging, if every block is
// free. False, with nothing done, when one is not, or when that is not certain. The contents may go
// from here on: nobody looks at them.
bool page_begin_purge(Page* page) noexcept;

// The thread that has begun the purge: purging -> purged. The contents may have gone. The page must
// go back into the mail.
void page_end_purge(Page* page) noexcept;

// Any state -> dead, whatever is pending. False, with nothing done, when the page is in the mail.
// pre: the owner is kept away, or not at work
bool page_seize(Page& page) noexcept;

// Any thread, while the owner may be freeing blocks: -> dead, if every block is free and the owner
// is not about to look at the page. False, with nothing done, otherwise. Frees of the owner may
// bring the countdown to zero at any time, but not once other threads have freed all that it
// counts. `received`: the calling thread has taken the page out of the mail.
bool page_seize_empty(Page& page, bool received) noexcept;

// In the child of a fork: completes a purge, or gives it up, whose thread is gone.
void page_repair_purge(Page* page) noexcept;

// True when every block is free and no list of the page may be followed. Any thread, while no purge
// begins.
bool page_has_no_lists(const Page* page) noexcept;

// The last block of a list that has so many. Reports a link that leads elsewhere: somebody has
// written to a freed block.
Block* page_list_end(const Page& page, Block* first, std::uint32_t count) noexcept;

// Owner: puts a collected list in front of local_free and settles the count.
void page_attach(Page* page, Collected collected) noexcept;

// Owner, quiescent: walks the free lists. O(capacity).
bool page_check(const Page* page) noexcept;

// The number of blocks that have been handed out and that no thread has freed, as far as is seen.
inline std::uint32_t live_blocks_seen(const Page& page) noexcept {
  const std::uint32_t known = page.live();
  const std::uint32_t freed = Remote{page.remote.load(std::memory_order_relaxed)}.count();
  return known > freed ? known - freed : 0;
}

// The number of its blocks that were made and are not among so many live ones, which were counted
// at another moment.
inline std::uint32_t free_blocks_beside(const Page& page, std::uint32_t live) noexcept {
  const std::uint32_t made = page.carved;
  return made > live ? made - live : 0;
}

}  // namespace tarn
