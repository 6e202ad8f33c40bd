// purgeables_fork: the rings in the child of a fork, whose other threads are gone.
//
// SPDX-License-Identifier: MIT
#include "platform/base/check.hpp"
#include "watch/recover/purgeables.hpp"
#include "watch/recover/ring.hpp"

namespace tarn {

namespace {

// Makes a ring anew from its `next` links. A thread of the parent may have stopped anywhere under
// the lock; the `next` links are whole all the same. What that thread was taking off is off; what
// it was putting on may be on already.
void relink(HeapRecord& record) noexcept {
  Ring& ring = record.purgeables;
  tarn_purgeable* before = nullptr;
  bool has_hand = false;
  ring.count = 0;
  for (tarn_purgeable* p = ring.first; p != nullptr; p = p->next) {
    p->prev = before;
    p->ring = &record;
    p->epoch = rings_epoch;
    has_hand = has_hand || ring.hand == p;
    ++ring.count;
    before = p;
  }
  ring.last = before;
  if (!has_hand) ring.hand = nullptr;
  TARN_ASSERT((ring.first == nullptr) == (ring.last == nullptr));
}

// Makes a purgeable agree with its ring. One that a vanished thread had claimed, but not yet taken
// off its ring, has vanished; its block is not used again, since it may have been freed. One that a
// vanished thread was filling has vanished too.
void settle(HeapRecord& record, tarn_purgeable& p) noexcept {
  TARN_ASSERT(p.ring == &record && p.epoch == rings_epoch);
  if (is_filling(p)) return;
  const std::uint64_t word = word_of(p).load(std::memory_order_relaxed);
  p.inherited = static_cast<std::uint32_t>(word / word_pin);
  const bool is_whole = (word & word_there) != 0 && p.block != nullptr;
  // The memory of a secret heap reads as zero here.
  if (is_whole && (!record.secret || p.inherited != 0)) return;
  ring_remove(p);
  p.block = nullptr;
  word_of(p).store(word_known | p.inherited * word_pin, std::memory_order_relaxed);
}

// Whether the rings must be made anew. Used in the child of a fork while it has one thread.
constinit bool broken = false;

}  // namespace

// malloc's record comes first. If no thread vanished under the lock, the rings are whole; otherwise
// all are made anew, as that thread may have been at any of them. A thread that forks while it
// holds the lock itself (in a signal handler) goes on with what it has.
void repair_purgeables(HeapRecord& record) noexcept {
  if (rings_lock.held_by_this_thread()) return;
  if (&record == &main_record) {
    broken = rings_lock.recover_after_fork();
    if (broken) ++rings_epoch;
    ++rings_forks;
    TARN_ASSERT(!rings_lock.is_held());
  }
  if (broken) relink(record);
  for (tarn_purgeable* p = record.purgeables.first; p != nullptr;) {
    tarn_purgeable& settled = *p;
    p = p->next;
    settle(record, settled);
  }
  TARN_ASSERT(ring_check(record));
}

}  // namespace tarn
