// purgeables: blocks that may vanish. Locking and unlocking touch only the word of a purgeable; see
// ring.hpp.
//
// SPDX-License-Identifier: MIT
#include "watch/recover/purgeables.hpp"

#include <cerrno>

#include "heaps/blocks/allocate.hpp"
#include "heaps/blocks/lookup.hpp"
#include "heaps/heap/exclusive.hpp"
#include "heaps/heap/handle.hpp"
#include "heaps/heap/registry.hpp"
#include "malloc/blocks/free.hpp"
#include "platform/base/check.hpp"
#include "platform/os/process.hpp"
#include "platform/report/misuse.hpp"
#include "watch/recover/ring.hpp"
#include "watch/recover/sums.hpp"

namespace tarn {

namespace {

[[noreturn]] void report_unlock(const tarn_purgeable* p) noexcept {
  Line text;
  text.text("tarn_purgeable_unlock(").address(p).text(")");
  report_other_misuse("unlock without lock", "tarn_purgeable_unlock", p, text);
}

int fail_with(int error) noexcept {
  errno = error;
  return -1;
}

void* null_with(int error) noexcept {
  errno = error;
  return nullptr;
}

HeapRecord& record_of_heap(const tarn_heap& heap) noexcept {
  return heap.record == nullptr ? main_record : *static_cast<HeapRecord*>(heap.record);
}

// Takes the block of a purgeable that is there and has at most `pins` pins, and sets the
// purgeable's word to `word`. Null when the block is not there, or has more pins. pre: rings_lock
// is held
void* claim_locked(tarn_purgeable& p, std::uint64_t pins, std::uint64_t word) noexcept {
  TARN_ASSERT(rings_lock.held_by_this_thread());
  TARN_ASSERT((word & (word_there | word_filling)) == 0);
  std::uint64_t seen = word_of(p).load(std::memory_order_relaxed);
  do {
    if ((seen & word_there) == 0 || seen / word_pin > pins) return nullptr;
    // Acquire: pairs with the release in tarn_purgeable_unlock(), so that the last use of the block
    // is over. No release: the next block is published by a store of its own.
  } while (!word_of(p).compare_exchange_weak(seen, word, std::memory_order_acquire,
                                             std::memory_order_relaxed));
  ring_remove(p);
  void* const block = p.block;
  TARN_ASSERT(block != nullptr);
  p.block = nullptr;
  return block;
}

// Takes the heap's next block that may vanish, looking at up to `looks` purgeables; null when none
// of them may. It is a second-chance clock: a purgeable that was used since the hand last came by
// stays this time.
void* claim_next(HeapRecord& record, std::size_t* looks) noexcept {
  os::Locked locked(rings_lock);
  Ring& ring = record.purgeables;
  for (; *looks != 0; --*looks) {
    tarn_purgeable* const p = ring.hand != nullptr ? ring.hand : ring.first;
    if (p == nullptr) return nullptr;
    TARN_ASSERT(p->ring == &record && p->epoch == rings_epoch);
    ring.hand = p->next;
    const std::uint64_t seen = word_of(*p).load(std::memory_order_relaxed);
    if ((seen & word_used) != 0) {
      word_of(*p).fetch_and(~word_used, std::memory_order_relaxed);
    } else if (void* const block = claim_locked(*p, 0, word_known)) {
      return block;
    }
  }
  return nullptr;
}

// ring_check() for a thread without the lock.
[[maybe_unused]] bool is_sound(const HeapRecord& record) noexcept {
  os::Locked locked(rings_lock);
  return ring_check(record);
}

// Frees blocks that may vanish until `wanted` bytes have, looking at up to `looks` purgeables.
// Returns the bytes. pre: the calling thread has the heap in an exclusive section, or the heap is
// malloc's
std::size_t purge_open(HeapRecord& record, std::size_t looks, std::size_t wanted) noexcept {
  TARN_ASSERT(!rings_lock.held_by_this_thread());
  TARN_ASSERT(!is_frozen(record));
  std::size_t given = 0;
  while (given < wanted) {
    void* const block = claim_next(record, &looks);
    if (block == nullptr) break;
    const std::size_t bytes = usable_bytes(block, "tarn_recover");
    deallocate(block);
    given += bytes;
    recover_sums.purged.add(1);
  }
  recover_sums.purged_bytes.add(given);
  TARN_ASSERT(is_sound(record));
  return given;
}

// Looks once at each purgeable of one heap, in an exclusive section: so the heap neither ends nor
// is frozen, and no other thread walks it. waits: whether to wait for a thread that holds the heap
// exclusively.
std::size_t purge_heap(HeapRecord& record, std::uint64_t id, std::size_t wanted,
                       bool waits) noexcept {
  TARN_ASSERT(wanted != 0);
  std::size_t looks = 0;
  {
    os::Locked locked(rings_lock);
    TARN_ASSERT(ring_check(record));
    looks = record.purgeables.count;
  }
  if (looks == 0) return 0;
  if (&record == &main_record) return purge_open(record, looks, wanted);
  if (!(waits ? enter_exclusive_unless_deadlock(record) : enter_exclusive_soon(record))) return 0;
  std::size_t given = 0;
  if (record.id.load(std::memory_order_relaxed) == id && !is_frozen(record) && !record.walking) {
    given = purge_open(record, looks, wanted);
  }
  leave_exclusive(record);
  return given;
}

// Looks once at each purgeable of the heaps in the scope, until `wanted` bytes have vanished.
std::size_t sweep(const RecoveryScope& scope, std::size_t wanted) noexcept {
  std::size_t given = 0;
  // At a ceiling the thread has waited for these heaps already, when it looked for empty pages.
  const bool waits = scope.top != nullptr;
  const auto purge = [&](HeapRecord& record, std::uint64_t id) noexcept {
    if (id != 0 && given < wanted) given += purge_heap(record, id, wanted - given, waits);
  };
  if (scope.top == nullptr) {
    purge(main_record, main_heap_id);
    registry.for_each_known([&](HeapRecord& record) noexcept {
      purge(record, record.id.load(std::memory_order_relaxed));
    });
    return given;
  }
  purge(*scope.top, scope.top->id.load(std::memory_order_relaxed));
  if (!scope.below) return given;
  for (tarn_heap next = registry.next_after({}, scope.top); next.record != nullptr;
       next = registry.next_after(next, scope.top)) {
    purge(*static_cast<HeapRecord*>(next.record), next.id);
  }
  return given;
}

}  // namespace

// The second sweep takes the blocks that the first one left because they had been used.
std::size_t purge_blocks(const RecoveryScope& scope, std::size_t wanted) noexcept {
  TARN_ASSERT(!rings_lock.held_by_this_thread());
  const std::size_t given = sweep(scope, wanted);
  return given >= wanted ? given : given + sweep(scope, wanted - given);
}

void purgeables_end(HeapRecord& record, bool deleted) noexcept {
  os::Locked locked(rings_lock);
  while (tarn_purgeable* const p = record.purgeables.first) {
    ring_remove(*p);
    if (deleted) {
      ring_add(main_record, *p);
      continue;
    }
    // A heap should not end while a thread has a block of it locked. If one has, it goes on with
    // its old address. A thread that is filling a block finds null, and knows that the heap has
    // ended. The word changes first, so that a lock finds the block, or nothing. Acquire: pairs
    // with tarn_purgeable_unlock(), so that those who had it locked have read where it is.
    const std::uint64_t before =
        word_of(*p).fetch_and(~(word_there | word_used), std::memory_order_acquire);
    if (before < word_pin || (before & word_filling) != 0) p->block = nullptr;
  }
  TARN_ASSERT(record.purgeables.count == 0 && (!deleted || ring_check(main_record)));
}

namespace {

// Puts a purgeable on the ring of its heap. False when the heap has ended. pre: rings_lock is held
bool add_to_heap_locked(tarn_purgeable& p) noexcept {
  TARN_ASSERT(rings_lock.held_by_this_thread());
  HeapRecord& record = record_of_heap(p.heap);
  if (p.heap.record != nullptr && record.id.load(std::memory_order_relaxed) != p.heap.id) {
    return false;
  }
  ring_add(record, p);
  return true;
}

// The error that says why a purgeable cannot be filled now; 0 when it can. pre: rings_lock is held
int error_of_filling(tarn_purgeable& p) noexcept {
  TARN_ASSERT(rings_lock.held_by_this_thread());
  if (is_filling(p)) return EBUSY;
  const std::uint64_t word = word_of(p).load(std::memory_order_relaxed);
  if ((word & word_known) == 0) return EINVAL;
  if ((word & word_there) != 0) return EEXIST;
  return word != word_known ? EBUSY : 0;
}

// Ends a filling: the purgeable has the block that the calling thread has filled, or, without one,
// has vanished. pre: rings_lock is held
void end_filling_locked(tarn_purgeable& p) noexcept {
  TARN_ASSERT(rings_lock.held_by_this_thread());
  TARN_ASSERT((word_of(p).load(std::memory_order_relaxed) & word_asking) == 0);
  const std::uint64_t word = p.block == nullptr ? word_known : word_known | word_there | word_used;
  word_of(p).store(word, std::memory_order_release);  // Pairs with the next lock.
}

TARN_COLD void unlock_slow(tarn_purgeable* purgeable, std::uint64_t before) noexcept {
  if (before < word_pin || (before & word_asking) != 0) report_unlock(purgeable);
  TARN_ASSERT((before & word_filling) != 0);
  os::Locked locked(rings_lock);
  end_filling_locked(*purgeable);
}

TARN_COLD void* lock_failed(tarn_purgeable& p, std::uint64_t seen) noexcept {
  if ((seen & word_known) == 0) return null_with(EINVAL);
  if ((seen & word_filling) == 0) return nullptr;
  os::Locked locked(rings_lock);
  return is_filling(p) ? null_with(EBUSY) : nullptr;
}

}  // namespace

bool register_purgeable(tarn_purgeable* purgeable, const tarn_heap& heap, std::size_t bytes,
                        void* block) noexcept {
  TARN_ASSERT(heap.record != &main_record);
  TARN_ASSERT(block != nullptr || bytes != 0);
  os::Locked locked(rings_lock);
  if (word_of(*purgeable).load(std::memory_order_relaxed) != 0) {
    errno = EBUSY;
    return false;
  }
  *purgeable = {};
  purgeable->heap = heap;
  purgeable->bytes = bytes;
  purgeable->block = block;
  if (block != nullptr && !add_to_heap_locked(*purgeable)) {
    errno = EINVAL;
    return false;
  }
  const std::uint64_t word = block == nullptr ? word_known : word_known | word_there | word_used;
  // Release: pairs with the acquire in tarn_purgeable_lock().
  word_of(*purgeable).store(word, std::memory_order_release);
  return true;
}

}  // namespace tarn

