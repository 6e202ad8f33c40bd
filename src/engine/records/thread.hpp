// thread: the part of a heap that one thread owns (ThreadHeap), and the record of a thread
// (Thread).
//
//   Thread  | cache | heap: current page of each class, groups -> bins | mail | state | links |
//             ^ current_thread (TLS) points here; it is also the owner tag of the thread's pages
//               current_serving (TLS): what malloc serves from, the first two
//
// Records are never freed. A thread that ends leaves its record as an orphan, with its pages. A new
// thread takes a record over as it stands; threads that run out of a class take single pages from
// it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "engine/pages/mailbox.hpp"
#include "engine/records/gathered.hpp"
#include "engine/records/thread_cache.hpp"
#include "engine/spans/record_memory.hpp"
#include "platform/base/config.hpp"
#include "platform/base/counter.hpp"
#include "platform/base/list.hpp"
#include "platform/base/watched.hpp"

namespace tarn {

// Written by the owner.
struct ClassCounts {
  Counter handed;         // Blocks put on a current page's free list.
  Counter sampled;        // Requests that took the slow path.
  Counter sampled_bytes;  // The bytes that these requests asked for.
  Counter made;           // Blocks that no credit has paid for.

  void sample(std::size_t bytes) noexcept {
    sampled.add(1);
    sampled_bytes.add(bytes);
  }
  void clear() noexcept {
    handed.clear();
    sampled.clear();
    sampled_bytes.clear();
  }
};

// The page that never has a block to give. `current` holds it where there is no page.
extern const Page empty_page;
inline Page* no_page() noexcept { return const_cast<Page*>(&empty_page); }

// A range of entries of ThreadHeap::current.
struct Entries {
  std::uint8_t first = 0;
  std::uint8_t end = 0;  // One past the last.
};

// What slow paths keep for a class.
struct Bin {
  List<Span> queue;  // Pages with free blocks that are not current.
  ClassCounts counts;
  std::uint32_t slices = 0;  // Of all pages of the class, asleep ones too.
  Entries entries;       // For a class of the heap's table: the entries that hold its current page.
  bool offered = false;  // The bin is on the orphans' list of the class, by the links below.
  // For a class of the heap's own: its current page. See ThreadHeap::current_of().
  Page* current = no_page();
  Bin* next = nullptr;
  Bin* prev = nullptr;
};

// Bins of neighbouring classes, made when the first of them is used and never freed.
inline constexpr std::size_t group_bins = 8;
using BinGroup = std::array<Bin, group_bins>;
inline constexpr std::size_t group_count = (bin_count + group_bins - 1) / group_bins;

struct HeapRecord;
extern HeapRecord main_record;

inline constexpr std::int64_t live_delta_least = 4 * 1024;

// `current` comes first, so that a slot's pointer to it is one to the whole.
struct ThreadHeap {
  // The current page of each common class, for hits. The empty page where there is none; null only
  // in empty_view. In a heap with a class table, each entry holds the page of the table's class
  // that serves it (Bin::entries).
  std::array<Page*, class_count> current;
  // Release when made; other threads acquire.
  std::array<std::atomic<BinGroup*>, group_count> groups{};
  List<Span, &Span::next_of_heap, &Span::prev_of_heap> pages{};  // All pages, asleep ones too.
  std::int64_t live_delta = 0;  // Live bytes not yet added to the heap's total (live_bytes.hpp).
  // The most that live_delta may be before it is told.
  std::int64_t live_delta_max = live_delta_least;
  std::int64_t look_again_at = 0;  // The total at which the pages are looked at again.
  std::int64_t look_part = 1;  // The part of the total that it must grow by before the next look.
  bool live_is_sure = false;   // The last look found little that was not known.
  std::int64_t process_delta = 0;    // Told to the heap and not yet to the process.
  Watched<Thread*> thread{};         // Others ask whether it is they.
  Watched<HeapRecord*> record;       // The heap's record; malloc's once the heap has been deleted.
  HeapRecord* refused_by = nullptr;  // The heap whose ceiling refused the last refill.
  bool left_over = false;            // Its heap was deleted, and its pages were flushed.
  // The heap's list; the spare list; or its thread's list of left-over ones.
  ThreadHeap* next_of_record = nullptr;
  ThreadHeap* next_of_thread = nullptr;
  ThreadHeap* prev_of_thread = nullptr;
  ThreadHeap* next_known = nullptr;  // All but those of regions, newest first; written once.

