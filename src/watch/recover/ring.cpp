// ring: see ring.hpp.
//
// SPDX-License-Identifier: MIT
#include "watch/recover/ring.hpp"

#include "platform/base/check.hpp"

namespace tarn {

constinit os::Lock rings_lock;
constinit std::uint32_t rings_epoch = 1;
constinit std::uint32_t rings_forks = 0;

namespace {

// Whether the neighbours of a purgeable, or the ends of the ring, lead to it.
[[maybe_unused]] bool is_linked(const Ring& ring, const tarn_purgeable& p) noexcept {
  return (p.prev != nullptr ? p.prev->next : ring.first) == &p &&
         (p.next != nullptr ? p.next->prev : ring.last) == &p;
}

}  // namespace

// Puts it behind the hand, so that it is the last one to be looked at.
void ring_add(HeapRecord& record, tarn_purgeable& p) noexcept {
  TARN_ASSERT(rings_lock.held_by_this_thread());
  TARN_ASSERT(p.ring == nullptr || p.epoch != rings_epoch);
  TARN_ASSERT(p.block != nullptr);
  Ring& ring = record.purgeables;
  TARN_ASSERT((ring.first == nullptr) == (ring.count == 0));
  tarn_purgeable* const after = ring.hand;  // Null: at the end.
  tarn_purgeable* const before = after != nullptr ? after->prev : ring.last;
  p.next = after;
  p.prev = before;
  p.ring = &record;
  p.epoch = rings_epoch;
  TARN_FORK_FENCE();
  (before != nullptr ? before->next : ring.first) = &p;
  TARN_FORK_FENCE();
  (after != nullptr ? after->prev : ring.last) = &p;
  ++ring.count;
  TARN_ASSERT(is_linked(ring, p));
}

void ring_remove(tarn_purgeable& p) noexcept {
  if (p.ring == nullptr || p.epoch != rings_epoch) return;
  Ring& ring = static_cast<HeapRecord*>(p.ring)->purgeables;
  TARN_ASSERT(ring.count != 0 && is_linked(ring, p));
  if (ring.hand == &p) ring.hand = p.next;
  TARN_FORK_FENCE();
  (p.prev != nullptr ? p.prev->next : ring.first) = p.next;
  TARN_FORK_FENCE();
  (p.next != nullptr ? p.next->prev : ring.last) = p.prev;
  --ring.count;
  p.ring = nullptr;
  TARN_ASSERT((ring.first == nullptr) == (ring.count == 0));
  TARN_ASSERT((ring.last == nullptr) == (ring.count == 0));
}

bool ring_check(const HeapRecord& record) noexcept {
  const Ring& ring = record.purgeables;
  const tarn_purgeable* before = nullptr;
  std::size_t count = 0;
  bool has_hand = ring.hand == nullptr;
  for (tarn_purgeable* p = ring.first; p != nullptr; p = p->next, ++count) {
    const std::uint64_t word = word_of(*p).load(std::memory_order_relaxed);
    if (p->prev != before || p->ring != &record || p->epoch != rings_epoch) return false;
    if ((word & (word_there | word_filling)) == 0 || p->block == nullptr) return false;
    has_hand = has_hand || ring.hand == p;
    before = p;
  }
  return ring.last == before && count == ring.count && has_hand;
}

bool is_filling(tarn_purgeable& p) noexcept {
  const std::uint64_t word = word_of(p).load(std::memory_order_relaxed);
  if ((word & word_filling) == 0) return false;
  if (p.forks == rings_forks || p.filler == os::thread_id()) return true;
  ring_remove(p);
  p.block = nullptr;
  word_of(p).store(word_known, std::memory_order_relaxed);
  return false;
}

}  // namespace tarn