using namespace tarn;

extern "C" {

void* tarn_purgeable_lock(tarn_purgeable* purgeable) {
  const PurgeableWord word = word_of(*purgeable);
  std::uint64_t seen = word.load(std::memory_order_relaxed);
  while (TARN_LIKELY((seen & word_there) != 0)) {
    // Acquire: pairs with the release that published the block, so that its contents are seen.
    if (TARN_LIKELY(word.compare_exchange_weak(seen, (seen + word_pin) | word_used,
                                               std::memory_order_acquire,
                                               std::memory_order_relaxed))) {
      return purgeable->block;
    }
  }
  return lock_failed(*purgeable, seen);
}

void tarn_purgeable_unlock(tarn_purgeable* purgeable) {
  // Release: pairs with the acquire in claim_locked(): this use of the block comes before that.
  const std::uint64_t before = word_of(*purgeable).fetch_sub(word_pin, std::memory_order_release);
  if (TARN_LIKELY(before >= word_pin && (before & word_filling) == 0)) return;
  unlock_slow(purgeable, before);
}

void* tarn_purgeable_refill(tarn_purgeable* purgeable) {
  tarn_purgeable& p = *purgeable;
  {
    os::Locked locked(rings_lock);
    if (const int error = error_of_filling(p)) return null_with(error);
    p.filler = os::thread_id();
    p.forks = rings_forks;
    word_of(p).store(word_known | word_filling | word_asking | word_pin, std::memory_order_relaxed);
  }
  recover_sums.refills.add(1);
  const tarn_heap heap = p.heap.record == nullptr ? main_record.handle() : p.heap;
  void* const block = heap_allocate(heap, p.bytes, "tarn_purgeable_refill");
  bool ended = false;
  {
    os::Locked locked(rings_lock);
    TARN_ASSERT(is_filling(p) && p.filler == os::thread_id());
    TARN_ASSERT((word_of(p).load(std::memory_order_relaxed) & word_asking) != 0);
    p.block = block;
    ended = block != nullptr && !add_to_heap_locked(p);
    if (ended) p.block = nullptr;
    word_of(p).store(p.block == nullptr ? word_known : word_known | word_filling | word_pin,
                     std::memory_order_relaxed);
  }
  if (ended) live_record(p.heap, "tarn_purgeable_refill");  // Reports the use.
  return block;
}

int tarn_purgeable_discard(tarn_purgeable* purgeable) {
  tarn_purgeable& p = *purgeable;
  void* block = nullptr;
  {
    os::Locked locked(rings_lock);
    const bool filling = is_filling(p);
    const std::uint64_t word = word_of(p).load(std::memory_order_relaxed);
    if ((word & word_known) == 0) return fail_with(EINVAL);
    const bool asking = (word & word_asking) != 0;  // It may be in an owner's callback.
    TARN_ASSERT(!asking || filling);
    if (filling && !asking && p.filler == os::thread_id()) {
      ring_remove(p);
      block = p.block;
      p.block = nullptr;
      end_filling_locked(p);
    } else if ((word & word_there) != 0) {
      block = claim_locked(p, 0, word_known);
      if (block == nullptr) return fail_with(EBUSY);
    } else if (word != word_known) {
      return fail_with(EBUSY);
    }
  }
  deallocate(block);
  return 0;
}

int tarn_purgeable_end(tarn_purgeable* purgeable) {
  tarn_purgeable& p = *purgeable;
  void* block = nullptr;
  {
    os::Locked locked(rings_lock);
    if (is_filling(p)) return fail_with(EBUSY);
    const std::uint64_t word = word_of(p).load(std::memory_order_relaxed);
    if ((word & word_known) == 0) return fail_with(EINVAL);
    if ((word & word_there) != 0) {
      block = claim_locked(p, p.inherited, word_known);
      if (block == nullptr) return fail_with(EBUSY);
    } else if (word / word_pin > p.inherited) {
      return fail_with(EBUSY);
    }
    word_of(p).store(0, std::memory_order_relaxed);
  }
  deallocate(block);
  return 0;
}

}  // extern "C"
