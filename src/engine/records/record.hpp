// record: what a heap is to the library, for any thread. Records are never freed, only reused under
// a new id, so a handle {record, id} can be checked at any time.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/pages/page.hpp"
#include "engine/records/mixed_page.hpp"
#include "engine/spans/span.hpp"
#include "engine/zones/span_source.hpp"
#include "platform/base/check.hpp"
#include "platform/base/list.hpp"
#include "platform/os/thread.hpp"
#include "tarn/heap/heap.h"

struct tarn_purgeable;

namespace tarn {

enum class HeapThreads : std::uint8_t { shared, serialised, confined };
enum class Frozen : std::uint8_t { no, changing, yes };

// Charged before memory is taken, from a heap up to its last ancestor (limits.hpp).
struct Limits {
  std::atomic<std::size_t> committed{0};
  std::atomic<std::size_t> committed_peak{0};  // The peak up to the last uncharge.
  // The next four: written by the thread that holds the heap exclusively; read by charges of
  // descendants and by frees.
  std::atomic<std::size_t> ceiling{SIZE_MAX};
  std::atomic<std::size_t> floor{0};  // Empty pages below it stay the heap's.
  // The floor that holds again after empty pages were given.
  std::atomic<std::size_t> floor_wanted{0};
  std::atomic<std::size_t> soft_mark{SIZE_MAX};
  std::atomic<bool> soft_mark_passed{false};  // True: the callback of the soft mark is due.
  tarn_heap_reclaim reclaim = nullptr;
  tarn_heap_mark soft_mark_callback = nullptr;
  void* context = nullptr;

  // 0: no limit. pre: nobody uses the heap, or the calling thread holds it exclusively
  void set_ceiling(std::size_t bytes) noexcept {
    ceiling.store(bytes == 0 ? SIZE_MAX : bytes, std::memory_order_relaxed);
  }
  void set_floor(std::size_t bytes) noexcept {
    floor.store(bytes, std::memory_order_relaxed);
    floor_wanted.store(bytes, std::memory_order_relaxed);
  }
  void set_soft_mark(std::size_t bytes) noexcept {
    soft_mark.store(bytes == 0 ? SIZE_MAX : bytes, std::memory_order_relaxed);
  }
};

struct HeapRecord;

// The purgeable blocks of a heap. Written by the room watch/recover, under its lock.
struct Ring {
  tarn_purgeable* first = nullptr;
  tarn_purgeable* last = nullptr;
  // The purgeable that the next sweep looks at first; null: the first of the ring.
  tarn_purgeable* hand = nullptr;
  std::size_t count = 0;
};

// A class of the heap's own: blocks of one exact size. It has an id of its own, like the heap.
struct FixedClass {
  std::atomic<std::uint64_t> id{0};  // 0: not in use, or of a table and never asked for.
  std::uint32_t block_bytes = 0;
  std::uint32_t size_class = 0;
  HeapRecord* heap = nullptr;
  std::uint64_t heap_id = 0;
};
inline constexpr std::size_t fixed_group_classes = 8;
using FixedGroup = std::array<FixedClass, fixed_group_classes>;
inline constexpr std::size_t fixed_group_count = fixed_classes_max / fixed_group_classes;

struct Checks;

struct HeapRecord {
  std::atomic<std::uint64_t> id{0};    // 0: destroyed.
  std::atomic<bool> exclusive{false};  // One thread holds the heap exclusively (exclusive.hpp).
  std::atomic<bool> young{true};       // Classes have their first blocks in the mixed page.
  std::atomic<HeapThreads> threads{HeapThreads::shared};
  os::ThreadId maker = 0;  // The thread to which a confined heap belongs.
  bool gone = false;       // The heap was destroyed and its memory given back.
  // The lists of its thread heaps are being changed: see EditingLists (exclusive_pages.hpp).
  bool editing_lists = false;
  bool secret = false;       // Blocks are wiped when they are freed.
  bool hardened = false;     // Blocks are sealed (engine/pages/seal.hpp). It stays, once it is so.
  bool everlasting = false;  // A room's that serves the process: no program ends or empties it.
  std::atomic<Frozen> frozen{Frozen::no};
  std::uint32_t children = 0;  // A destroyed parent stays until its last child goes.
  // Held by the thread that makes the heap, and by the thread that holds it exclusively.
  os::Lock gate{};
  // How often that thread has entered its exclusive section. Guarded by the gate.
  std::uint32_t exclusive_depth = 0;
  bool walking = false;  // The heap is being walked: empty pages must stay. Guarded by the gate.
  std::atomic<std::uint32_t> visitors{0};  // Threads on slow paths that have no thread heap here.
  // Guards the mixed page, large blocks and the list of thread heaps; in a serialised heap all of
  // it.
  os::Lock lock{};
  // The number of classes of the heap's own. Release when one is made.
  std::atomic<std::uint32_t> fixed_count{0};
  // Linked by next_of_record. The list only grows, except in an exclusive section.
  std::atomic<ThreadHeap*> first_thread_heap{nullptr};
  // The thread heap whose pages the next adoption looks at; null: the first one.
  ThreadHeap* adopt_next = nullptr;
  List<Span, &Span::next_of_heap, &Span::prev_of_heap> large{};
  SpanSource source{};  // Where the heap's memory comes from.
  HeapRecord* parent = nullptr;
  HeapRecord* next = nullptr;  // The registry's list of live records, or of spare ones.
  HeapRecord* prev = nullptr;
  HeapRecord* next_known = nullptr;  // All records, newest first; written once.
  Limits limits{};
  std::atomic<std::int64_t> live_bytes{0};       // Live bytes, as far as is known (live_bytes.hpp).
  std::atomic<std::int64_t> live_bytes_peak{0};  // The most that live_bytes was.
  MixedPage mixed{};
  // If the heap has a class table, it is the first classes of its own: no common class serves it
  // then.
  std::atomic<std::uint16_t> table_count{0};
  std::atomic<std::uint16_t> paged_grains{paged_grains_most};  // Larger requests: large blocks.
  std::array<FixedGroup*, fixed_group_count> fixed_groups{};   // Made when wanted, never freed.
  void* belongs_to = nullptr;  // A room that has the heap for its own use puts its object here.
  Ring purgeables{};
  // For a heap whose mode is not fast. It has no pages and no mixed page then.
  Checks* checks = nullptr;
  char name[TARN_HEAP_NAME_BYTES] = {};

