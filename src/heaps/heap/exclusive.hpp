// exclusive: how one thread gets a heap for itself, although the others use it without locks.
//
//   the entering thread                       another thread, about to use the heap
//   -------------------                       -------------------------------------
//   takes the gate, sets `exclusive`,         hit path: sets `inside`, looks into its slot
//   empties the others' slots                 slow path: sets `busy`, looks at `exclusive`
//   membarrier                                ...
//   waits until each was once neither         finds the slot empty, or `exclusive` set: neither
//   inside nor busy, and no visitor           inside nor busy any more, it waits at the gate
//
// A thread without a slot (it may have no thread heap here) counts as a visitor, in an atomic.
// Frees are not held up. docs/design/heaps.md says why this is enough.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/record.hpp"
#include "engine/records/thread.hpp"

namespace tarn {

// Reports a confined heap that another thread than its own uses. function and here may be null.
void require_thread(const HeapRecord& record, const char* function, const void* here) noexcept;

// From enter_exclusive() to leave_exclusive() the heap is the calling thread's alone, and the
// thread may go on using it. Sections nest. The heap may have ended before the section begins, and
// the record may be another heap's by then: compare its id. pre: the thread is not busy and holds
// no lock
void enter_exclusive(HeapRecord& record) noexcept;
void leave_exclusive(HeapRecord& record) noexcept;

// As enter_exclusive(), but false, with nothing done, when that would wait for another thread while
// the calling thread holds a heap exclusively: two such threads could wait for each other.
bool enter_exclusive_unless_deadlock(HeapRecord& record) noexcept;

// As enter_exclusive(), but false, with nothing done, when another thread holds the heap
// exclusively for longer than a few yields. For threads that want memory in any place: they must
// not wait for what a program does with a heap that it has locked.
bool enter_exclusive_soon(HeapRecord& record) noexcept;

// Forgets how often the calling thread has entered: the next leave_exclusive() ends the section.
void forget_exclusive_depth(HeapRecord& record) noexcept;

class ExclusiveSection {
 public:
  explicit ExclusiveSection(HeapRecord& record) noexcept : record_(record) {
    enter_exclusive(record);
  }
  ~ExclusiveSection() { leave_exclusive(record_); }
  ExclusiveSection(const ExclusiveSection&) = delete;
  ExclusiveSection& operator=(const ExclusiveSection&) = delete;

 private:
  HeapRecord& record_;
};

// Lives while the calling thread is on a slow path of a heap: the thread is busy, and no other
// thread holds the heap exclusively. The constructor waits at the gate.
class Visit {
 public:
  Visit(HeapRecord& record, std::uint64_t id) noexcept;
  ~Visit();
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  // The record that acts: the thread's, or a shared one when the thread is ending; null when out of
  // memory.
  Thread* thread() const noexcept { return thread_; }
  // True when the heap has another id, or none, by now.
  bool ended() const noexcept { return ended_; }

 private:
  void leave() noexcept;

  HeapRecord& record_;
  std::uint64_t id_;
  Thread* thread_ = nullptr;
  bool ending_ = false;
  bool counted_ = false;
  bool ended_ = false;
};

}  // namespace tarn
