// record: what a heap is to the library, whatever thread asks. Records are never freed, only reused
// under a new id, so a handle {record, id} can be checked at any time.
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
  std::atomic<std::size_t> committed_peak{0};  // Up to the last time that something was given back.
  // Changed by whoever holds the heap exclusively, read by descendants' charges and by frees.
  std::atomic<std::size_t> ceiling{SIZE_MAX};
  std::atomic<std::size_t> floor{0};         // Empty pages below it stay the heap's: now,
  std::atomic<std::size_t> floor_wanted{0};  // and when nobody is collecting.
  std::atomic<std::size_t> soft_mark{SIZE_MAX};
  std::atomic<bool> soft_mark_passed{false};  // The callback is due.
  tarn_heap_reclaim reclaim = nullptr;
  tarn_heap_mark soft_mark_callback = nullptr;
  void* context = nullptr;

  // 0: none. pre: nobody uses the heap, or the calling thread holds it exclusively.
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
class Zone;

// Blocks of a heap that may vanish; what the room recover has put into it. Under that room's lock.
struct Ring {
  tarn_purgeable* first = nullptr;
  tarn_purgeable* last = nullptr;
  tarn_purgeable* hand = nullptr;  // The next one to be looked at; null: the first one.
  std::size_t count = 0;
};

// A class of a heap's own: blocks of one exact size. Known by an id of its own, like the heap.
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
  std::atomic<std::uint64_t> id{0};  // 0: destroyed.
  std::atomic<bool> exclusive{false};   // One thread has it for itself (exclusive.hpp).
  std::atomic<bool> young{true};     // Classes have their first blocks in the mixed page.
  std::atomic<HeapThreads> threads{HeapThreads::shared};
  os::ThreadId maker = 0;  // The thread to which a confined heap belongs.
  bool gone = false;  // Destroyed, its memory given back.
  bool editing_lists = false;  // The lists of its thread heaps are being changed: see EditingLists
                               // (exclusive_pages.hpp).
  bool secret = false;  // Blocks are wiped when they are freed.
  std::atomic<Frozen> frozen{Frozen::no};
  std::uint32_t children = 0;  // A destroyed parent stays until its last child goes.
  os::Lock gate{};  // Held by who makes the heap, and by who holds it exclusively;
  std::uint32_t exclusive_depth = 0;  // how often, and
  bool walking = false;        // whether empty pages must stay. Guarded by the gate.
  std::atomic<std::uint32_t> visitors{0};  // On slow paths, and not found through a thread heap.
  os::Lock lock{};  // Mixed page, large, the list of ThreadHeaps; serialised: all of it.
  std::atomic<std::uint32_t> fixed_count{0};  // Classes of its own. Release on making.
  std::atomic<ThreadHeap*> first_thread_heap{
      nullptr};                      // Linked by next_of_record; grows while open.
  ThreadHeap* adopt_next = nullptr;  // The one whose pages are looked at for adoption; null: first.
  List<Span, &Span::next_of_heap, &Span::prev_of_heap> large{};
  Zone* zone = nullptr;  // Where its memory comes from; null: the store.
  HeapRecord* parent = nullptr;
  HeapRecord* next = nullptr;  // The registry's list of live records, or of spare ones.
  HeapRecord* prev = nullptr;
  HeapRecord* next_known = nullptr;  // All records, newest first; written once.
  Limits limits{};
  std::atomic<std::int64_t> live_bytes{0};  // As far as is known (live_bytes.hpp),
  std::atomic<std::int64_t> live_bytes_peak{0};  // and the most of it.
  MixedPage mixed{};
  // The first classes of its own are its class table, if it has one: no common one serves it then.
  std::atomic<std::uint16_t> table_count{0};
  std::atomic<std::uint16_t> paged_grains{paged_grains_most};  // Larger requests: large blocks.
  std::array<FixedGroup*, fixed_group_count> fixed_groups{};  // Made when wanted, never freed.
  void* belongs_to = nullptr;  // Of whoever has the heap for its own ends, and for it alone.
  Ring purgeables{};
  Checks* checks = nullptr;  // Of a heap whose mode is not fast: then there is nothing else.
  char name[TARN_HEAP_NAME_BYTES] = {};

  static constexpr std::uint16_t paged_grains_most = block_bytes_max / block_align;

  tarn_heap handle() noexcept { return {this, id.load(std::memory_order_relaxed)}; }

  bool has_table() const noexcept { return table_count.load(std::memory_order_relaxed) != 0; }

  // These: any thread, at any time; of a heap that has ended it may be another one's.
  bool is_serialised() const noexcept {
    return threads.load(std::memory_order_relaxed) == HeapThreads::serialised;
  }

  std::size_t paged_bytes_max() const noexcept {
    return paged_grains.load(std::memory_order_relaxed) * block_align;
  }

  // pre: i < fixed_count
  FixedClass& fixed(std::size_t i) noexcept {
    return (*fixed_groups[i / fixed_group_classes])[i % fixed_group_classes];
  }
};

// False for a class that the heap does not have (any more).
inline bool has_class(const HeapRecord& record, std::size_t size_class) noexcept {
  return size_class < class_count ||
         size_class - class_count < record.fixed_count.load(std::memory_order_acquire);
}

inline std::size_t block_bytes_of(HeapRecord& record, std::size_t size_class) noexcept {
  return size_class < class_count ? class_block_bytes[size_class]
                                  : record.fixed(size_class - class_count).block_bytes;
}

inline bool is_frozen(const HeapRecord& record) noexcept {
  return record.frozen.load(std::memory_order_relaxed) != Frozen::no;
}

// malloc's heap. It has no limits, no mixed page and no list of its large blocks.
extern HeapRecord main_record;
inline constexpr std::uint64_t main_heap_id = 1;

}  // namespace tarn
