// thread_heaps: see thread_heaps.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/records/thread_heaps.hpp"

#include <new>

#include "engine/records/live_bytes.hpp"
#include "platform/base/check.hpp"

namespace tarn {

constinit ThreadHeaps thread_heaps;

ThreadHeap* find_thread_heap(HeapRecord& record, const Thread& thread) noexcept {
  // Acquire: pairs with join().
  ThreadHeap* h = record.first_thread_heap.load(std::memory_order_acquire);
  while (h != nullptr && h->thread != &thread) h = h->next_of_record;
  return h;
}

void note_emptied(ThreadHeap& thread_heap) noexcept {
  TARN_ASSERT(thread_heap.pages.empty() && thread_heap.left_over);
  TARN_ASSERT(serves_nothing(thread_heap));
  Thread& thread = *thread_heap.thread;
  thread_heap.next_of_record = thread.emptied;
  TARN_FORK_FENCE();
  thread.emptied = &thread_heap;
  thread.has_left_over.store(true, std::memory_order_relaxed);
}

void add_counts_of(const ThreadHeap& thread_heap, HeapRecord& record,
                   tarn_account* account) noexcept {
  for (std::size_t c = 0; c < bin_count; ++c) {
    const Bin* const bin = thread_heap.find_bin(c);
    if (bin == nullptr || !has_class(record, c)) continue;
    tarn_account_class& row = account->classes[class_of(block_bytes_of(record, c))];
    row.allocations += bin->counts.handed.read();
    row.sampled += bin->counts.sampled.read();
    row.sampled_bytes += bin->counts.sampled_bytes.read();
  }
}

ThreadHeap* ThreadHeaps::take_locked(const HeapRecord& record) noexcept {
  TARN_ASSERT(lock_.held_by_this_thread());
  ThreadHeap* const spare = is_region(record) ? nullptr : spare_;
  if (spare != nullptr) {
    spare_ = spare->next_of_record;
    TARN_ASSERT(serves_nothing(*spare) && spare->pages.empty() && spare->thread == nullptr);
    return spare;
  }
  void* const memory = record.source.allocate_record(sizeof(ThreadHeap));
  if (memory == nullptr) return nullptr;
  auto* const thread_heap = new (memory) ThreadHeap;
  thread_heap->current.fill(no_page());
  if (is_region(record)) return thread_heap;
  thread_heap->next_known = known_;
  TARN_FORK_FENCE();
  known_ = thread_heap;
  return thread_heap;
}

ThreadHeap* ThreadHeaps::join(HeapRecord& record, Thread& thread) noexcept {
  TARN_ASSERT(thread.busy.load(std::memory_order_relaxed) && !record.is_serialised());
  ThreadHeap* thread_heap =
      &record == &main_record ? &thread.heap : find_thread_heap(record, thread);
  if (thread_heap == nullptr) {
    os::Locked locked(lock_);
    thread_heap = take_locked(record);
    if (thread_heap == nullptr) return nullptr;
    thread_heap->thread = &thread;
    thread_heap->record = &record;
    thread.heaps.push_front(thread_heap);
    os::Locked record_locked(record.lock);
    thread_heap->next_of_record = record.first_thread_heap.load(std::memory_order_relaxed);
    record.first_thread_heap.store(thread_heap,
                                   std::memory_order_release);  // Pairs with find_thread_heap().
  }
  TARN_ASSERT(thread_heap->thread == &thread && thread_heap->record == &record);
  // Under the lock, so that a thread that enters an exclusive section finds the slot as it stays.
  os::Locked record_locked(record.lock);
  if (!record.exclusive.load(std::memory_order_relaxed) && barriers_known()) {
    const std::uint64_t id = record.id.load(std::memory_order_relaxed);
    HeapSlot& slot = thread.slots[id % heap_slots];
    TARN_ASSERT(id != 0 && id != HeapSlot::no_id);
    slot.current = thread_heap->current.data();
    slot.id.store(slot_id(record, id), std::memory_order_relaxed);
  }
  return thread_heap;
}

void ThreadHeaps::join_fixed(ThreadHeap& thread_heap, const FixedClass& fixed) noexcept {
  TARN_ASSERT(fixed.heap == thread_heap.record);
  os::Locked locked(thread_heap.record->lock);
  if (thread_heap.record->exclusive.load(std::memory_order_relaxed) || !barriers_known()) return;
  const std::uint64_t id = fixed.id.load(std::memory_order_relaxed);
  HeapSlot& slot = thread_heap.thread->slots[id % heap_slots];
  slot.current = thread_heap.place_of_current(fixed.size_class);
  slot.id.store(id, std::memory_order_relaxed);
}

ThreadHeap* ThreadHeaps::join_alone(HeapRecord& record, Thread& owner) noexcept {
  os::Locked locked(lock_);
  ThreadHeap* const known = record.first_thread_heap.load(std::memory_order_relaxed);
  TARN_ASSERT(known == nullptr || (known->thread == &owner && known->next_of_record == nullptr));
  if (known != nullptr) return known;
  ThreadHeap* const thread_heap = take_locked(record);
  if (thread_heap == nullptr) return nullptr;
  thread_heap->thread = &owner;
  thread_heap->record = &record;
  thread_heap->next_of_record = nullptr;
  record.first_thread_heap.store(thread_heap, std::memory_order_release);
  return thread_heap;
}

void ThreadHeaps::give_all(HeapRecord& record) noexcept {
  TARN_ASSERT(exclusive_to_this_thread(record));
  os::Locked locked(lock_);
  // First: a fork must not find thread heaps on the list that are on another one already.
  ThreadHeap* const all = record.first_thread_heap.load(std::memory_order_relaxed);
  record.first_thread_heap.store(nullptr, std::memory_order_relaxed);
  record.adopt_next = nullptr;
  TARN_FORK_FENCE();
  ThreadHeap* next = nullptr;
  for (ThreadHeap* h = all; h != nullptr; h = next) {
    TARN_ASSERT(h->record == &record);
    next = h->next_of_record;
    h->next_of_record = nullptr;
    if (is_region(record)) {
      leave_region_locked(*h, record);
    } else if (h->pages.empty() && !is_lost(*h)) {
      give_locked(*h, record);
    } else {
      keep_counts(*h, record);
      h->record = &main_record;
      if (h->thread == &locked_owner) continue;
      h->next_of_record = h->thread->left_over;
      TARN_FORK_FENCE();
      h->thread->left_over = h;
      h->thread->has_left_over.store(true, std::memory_order_relaxed);
    }
  }
  if (is_region(record)) record.fixed_groups.fill(nullptr);
  TARN_ASSERT_EVERY(16, check_locked());
}

// The thread heap's memory is the region's.
void ThreadHeaps::leave_region_locked(ThreadHeap& thread_heap, HeapRecord& record) noexcept {
  TARN_ASSERT(lock_.held_by_this_thread() && is_region(record));
  keep_counts(thread_heap, record);
  if (thread_heap.thread != &locked_owner) thread_heap.thread->heaps.remove(&thread_heap);
}

ThreadHeap* ThreadHeaps::take_left_over(Thread& thread) noexcept {
  os::Locked locked(lock_);
  ThreadHeap* const left_over = thread.left_over;
  thread.left_over = nullptr;
  return left_over;
}

void ThreadHeaps::give(ThreadHeap& thread_heap) noexcept {
  os::Locked locked(lock_);
  TARN_ASSERT(thread_heap.record == &main_record);
  give_locked(thread_heap, main_record);
  TARN_ASSERT_EVERY(16, check_locked());
}

// Keeps what the thread heap has counted, before its classes mean other sizes.
void ThreadHeaps::keep_counts(ThreadHeap& thread_heap, HeapRecord& record) noexcept {
  for (std::size_t c = 0; c < bin_count; ++c) {
    Bin* const bin = thread_heap.find_bin(c);
    if (bin == nullptr) continue;
    if (has_class(record, c)) {
      PastCounts& past = past_[class_of(block_bytes_of(record, c))];
      past.allocations.fetch_add(bin->counts.handed.read(), std::memory_order_relaxed);
      past.sampled.fetch_add(bin->counts.sampled.read(), std::memory_order_relaxed);
      past.sampled_bytes.fetch_add(bin->counts.sampled_bytes.read(), std::memory_order_relaxed);
    }
    bin->counts.clear();
  }
}

void ThreadHeaps::count_without_thread_heap(std::size_t bytes) noexcept {
  past_[class_of(bytes)].allocations.fetch_add(1, std::memory_order_relaxed);
}

void ThreadHeaps::give_locked(ThreadHeap& thread_heap, HeapRecord& record) noexcept {
  TARN_ASSERT(serves_nothing(thread_heap));
  TARN_ASSERT(lock_.held_by_this_thread() && thread_heap.pages.empty());
  keep_counts(thread_heap, record);
  publish_live(thread_heap);
  thread_heap.look_again_at = 0;
  thread_heap.live_is_sure = false;
  if (thread_heap.thread != &locked_owner) thread_heap.thread->heaps.remove(&thread_heap);
  TARN_ASSERT(thread_heap.live_delta == 0 && &thread_heap != spare_);
  thread_heap.left_over = false;
  thread_heap.thread = nullptr;
  thread_heap.next_of_record = spare_;
  spare_ = &thread_heap;
}

void ThreadHeaps::add_past_counts(tarn_account* account) const noexcept {
  for (std::size_t c = 0; c < class_count; ++c) {
    tarn_account_class& row = account->classes[c];
    row.allocations += past_[c].allocations.load(std::memory_order_relaxed);
    row.sampled += past_[c].sampled.load(std::memory_order_relaxed);
    row.sampled_bytes += past_[c].sampled_bytes.load(std::memory_order_relaxed);
  }
}

void ThreadHeaps::list_thread_heaps_of(const HeapRecord& record) noexcept {
  for (ThreadHeap* h = record.first_thread_heap; h != nullptr; h = h->next_of_record) {
    if (h->thread != &locked_owner) h->thread->heaps.push_front(h);
  }
}

void ThreadHeaps::list_others() noexcept {
  spare_ = nullptr;
  for (ThreadHeap* h = known_; h != nullptr; h = h->next_known) {
    if (h->thread == nullptr) {
      h->next_of_record = spare_;
      spare_ = h;
    } else if (h->record == &main_record && h->thread != &locked_owner) {
      h->thread->heaps.push_front(h);  // Of a deleted heap.
    }
  }
}

#ifdef TARN_DEBUG
bool ThreadHeaps::check_locked() const noexcept {
  std::size_t unused = 0;
  for (const ThreadHeap* h = known_; h != nullptr; h = h->next_known) {
    if (h->thread == nullptr) {
      ++unused;
    } else if (h->record == nullptr) {
      return false;
    }
  }
  std::size_t spare = 0;
  for (const ThreadHeap* h = spare_; h != nullptr; h = h->next_of_record) {
    if (h->thread != nullptr || !h->pages.empty() || h->left_over) return false;
    if (!serves_nothing(*h) || ++spare > unused) return false;
  }
  return spare == unused;
}
#endif

}  // namespace tarn