  // Null where no page of the group was ever wanted. Any thread.
  Bin* find_bin(std::size_t size_class) const noexcept {
    TARN_ASSERT(size_class < bin_count);
    BinGroup* const group = groups[size_class / group_bins].load(std::memory_order_acquire);
    return group == nullptr ? nullptr : &(*group)[size_class % group_bins];
  }
  // Where the current page of the class is kept. Only set_current() writes there (thread_heap.hpp).
  // pre: as bin(), for a class of the heap's own
  Page** place_of_current(std::size_t size_class) noexcept {
    return size_class < class_count ? &current[size_class] : &bin(size_class).current;
  }
  Page* current_of(std::size_t size_class) noexcept { return *place_of_current(size_class); }
  // pre: there is or was a page of the class.
  Bin& bin(std::size_t size_class) noexcept {
    BinGroup* const group = groups[size_class / group_bins].load(std::memory_order_relaxed);
    TARN_ASSERT(size_class < bin_count && group != nullptr);
    return (*group)[size_class % group_bins];
  }
};

static_assert(std::is_standard_layout_v<ThreadHeap>);

// True when no class has a current page, so that the thread heap may become another heap's.
bool serves_nothing(const ThreadHeap& heap) noexcept;

// Set in the child of a fork: a thread that vanished on a hit path may have left a page whose count
// is one off ("Fork" in docs/design/heap.md).
extern std::atomic<bool> is_child_of_fork;

// The next two are for assertions, in debug builds alone.
//
// True when all pages of a chain (by `newer`), which was taken out of the thread's mail, belong
// there. Of a long chain only the first pages are looked at.
bool mail_check(const Thread& thread, const Page* first) noexcept;
// True in the child of a fork, also in one that was not repaired whole: counts may be off, as
// thread_heap_check() would find.
bool counts_may_be_off() noexcept;

enum class ThreadState : std::uint8_t {
  live,
  orphan,  // Its thread has ended. The thread that holds the orphans' lock may act as its owner.
  // Its thread vanished in a fork while it changed its lists. Takes remote frees only, for ever.
  lost,
};

// Leads from a heap's id to the thread's thread heap of it, or from the id of a class of the heap's
// own to its current page there. The thread fills it in, under the record's lock; the thread that
// enters an exclusive section of the heap empties it. An empty slot has an id that nothing has.
struct HeapSlot {
  static constexpr std::uint64_t no_id = UINT64_MAX;
  std::atomic<std::uint64_t> id{no_id};
  Page** current = nullptr;  // The current pages of all classes, or that of one class.
};
inline constexpr std::size_t heap_slots = 64;

// How many blocks of a class a thread has taken that were made before, and how many it has freed,
// of those that are counted so (kinds/process_wide/xalloc_counts.hpp). The difference is its
// credit. Two numbers: one for both would chain each allocation to the free before it.
struct Credit {
  Watched<std::uint32_t> taken;
  Watched<std::uint32_t> given;
  std::uint32_t left() const noexcept { return given - taken; }
};

// What the last look at a thread's mail found (idle_purge.hpp).
struct MailLook {
  std::uint64_t reads = UINT64_MAX;  // How often the owner had read its mail.
  const Page* first = nullptr;       // The page that was first in the mail.
  std::uint32_t passed = 0;          // How often this mail was passed over since.
};

// What malloc serves a thread from.
struct Serving {
  ThreadCache cache;
  ThreadHeap heap;
};

// Large blocks that a thread keeps (span_cache.hpp). Any thread reads how many.
struct SpanCache {
  static constexpr std::size_t places = 3;
  std::array<std::atomic<Span*>, places> spans{};
  std::array<std::uint8_t, places> looks{};  // How often a span was passed over.
  std::array<bool, places> closed{};         // Out of reach, or about to be.
  std::size_t next = 0;                      // Where room is made next.
  Counter taken;                             // Blocks that came from here.

  // Calls visit(span).
  template <class Visit>
  void for_each(Visit visit) const noexcept {
    for (const std::atomic<Span*>& place : spans) {
      const Span* const span = place.load(std::memory_order_relaxed);
      if (span != nullptr) visit(*span);
    }
  }
};

struct Delay;

struct alignas(cache_line_bytes) Thread : Serving {
  std::uint32_t work = 0;  // See upkeep.hpp.
  // The thread is on a slow path, and its lists may be half-changed. A fork looks at this.
  std::atomic<bool> busy{false};
  // The thread is on a hit path of a heap that another thread may want exclusively.
  std::atomic<bool> inside{false};
  std::atomic<ThreadState> state{ThreadState::live};
  bool warm = false;       // An orphan whose current pages are as its thread left them.
  std::uint8_t group = 0;  // The group of threads whose records lie together (record_memory.hpp).
  Thread* next = nullptr;  // Orphans.
  Thread* prev = nullptr;
  Thread* next_known = nullptr;            // All records, newest first; written once.
  std::atomic<bool> has_left_over{false};  // One of the next two lists is not empty.
  // Thread heaps of deleted heaps, to be flushed. Under the registry's lock.
  ThreadHeap* left_over = nullptr;
  // Thread heaps of deleted heaps that were flushed and have no pages any more.
  ThreadHeap* emptied = nullptr;
  // Its thread heaps, apart from malloc's. Under the registry's lock.
  List<ThreadHeap, &ThreadHeap::next_of_thread, &ThreadHeap::prev_of_thread> heaps{};
  std::array<HeapSlot, heap_slots> slots{};  // By id % heap_slots.

