// gate: what a thread that comes to a heap asks: whether another thread holds it exclusively, and
// where to wait until it does not. heaps/heap/exclusive.hpp says how a heap is held exclusively.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/record.hpp"
#include "platform/base/config.hpp"
#include "platform/report/misuse.hpp"

namespace tarn {

// True while another thread holds the heap exclusively. pre: the calling thread is busy, or holds
// the record's lock
bool exclusive_to_another(const HeapRecord& record) noexcept;

// True when the calling thread holds the heap exclusively.
inline bool exclusive_to_this_thread(const HeapRecord& record) noexcept {
  return record.exclusive.load(std::memory_order_relaxed) && record.gate.held_by_this_thread();
}

// True when the calling thread must not touch the heap's lists and free blocks: another thread
// holds the heap exclusively, or the heap is frozen.
inline bool keeps_off(const HeapRecord& record) noexcept {
  return exclusive_to_another(record) || is_frozen(record);
}

// Reports a free of a block of a frozen heap, which is misuse.
inline void report_if_frozen(const HeapRecord& record) noexcept {
  if (TARN_LIKELY(!is_frozen(record))) return;
  report_frozen_heap("free", record.name, record.id.load(std::memory_order_relaxed));
}

// Waits until no other thread holds the heap exclusively. pre: the calling thread is not busy, and
// holds no lock
void wait_at_gate(HeapRecord& record) noexcept;

// Holds the lock of the record that `record_now()` returns, while no other thread holds that heap
// exclusively. It waits at the gate while one does, and follows when record_now() returns another
// record by then. The heap may be frozen. pre: as wait_at_gate()
class LockedPastGate {
 public:
  template <class RecordNow>
  explicit LockedPastGate(RecordNow record_now) noexcept {
    for (;;) {
      record_ = record_now();
      record_->lock.lock();
      const bool exclusive = exclusive_to_another(*record_);
      if (!exclusive && record_now() == record_) return;
      record_->lock.unlock();
      if (exclusive) wait_at_gate(*record_);
    }
  }
  ~LockedPastGate() { record_->lock.unlock(); }
  LockedPastGate(const LockedPastGate&) = delete;
  LockedPastGate& operator=(const LockedPastGate&) = delete;

  HeapRecord& record() const noexcept { return *record_; }

 private:
  HeapRecord* record_ = nullptr;
};

// False where the OS has no process-wide barrier. No slot may be filled then.
bool barriers_known() noexcept;

// When this returns, all that other threads did before a trace of it reached this thread is visible
// here. False where the OS has no barriers.
bool barrier_for_reader() noexcept;

// The half of the protocol that the thread entering an exclusive section runs. Every thread that
// comes to the heap from here on sees what this thread wrote before; this thread sees what others
// wrote before they came.
void barrier_for_exclusive() noexcept;

}  // namespace tarn
