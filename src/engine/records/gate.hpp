// gate: what a thread that comes to a heap asks: has another thread it for itself, and where to
// wait until it has not. How a heap is closed: exclusive.hpp.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/record.hpp"
#include "platform/base/config.hpp"
#include "platform/report/report.hpp"

namespace tarn {

// Does another thread have the heap for itself? The calling one is busy or holds the record's lock.
bool exclusive_to_another(const HeapRecord& record) noexcept;

// True for the thread that holds the heap exclusively.
inline bool exclusive_to_this_thread(const HeapRecord& record) noexcept {
  return record.exclusive.load(std::memory_order_relaxed) && record.gate.held_by_this_thread();
}

// Must the calling thread keep off the heap's lists and free blocks? As exclusive_to_another(), or
// the heap is frozen.
inline bool keeps_off(const HeapRecord& record) noexcept {
  return exclusive_to_another(record) || is_frozen(record);
}

// To free a block of a frozen heap is misuse.
inline void report_if_frozen(const HeapRecord& record) noexcept {
  if (TARN_LIKELY(!is_frozen(record))) return;
  report_frozen_heap("free", record.name, record.id.load(std::memory_order_relaxed));
}

// Until the thread that holds the heap exclusively opens it. pre: the calling thread is not busy,
// and holds no lock.
void wait_at_gate(HeapRecord& record) noexcept;

// The lock of the record that `record_now()` gives, of a heap that no other thread has closed: it
// waits at the gate while one has, and follows when the record is another one by then. The heap may
// be frozen. pre: as wait_at_gate()
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

// False where the OS has no barriers: then no slot may be filled.
bool barriers_known() noexcept;

// What other threads did before this thread saw a trace of it is done when this returns. False
// where the OS has no barriers.
bool barrier_for_reader() noexcept;

// The closer's half of the protocol: what it wrote before is seen by every thread that comes to the
// heap from here on, and what others wrote before they came is seen by it.
void barrier_for_exclusive() noexcept;

}  // namespace tarn
