// exclusive: see exclusive.hpp.
//
// SPDX-License-Identifier: MIT
#include "heaps/heap/exclusive.hpp"

#include "engine/records/gate.hpp"
#include "engine/threads/ending_threads.hpp"
#include "engine/threads/orphan_care.hpp"
#include "engine/threads/thread_life.hpp"
#include "platform/base/check.hpp"
#include "platform/report/misuse.hpp"

namespace tarn {

void require_thread(const HeapRecord& record, const char* function, const void* here) noexcept {
  const HeapThreads threads = record.threads.load(std::memory_order_relaxed);
  if (threads != HeapThreads::confined || record.maker == os::thread_id()) return;
  report_confined_heap(function, record.name, record.id.load(std::memory_order_relaxed), here);
}

namespace {

// For debug builds.
[[maybe_unused]] bool is_for_this_thread(const HeapRecord& record) noexcept {
  require_thread(record, nullptr, nullptr);
  return true;
}

void empty_slot(Thread& thread, std::uint64_t id) noexcept {
  std::atomic<std::uint64_t>& slot = thread.slots[id % heap_slots].id;
  // Its thread may be putting another heap there, so only this heap's entry is removed.
  std::uint64_t expected = id;
  slot.compare_exchange_strong(expected, HeapSlot::no_id, std::memory_order_relaxed);
}

void empty_slots(HeapRecord& record, Thread& thread) noexcept {
  empty_slot(thread, slot_id(record, record.id.load(std::memory_order_relaxed)));
  const std::uint32_t count = record.fixed_count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t id = record.fixed(i).id.load(std::memory_order_relaxed);
    if (id != 0) empty_slot(thread, id);
  }
}

// Acquire: pairs with the release that ends each, so that what the thread did there is seen.
bool is_at_work(const Thread& thread) noexcept {
  if (thread.state.load(std::memory_order_relaxed) == ThreadState::lost) return false;
  return thread.inside.load(std::memory_order_acquire) ||
         thread.busy.load(std::memory_order_acquire);
}

// The number of heaps that the calling thread holds exclusively.
__thread std::uint32_t gates_held = 0;

// pre: the gate has just been taken
void keep_others_out(HeapRecord& record) noexcept {
  TARN_ASSERT(record.gate.held_by_this_thread() &&
              !record.exclusive.load(std::memory_order_relaxed));
  ++gates_held;
  record.exclusive_depth = 1;
  bool others = false;
  {
    os::Locked locked(record.lock);
    record.exclusive.store(true, std::memory_order_seq_cst);
    if (!record.is_serialised()) {
      for (ThreadHeap* h = record.first_thread_heap; h != nullptr; h = h->next_of_record) {
        empty_slots(record, *h->thread);
        others = others || h->thread != current_thread;
      }
    }
  }
  // Sequentially consistent: pairs with Visit, which counts itself first and looks afterwards.
  while (record.visitors.load(std::memory_order_seq_cst) != 0) os::yield();
  if (!others) return;
  barrier_for_exclusive();
  for (ThreadHeap* h = record.first_thread_heap; h != nullptr; h = h->next_of_record) {
    if (h->thread == current_thread) continue;
    while (is_at_work(*h->thread)) os::yield();
  }
}

}  // namespace

void enter_exclusive(HeapRecord& record) noexcept {
  TARN_ASSERT(!record.lock.held_by_this_thread());
  if (exclusive_to_this_thread(record)) {
    ++record.exclusive_depth;
    return;
  }
  record.gate.lock();
  keep_others_out(record);
}

bool enter_exclusive_unless_deadlock(HeapRecord& record) noexcept {
  if (gates_held == 0 || exclusive_to_this_thread(record)) {
    enter_exclusive(record);
    return true;
  }
  if (!record.gate.try_lock()) return false;
  keep_others_out(record);
  return true;
}

bool enter_exclusive_soon(HeapRecord& record) noexcept {
  constexpr int yields_max = 1000;
  if (exclusive_to_this_thread(record)) {
    ++record.exclusive_depth;
    return true;
  }
  for (int i = 0; !record.gate.try_lock(); ++i) {
    if (i == yields_max || gates_held != 0) return false;
    os::yield();
  }
  keep_others_out(record);
  return true;
}

void forget_exclusive_depth(HeapRecord& record) noexcept {
  TARN_ASSERT(exclusive_to_this_thread(record));
  record.exclusive_depth = 1;
}

void leave_exclusive(HeapRecord& record) noexcept {
  TARN_ASSERT(exclusive_to_this_thread(record) && record.exclusive_depth != 0);
  if (--record.exclusive_depth != 0) return;
  record.exclusive.store(false, std::memory_order_seq_cst);
  if (!record.is_serialised()) {
    // Mail that came meanwhile waits for its thread; the mail of a thread that has ended meanwhile
    // would be read by nobody. Before the gate: the next thread that ends the heap takes its thread
    // heaps away.
    for (ThreadHeap* h = record.first_thread_heap; h != nullptr; h = h->next_of_record) {
      if (h->thread->state.load(std::memory_order_seq_cst) == ThreadState::orphan) {
        orphan_tend(*h);
      }
    }
  }
  TARN_ASSERT(gates_held != 0);
  --gates_held;
  record.gate.unlock();
}

Visit::Visit(HeapRecord& record, std::uint64_t id) noexcept : record_(record), id_(id) {
  ending_ = thread_is_ending;
  for (;;) {
    thread_ = ending_ ? ending_threads.begin() : current_thread;
    if (thread_ == no_thread()) thread_ = thread_start();
    if (thread_ == nullptr) return;
    Busy::begin(*thread_);
    current_thread->inside.store(false, std::memory_order_release);
    counted_ =
        thread_->slots[id % heap_slots].id.load(std::memory_order_relaxed) != slot_id(record, id);
    if (counted_) record_.visitors.fetch_add(1, std::memory_order_seq_cst);
    if (!exclusive_to_another(record_)) break;
    leave();
    wait_at_gate(record_);
  }
  ended_ = record_.id.load(std::memory_order_relaxed) != id_;
  TARN_ASSERT(ended_ || is_for_this_thread(record_));
}

Visit::~Visit() {
  if (thread_ != nullptr) leave();
}

// Release: pairs with the looks of a thread that enters an exclusive section, so that it sees what
// was done inside.
void Visit::leave() noexcept {
  TARN_ASSERT(thread_->busy.load(std::memory_order_relaxed));
  TARN_ASSERT(!counted_ || record_.visitors.load(std::memory_order_relaxed) != 0);
  if (counted_) record_.visitors.fetch_sub(1, std::memory_order_release);
  Busy::end(*thread_);
  if (ending_) ending_threads.end();
}

}  // namespace tarn
