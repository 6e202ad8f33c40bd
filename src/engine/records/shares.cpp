// shares: see shares.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/records/shares.hpp"

#include <new>

#include "engine/records/live_bytes.hpp"
#include "platform/base/check.hpp"

namespace tarn {

constinit Shares shares;

ThreadHeap* find_share(HeapRecord& record, const Thread& thread) noexcept {
  // Acquire: pairs with join().
  ThreadHeap* h = record.thread_heaps.load(std::memory_order_acquire);
  while (h != nullptr && h->thread != &thread) h = h->next_of_record;
  return h;
}

void note_emptied(ThreadHeap& share) noexcept {
  Thread& thread = *share.thread;
  share.next_of_record = thread.emptied;
  TARN_FORK_FENCE();
  thread.emptied = &share;
  thread.has_left_over.store(true, std::memory_order_relaxed);
}

void add_counts_of(const ThreadHeap& share, HeapRecord& record, tarn_account* account) noexcept {
  for (std::size_t c = 0; c < bin_count; ++c) {
    const Bin* const bin = share.find_bin(c);
    if (bin == nullptr || !has_class(record, c)) continue;
    tarn_account_class& row = account->classes[class_of(block_bytes_of(record, c))];
    row.allocations += bin->counts.handed.read();
    row.sampled += bin->counts.sampled.read();
    row.sampled_bytes += bin->counts.sampled_bytes.read();
  }
}

ThreadHeap* Shares::take_locked(const HeapRecord& record) noexcept {
  ThreadHeap* const spare = is_region(record) ? nullptr : spare_;
  if (spare != nullptr) {
    spare_ = spare->next_of_record;
    TARN_ASSERT(serves_nothing(*spare));
    return spare;
  }
  void* const memory = allocate_record(record.zone, sizeof(ThreadHeap));
  if (memory == nullptr) return nullptr;
  auto* const share = new (memory) ThreadHeap;
  share->current.fill(no_page());
  if (is_region(record)) return share;
  share->next_known = known_;
  TARN_FORK_FENCE();
  known_ = share;
  return share;
}

ThreadHeap* Shares::join(HeapRecord& record, Thread& thread) noexcept {
  ThreadHeap* share = &record == &main_record ? &thread.heap : find_share(record, thread);
  if (share == nullptr) {
    os::Locked locked(lock_);
    share = take_locked(record);
    if (share == nullptr) return nullptr;
    share->thread = &thread;
    share->record = &record;
    thread.heaps.push_front(share);
    os::Locked record_locked(record.lock);
    share->next_of_record = record.thread_heaps.load(std::memory_order_relaxed);
    record.thread_heaps.store(share, std::memory_order_release);  // Pairs with find_share().
  }
  // Under the lock, so that whoever closes the heap finds the slot as it stays.
  os::Locked record_locked(record.lock);
  if (!record.closed.load(std::memory_order_relaxed) && barriers_known()) {
    const std::uint64_t id = record.id.load(std::memory_order_relaxed);
    HeapSlot& slot = thread.slots[id % heap_slots];
    slot.current = share->current.data();
    slot.id.store(id, std::memory_order_relaxed);
  }
  return share;
}

void Shares::join_fixed(ThreadHeap& share, const FixedClass& fixed) noexcept {
  os::Locked locked(share.record->lock);
  if (share.record->closed.load(std::memory_order_relaxed) || !barriers_known()) return;
  const std::uint64_t id = fixed.id.load(std::memory_order_relaxed);
  HeapSlot& slot = share.thread->slots[id % heap_slots];
  slot.current = share.place_of_current(fixed.size_class);
  slot.id.store(id, std::memory_order_relaxed);
}

ThreadHeap* Shares::join_alone(HeapRecord& record, Thread& owner) noexcept {
  os::Locked locked(lock_);
  ThreadHeap* const known = record.thread_heaps.load(std::memory_order_relaxed);
  if (known != nullptr) return known;
  ThreadHeap* const share = take_locked(record);
  if (share == nullptr) return nullptr;
  share->thread = &owner;
  share->record = &record;
  share->next_of_record = nullptr;
  record.thread_heaps.store(share, std::memory_order_release);
  return share;
}

void Shares::give_all(HeapRecord& record) noexcept {
  os::Locked locked(lock_);
  // First: a fork must not find shares on the list that are on another one already.
  ThreadHeap* const all = record.thread_heaps.load(std::memory_order_relaxed);
  record.thread_heaps.store(nullptr, std::memory_order_relaxed);
  record.adopt_next = nullptr;
  TARN_FORK_FENCE();
  ThreadHeap* next = nullptr;
  for (ThreadHeap* h = all; h != nullptr; h = next) {
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
}

// The share's memory is the region's.
void Shares::leave_region_locked(ThreadHeap& share, HeapRecord& record) noexcept {
  keep_counts(share, record);
  if (share.thread != &locked_owner) share.thread->heaps.remove(&share);
}

ThreadHeap* Shares::take_left_over(Thread& thread) noexcept {
  os::Locked locked(lock_);
  ThreadHeap* const left_over = thread.left_over;
  thread.left_over = nullptr;
  return left_over;
}

void Shares::give(ThreadHeap& share) noexcept {
  os::Locked locked(lock_);
  give_locked(share, main_record);
}

// What the share has counted, before its classes mean other sizes.
void Shares::keep_counts(ThreadHeap& share, HeapRecord& record) noexcept {
  for (std::size_t c = 0; c < bin_count; ++c) {
    Bin* const bin = share.find_bin(c);
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

void Shares::count_without_share(std::size_t bytes) noexcept {
  past_[class_of(bytes)].allocations.fetch_add(1, std::memory_order_relaxed);
}

void Shares::give_locked(ThreadHeap& share, HeapRecord& record) noexcept {
  TARN_ASSERT(serves_nothing(share));
  keep_counts(share, record);
  publish_live(share);
  share.look_again_at = 0;
  share.live_is_sure = false;
  if (share.thread != &locked_owner) share.thread->heaps.remove(&share);
  share.left_over = false;
  share.thread = nullptr;
  share.next_of_record = spare_;
  spare_ = &share;
}

void Shares::add_past_counts(tarn_account* account) const noexcept {
  for (std::size_t c = 0; c < class_count; ++c) {
    tarn_account_class& row = account->classes[c];
    row.allocations += past_[c].allocations.load(std::memory_order_relaxed);
    row.sampled += past_[c].sampled.load(std::memory_order_relaxed);
    row.sampled_bytes += past_[c].sampled_bytes.load(std::memory_order_relaxed);
  }
}

void Shares::list_shares_of(const HeapRecord& record) noexcept {
  for (ThreadHeap* h = record.thread_heaps; h != nullptr; h = h->next_of_record) {
    if (h->thread != &locked_owner) h->thread->heaps.push_front(h);
  }
}

void Shares::list_others() noexcept {
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

}  // namespace tarn
