// thread: what one thread owns of a heap (ThreadHeap), and the record of a thread (Thread).
//
//   Thread  | heap: current page of each class | groups -> bins | mail | state | links |
//             ^ current_thread (TLS) points here; it is also the owner tag of the thread's pages
//               current_heap (TLS): what malloc serves from
//
// Records are never freed. A thread that ends leaves its record as an orphan, pages and all; a new
// thread takes it over as it stands, and threads that run out of a class take single pages from it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "engine/layout/size_class.hpp"
#include "engine/pages/mailbox.hpp"
#include "engine/pages/page.hpp"
#include "engine/spans/record_memory.hpp"
#include "platform/base/config.hpp"
#include "platform/base/counter.hpp"
#include "platform/base/list.hpp"
#include "platform/base/watched.hpp"

namespace tarn {

// Written by the owner.
struct ClassCounts {
  Counter handed;         // Blocks put on a current page's free list.
  Counter sampled;        // Requests that took the slow path,
  Counter sampled_bytes;  // and what they asked for.

  void clear() noexcept {
    handed.clear();
    sampled.clear();
    sampled_bytes.clear();
  }
};

// The page that has no block to give: what `current` holds before there is a page.
extern const Page empty_page;
inline Page* no_page() noexcept { return const_cast<Page*>(&empty_page); }

// Neighbouring entries of ThreadHeap::current.
struct Entries {
  std::uint8_t first = 0;
  std::uint8_t end = 0;  // One past the last.
};

// What slow paths know of a class.
struct Bin {
  List<Span> queue;         // Pages with free blocks, and not current.
  ClassCounts counts;
  std::uint32_t pages = 0;  // Pages of the class, asleep ones too.
  Entries entries;          // That hold its current page: of a class of the heap's table.
  bool offered = false;     // On the orphans' list of the class, with these links.
  Page* current = no_page();  // Of a class of the heap's own: see ThreadHeap::current_of().
  Bin* next = nullptr;
  Bin* prev = nullptr;
};

// Bins of neighbouring classes, made when the first of them is used and never freed.
inline constexpr std::size_t group_bins = 8;
using BinGroup = std::array<Bin, group_bins>;
inline constexpr std::size_t group_count = (bin_count + group_bins - 1) / group_bins;

struct HeapRecord;

inline constexpr std::int64_t live_delta_least = 4 * 1024;

// A slot's pointer to `current` is one to the whole: it comes first.
struct ThreadHeap {
  // By common class, for hits: never null, the empty page where there is none. In a heap with a
  // class table each entry holds the page of the table's class that serves it (Bin::entries).
  std::array<Page*, class_count> current;
  std::array<std::atomic<BinGroup*>, group_count> groups{};  // Release, acquire by others.
  List<Span, &Span::next_of_heap, &Span::prev_of_heap> pages{};  // All there are, asleep ones too.
  std::int64_t live_delta = 0;  // Live bytes not yet added to the totals (live_bytes.hpp),
  std::int64_t live_delta_max = live_delta_least;  // how many there may be,
  std::int64_t look_again_at = 0;  // at which total the pages are to be looked at,
  std::int64_t look_part = 1;      // so much of it after the last look,
  bool live_is_sure = false;       // and whether that found little.
  std::int64_t process_delta = 0;  // Told to the heap and not to the process.
  Thread* thread = nullptr;
  Watched<HeapRecord*> record;  // malloc's, once the heap has been deleted.
  HeapRecord* refused_by = nullptr;  // Whose ceiling the last refill met.
  bool left_over = false;  // Of a deleted heap, and put down.
  ThreadHeap* next_of_record = nullptr;  // Spare: the registry's. Of a deleted heap: the thread's.
  ThreadHeap* next_of_thread = nullptr;
  ThreadHeap* prev_of_thread = nullptr;
  ThreadHeap* next_known = nullptr;  // All but those of regions, newest first; written once.