  static constexpr std::uint16_t paged_grains_most = block_bytes_max / block_align;

  tarn_heap handle() noexcept { return {this, id.load(std::memory_order_relaxed)}; }

  bool has_table() const noexcept { return table_count.load(std::memory_order_relaxed) != 0; }

  // The next two: any thread, at any time. When the heap has ended, the answer may be about the
  // record's next heap.
  bool is_serialised() const noexcept {
    return threads.load(std::memory_order_relaxed) == HeapThreads::serialised;
  }

  std::size_t paged_bytes_max() const noexcept {
    return paged_grains.load(std::memory_order_relaxed) * block_align;
  }

  // pre: i < fixed_count
  FixedClass& fixed(std::size_t i) noexcept {
    TARN_ASSERT(i < fixed_classes_max && fixed_groups[i / fixed_group_classes] != nullptr);
    return (*fixed_groups[i / fixed_group_classes])[i % fixed_group_classes];
  }
};

// False for a class that the heap does not have (any more).
inline bool has_class(const HeapRecord& record, std::size_t size_class) noexcept {
  TARN_ASSERT(size_class < bin_count);
  return size_class < class_count ||
         size_class - class_count < record.fixed_count.load(std::memory_order_acquire);
}

inline std::size_t block_bytes_of(HeapRecord& record, std::size_t size_class) noexcept {
  return size_class < class_count ? class_block_bytes[size_class]
                                  : record.fixed(size_class - class_count).block_bytes;
}

// The id by which hit paths find a thread's thread heap. Blocks of a hardened heap are to be proven
// first, so there it is none that a handle has.
inline std::uint64_t slot_id(const HeapRecord& record, std::uint64_t id) noexcept {
  return record.hardened ? id | std::uint64_t{1} << 63 : id;
}

inline bool is_frozen(const HeapRecord& record) noexcept {
  return record.frozen.load(std::memory_order_relaxed) != Frozen::no;
}

// malloc's heap. It has no limits, no mixed page, and no list of its large blocks.
extern HeapRecord main_record;
inline constexpr std::uint64_t main_heap_id = 1;

}  // namespace tarn
