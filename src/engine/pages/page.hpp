// page: the blocks of one size in one span, and which of them are free.
//
//   | block 0 | block 1 | ... | block carved-1 | never touched ............. | < 1 block |
//
// live + free + local_free + remote == carved <= capacity
// live + remote == countdown + kept      (blocks handed out whose free the owner has not seen)
//
// `countdown` is what free() decrements; at zero the owner takes the slow path. `kept` is the rest:
//   current page   -1     one pin: the countdown cannot reach zero
//   asleep (full)  > 0    zero after page_threshold() frees: the page wakes
//   queued         0      zero when the last block is freed: the page retires
//
// Only the owner touches anything but `remote`; what others read stays until the page retires.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/layout/size_class.hpp"
#include "engine/pages/remote.hpp"
#include "engine/spans/span.hpp"
#include "platform/base/watched.hpp"

namespace tarn {

struct HeapRecord;
struct Thread;
struct ThreadHeap;
class Zone;

struct Block;
struct Note;

// A pointer wherever it lies: blocks of 20 bytes are not all aligned to 8.
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

// The Span is the first cache line, what is here the second: the hit paths touch only the second.
struct alignas(cache_line_bytes) Page : Span {
  union {
    Block* free = nullptr;      // What malloc pops. Owner.
    std::size_t requested;      // Of a large block: what was asked for.
    Note* notes;                // Of checked blocks, one for each place.
  };
  Watched<Block*> local_free;   // What free pushes; becomes `free` at a refill. Owner.
  std::atomic<Thread*> owner{nullptr};  // Relaxed: only its own thread finds itself here.
  Watched<std::uint32_t> countdown;
  Watched<std::int32_t> kept;
  union {
    ThreadHeap* heap = nullptr;
    HeapRecord* record;  // Of a mixed page, a large block, or checked ones.
  };
  std::uint32_t block_bytes = 0;
  std::uint32_t capacity = 0;
  std::uint32_t carved = 0;
  std::uint32_t live_seen = 0;  // Live blocks when the statistics last looked.
  SizeClass size_class = 0;
  bool queued = false;

  // Changes under the eyes of other threads when the page is adopted: both heaps have one record.
  ThreadHeap* heap_now() const noexcept { return __atomic_load_n(&heap, __ATOMIC_RELAXED); }
  void set_heap(ThreadHeap* h) noexcept { __atomic_store_n(&heap, h, __ATOMIC_RELAXED); }

  // Of a large block: changes under the eyes of other threads when its heap is deleted.
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
};
static_assert(sizeof(Page) == descriptor_bytes);

// The first block of the free list. pre: there is one.
TARN_INLINE Block* page_pop(Page* page) noexcept {
  Block* const block = page->free;
  page->free = block->next;
  ++page->countdown;
  return block;
}

// What a page's remote word held when it was emptied.
struct Collected {
  Block* head = nullptr;
  std::uint32_t count = 0;
};

// A page with no block handed out, in state open, owned; null when out of memory. Its class says
// which lists it goes on; blocks of a class of one's own have a size of their own. zone: of the
// heap that it is for; null: from the store.
Page* page_take(std::size_t size_class, std::size_t block_bytes, std::size_t slices,
                Zone* zone = nullptr) noexcept;
inline Page* page_take(std::size_t size_class, std::size_t slices) noexcept {
  return page_take(size_class, class_block_bytes[size_class], slices);
}

// pre: live() == 0, not queued, remote state dead (page_kill).
void page_give(Page* page, Zone* zone = nullptr) noexcept;

// Makes the next blocks of a page with carved < capacity and hands them over as page->free.
// Returns how many. pre: page->free == nullptr
std::uint32_t page_carve(Page* page) noexcept;

// Owner: all live blocks are in the countdown, and none is kept apart. In this order, so that who
// reads `kept` first never counts too few: see page_begin_purge().
inline void page_count_all(Page* page) noexcept {
  page->countdown = page->live();
  page->kept.release(0);
}

// Owner: how many blocks wait to be popped. Walks the list.
std::uint64_t page_untaken(const Page* page) noexcept;

// Owner: takes what the remote word holds and leaves it in `state`.
Collected page_collect(Page* page, RemoteState state) noexcept;

// Owner: as page_collect, but a page in the mail stays there. Nothing while it is being purged.
Collected page_collect_unless_mailed(Page* page, RemoteState state) noexcept;

// Owner: open or listed -> listed with this threshold. False, and nothing done, when remote frees
// have come in: collect first. A page in the mail stays there, and is no longer current.
bool page_list(Page* page, std::uint32_t threshold) noexcept;

// The frees, local or remote, that wake a full page: a part of its capacity.
std::uint32_t page_threshold(const Page* page) noexcept;

// Owner, page not current: takes in remote frees until none is left and leaves the page listed, its
// threshold at most the live blocks that remain: if others free them all, the last free is posted.
// A page in the mail stays there, as it is while it is being purged; `received`: it has just been
// taken out. Sets kept to 0.
void page_settle(Page* page, bool received) noexcept;

// Owner: listed -> open, keeping what the word holds. False when the page is in the mail; it stays.
bool page_open(Page* page) noexcept;

// Owner, about to make it the current page: as page_open, but a page in the mail is used there.
// False while it is being purged: it stays as it is.
bool page_use(Page* page) noexcept;

// Owner: listed and empty -> dead. False when the page is in the mail.
bool page_kill(Page* page) noexcept;

enum class RemoteFree : std::uint8_t { done, post, dead };

// Any thread: gives `block` back. `post`: the caller put the page in state mailed and must post it.
RemoteFree page_free_remote(Page* page, Block* block) noexcept;

// Any thread that has taken the page out of its owner's mail: mailed -> purging, if every block is
// free. False, and nothing done, when one is not, or when it is not certain. From here on the
// contents may go: nobody looks at them.
bool page_begin_purge(Page* page) noexcept;

// Likewise, purging -> purged: the contents may have gone. The page must go back into the mail.
void page_end_purge(Page* page) noexcept;

// The owner kept away, or not at work: any state -> dead, whatever is pending. False, and nothing
// done, when the page is in the mail.
bool page_seize(Page& page) noexcept;

// Any thread, while the owner may be freeing blocks: -> dead, if every block is free and the owner
// is not about to look at the page. Frees of the owner may bring the countdown to zero at any time,
// but not once all that it counts has been freed by others. `received`: the calling thread has
// taken the page out of the mail. False, and nothing done, otherwise.
bool page_seize_empty(Page& page, bool received) noexcept;

// In the child of a fork: the thread that was purging the page is gone.
void page_repair_purge(Page* page) noexcept;

// Every block is free, and no list of the page may be followed. Any thread, no purge beginning.
bool page_has_no_lists(const Page* page) noexcept;

// Owner: puts a collected list in front of local_free and settles the count.
void page_attach(Page* page, Collected collected) noexcept;

// Owner, quiescent: walks the free lists. O(capacity).
bool page_check(const Page* page) noexcept;

// Blocks that have been handed out and not been freed by anyone.
inline std::uint32_t live_blocks_seen(const Page& page) noexcept {
  const std::uint32_t known = page.live();
  const std::uint32_t freed = Remote{page.remote.load(std::memory_order_relaxed)}.count();
  return known > freed ? known - freed : 0;
}

}  // namespace tarn