  std::array<Credit, class_count> credits{};

  SpanCache span_cache{};

  Gathered gathered{};

  // Blocks of hardened heaps (engine/threads/delay.hpp). Made when it is wanted, and kept.
  std::atomic<Delay*> delay{nullptr};

  // Pages of which other threads have freed blocks.
  alignas(cache_line_bytes) Mailbox mail{};
  MailLook mail_look{};  // Written by other threads: see idle_purge.hpp.
};

// True for the thread heap from which malloc serves a thread.
inline bool is_mallocs(const ThreadHeap& heap) noexcept { return &heap == &heap.thread->heap; }

// How many free blocks of the class the thread has at hand, which are live to their pages. Any
// thread; of another moment than what else it reads.
inline std::size_t blocks_at_hand(const Thread& thread, std::size_t size_class) noexcept {
  return thread.cache.count(size_class) + thread.gathered.count(size_class);
}

// The record of threads that have none of their own yet. It has no page to give, so an allocation
// takes the slow path without asking first. Only `inside` is ever written, and the mark of freed
// blocks, once.
extern Thread empty_thread;
inline Thread* no_thread() noexcept { return &empty_thread; }

// What malloc's hit path reads in a thread that has a default heap: no class has a block.
extern Serving empty_view;

// Owners to which no thread is equal. All of one is zero, so that it takes no room in the file.
union Nobody {
  constexpr Nobody() noexcept : zeros{} {}
  std::byte zeros[sizeof(Thread)];
  Thread thread;
};
extern Nobody locked_nobody;
extern Nobody frozen_nobody;
extern Nobody lost_nobody;
extern Nobody hardened_nobody;

inline constexpr Thread& locked_owner = locked_nobody.thread;  // Of pages used under a lock.
inline constexpr Thread& frozen_owner = frozen_nobody.thread;  // Of pages of frozen heaps.
// Of pages that a fork has left half-changed. Only remote frees reach these.
inline constexpr Thread& lost_owner = lost_nobody.thread;
// Of pages of hardened heaps, so that each free of a block there takes the slow path.
inline constexpr Thread& hardened_owner = hardened_nobody.thread;

inline bool is_hardened(const Page& page) noexcept {
  return page.owner.load(std::memory_order_relaxed) == &hardened_owner;
}

// The thread whose page it is, where `owner` says that of hardened and frozen heaps alike. pre: the
// page is no lost one, and that of a heap
inline Thread* thread_of(const Page& page) noexcept {
  Thread* const owner = page.owner.load(std::memory_order_relaxed);
  if (owner != &frozen_owner && owner != &hardened_owner) return owner;
  return page.heap_now()->thread;
}

extern TARN_INITIAL_EXEC __thread Thread* current_thread;
// That of current_thread, or empty_view.
extern TARN_INITIAL_EXEC __thread Serving* current_serving;

// True when the calling thread is on no path of the library that changes lists, so that it may call
// the program and wait for other threads.
inline bool is_at_rest() noexcept {
  // Threads without a record share one, whose `inside` any of them may have set.
  if (current_thread == no_thread()) return true;
  return !current_thread->busy.load(std::memory_order_relaxed) &&
         !current_thread->inside.load(std::memory_order_relaxed);
}

inline void set_current_thread(Thread* thread) noexcept {
  TARN_ASSERT(thread->group < thread_groups && thread->heap.record == &main_record);
  current_thread = thread;
  current_serving = thread;
  thread_group = thread->group;
}

// Set when libc has announced the thread's end. ending_threads.allocate() serves the thread from
// then on.
extern TARN_INITIAL_EXEC __thread bool thread_is_ending;

// While this lives, a fork must not trust the thread's lists. Does not nest.
class Busy {
 public:
  explicit Busy(Thread& thread) noexcept : thread_(thread) {
    TARN_ASSERT(!thread.busy.load(std::memory_order_relaxed));
    begin(thread);
  }
  ~Busy() { end(thread_); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

  // The next two are for a time that begins in one function and ends in another. The fences keep
  // the changes of the lists within it: a fork reads a vanished thread's memory as it was left.
  static void begin(Thread& thread) noexcept {
    TARN_ASSERT(&thread != no_thread());
    thread.busy.store(true, std::memory_order_relaxed);
    TARN_FORK_FENCE();
  }
  static void end(Thread& thread) noexcept {
    TARN_ASSERT(thread.busy.load(std::memory_order_relaxed));
    thread.busy.store(false, std::memory_order_release);
  }

 private:
  Thread& thread_;
};

}  // namespace tarn
