// registry: the records of all heaps. They are never freed, only reused under a new id.
//
// Its lock is that of thread_heaps (thread_heaps.hpp), which guards the lists of records, too.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/records/record.hpp"
#include "engine/records/thread.hpp"
#include "engine/records/thread_heaps.hpp"
#include "engine/zones/span_source.hpp"
#include "platform/os/thread.hpp"
#include "tarn/diagnose/account.h"

namespace tarn {

class Registry {
 public:
  // A record under a new id, on the list of live ones, otherwise as a new record; null when out of
  // memory. The heap takes over the source and the checks, which may be null. pre: `options` was
  // checked
  HeapRecord* make(const tarn_heap_options& options, SpanSource source, Checks* checks) noexcept;

  // Makes the id of a live record 0 and keeps a tombstone; false when it has another id by now.
  bool end_id(HeapRecord& record, std::uint64_t id) noexcept;

  // Takes back a record that has neither id, nor memory, nor checks. It is not reused while it has
  // children.
  void give(HeapRecord& record) noexcept;

  // The heap's class of blocks of that size, made when there is none; null with errno set when it
  // cannot be.
  FixedClass* make_fixed(HeapRecord& record, std::uint64_t heap_id,
                         std::size_t block_bytes) noexcept;

  // Calls visit(record) for the live records, newest last. Holds the lock.
  template <class Visit>
  void for_each(Visit visit) noexcept {
    os::LockedUnlessHeld locked(thread_heaps.lock());
    for (HeapRecord* r = live_.head(); r != nullptr; r = r->next) visit(*r);
  }

  // Calls visit(record) for all records that there are but malloc's, in use or not. No lock.
  template <class Visit>
  void for_each_known(Visit visit) noexcept {
    for (HeapRecord* r = known_.load(std::memory_order_acquire); r != nullptr; r = r->next_known) {
      visit(*r);
    }
  }

  // True when the heap is live, and is `top` or below it.
  bool is_live_in(const tarn_heap& heap, const HeapRecord* top) noexcept;

  // Calls visit(span) for the descriptors that lie in regions. Also where a signal has interrupted
  // the registry.
  template <class Visit>
  void for_each_region_span(Visit visit) noexcept {
    os::LockedUnlessHeld locked(thread_heaps.lock());
    for (HeapRecord* r = live_.head(); r != nullptr; r = r->next) {
      r->source.for_each_own_span(visit);
    }
  }

  // For code that needs the lists of several rooms at rest.
  os::Lock& lock() noexcept { return thread_heaps.lock(); }

  // The live heap after this one, the first one for the zero value; the zero value at the end, or
  // when the heap has ended. `ancestor`, if not null: only those below it.
  tarn_heap next_after(const tarn_heap& heap, const HeapRecord* ancestor) noexcept;

  // Makes the lists again in the child of a fork, where they may be half-changed, from the records'
  // ids and other uses.
  void rebuild() noexcept;

  // Adds what heaps of one's own have allocated, those that have ended included, to the rows of the
  // account's classes. (Of ended heaps blocks are counted that were never handed out: some OS pages
  // of each size at most.) Any thread, also where a signal has interrupted it.
  void add_counts(tarn_account* account) noexcept;

 private:
  HeapRecord* take_record_locked(bool for_region) noexcept;  // Returns a record whose gate is held.
  // Returns a record whose gate is held; null for null.
  HeapRecord* new_record_locked(void* memory) noexcept;
  void spare_record_locked(HeapRecord& record) noexcept;
  std::uint64_t new_id_locked() noexcept { return main_heap_id + ++ids_given_; }

  List<HeapRecord> live_;
  List<HeapRecord> spare_;
  // A region makes no call of the OS, and its record must outlive it: these are for regions.
  static constexpr std::size_t static_records_ = 64;
  List<HeapRecord> spare_static_;
  std::size_t static_used_ = 0;
  alignas(HeapRecord) std::byte static_memory_[static_records_][sizeof(HeapRecord)] = {};
  std::atomic<HeapRecord*> known_{nullptr};
  std::uint64_t ids_given_ = 0;  // Since malloc's own: all of this is zero at first, and no file's.
};

extern Registry registry;

}  // namespace tarn