  // Null where no page of the group was ever wanted. Any thread.
  Bin* find_bin(std::size_t size_class) const noexcept {
    BinGroup* const group = groups[size_class / group_bins].load(std::memory_order_acquire);
    return group == nullptr ? nullptr : &(*group)[size_class % group_bins];
  }
  // Where the page that serves the class now stands; set_current() alone writes there (see
  // thread_heap.hpp). pre: as bin(), for a class of the heap's own
  Page** place_of_current(std::size_t size_class) noexcept {
    return size_class < class_count ? &current[size_class] : &bin(size_class).current;
  }
  Page* current_of(std::size_t size_class) noexcept { return *place_of_current(size_class); }
  // pre: there is or was a page of the class.
  Bin& bin(std::size_t size_class) noexcept {
    BinGroup* const group = groups[size_class / group_bins].load(std::memory_order_relaxed);
    return (*group)[size_class % group_bins];
  }
};

static_assert(std::is_standard_layout_v<ThreadHeap>);

// No class has a current page: a thread heap may become another heap's.
bool serves_nothing(const ThreadHeap& heap) noexcept;

enum class ThreadState : std::uint8_t {
  live,
  orphan,  // Its thread has ended; whoever holds the orphans' lock may act as its owner.
  lost,    // Vanished in a fork while it was changing its lists: only remote frees, for ever.
};

// Leads from a heap's id to the thread heap of it, or from the id of a heap's own class to the
// current page of that class there. Its thread fills it in, under the record's lock; who closes the
// heap empties it. Empty: an id that nothing has.
struct HeapSlot {
  static constexpr std::uint64_t no_id = UINT64_MAX;
  std::atomic<std::uint64_t> id{no_id};
  Page** current = nullptr;  // Of all classes, or of one.
};
inline constexpr std::size_t heap_slots = 64;

// What the last look at a thread's mail found (idle_purge.hpp).
struct MailLook {
  std::uint64_t reads = UINT64_MAX;  // How often the owner had read it,
  const Page* first = nullptr;       // what was left in front of it,
  std::uint32_t passed = 0;          // and how often that was passed over since.
};

struct alignas(cache_line_bytes) Thread {
  ThreadHeap heap;
  std::uint32_t refills = 0;    // See upkeep.hpp.
  std::atomic<bool> busy{false};  // On a slow path: lists may be half-changed (fork looks).
  std::atomic<bool> inside{false};  // On a hit path of a heap that others may close.
  std::atomic<ThreadState> state{ThreadState::live};
  bool warm = false;            // Orphan whose current pages are as its thread left them.
  std::uint8_t group = 0;       // Of its threads: where their records lie (record_memory.hpp).
  Thread* next = nullptr;       // Orphans.
  Thread* prev = nullptr;
  Thread* next_known = nullptr;  // All records, newest first; written once.
  std::atomic<bool> has_left_over{false};  // There is something on one of the next two lists.
  ThreadHeap* left_over = nullptr;  // Of deleted heaps, to be put down; under the registry's lock.
  ThreadHeap* emptied = nullptr;  // Of deleted heaps, put down, and by now without pages.
  // Its thread heaps of other heaps; under the registry's lock.
  List<ThreadHeap, &ThreadHeap::next_of_thread, &ThreadHeap::prev_of_thread> heaps{};
  std::array<HeapSlot, heap_slots> slots{};  // By id % heap_slots.

  // Pages whose blocks others have freed.
  alignas(cache_line_bytes) Mailbox mail{};
  MailLook mail_look{};  // By others: see idle_purge.hpp.
};

// The record of threads that have none yet. Its pages are all empty, so allocating goes the slow
// path without asking first. Nothing of it is written but `inside`.
extern Thread empty_thread;
inline Thread* no_thread() noexcept { return &empty_thread; }

// What malloc's hit path sees of a thread that it is to serve from another heap: no page anywhere.
extern ThreadHeap empty_view;

// The owner of pages that are used under a lock: no thread is equal to it.
extern Thread locked_owner;

// The owner of pages of frozen heaps: no thread is equal to it.
extern Thread frozen_owner;

// The owner of pages that a fork has left half-changed: frees are taken, and that is all.
extern Thread lost_owner;

extern TARN_INITIAL_EXEC __thread Thread* current_thread;
extern TARN_INITIAL_EXEC __thread ThreadHeap* current_heap;  // Of current_thread.

inline void set_current_thread(Thread* thread) noexcept {
  current_thread = thread;
  current_heap = &thread->heap;
  thread_group = thread->group;
}

// Set when libc has announced the thread's end: what allocates after that is served by
// ending_threads.allocate().
extern TARN_INITIAL_EXEC __thread bool thread_is_ending;

// Marks the time in which a fork must not trust the thread's lists. Does not nest.
class Busy {
 public:
  explicit Busy(Thread& thread) noexcept : thread_(thread) { begin(thread); }
  ~Busy() { end(thread_); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

  // For a time that begins in one function and ends in another. A fork sees the lists' changes
  // within it, hence the fences: a vanished thread's memory is read as it was left.
  static void begin(Thread& thread) noexcept {
    thread.busy.store(true, std::memory_order_relaxed);
    TARN_FORK_FENCE();
  }
  static void end(Thread& thread) noexcept {
    thread.busy.store(false, std::memory_order_release);
  }

 private:
  Thread& thread_;
};

}  // namespace tarn
