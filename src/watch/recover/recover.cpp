// recover: the three steps of a recovery. The first registration of a purgeable or a reclaimer puts
// them in place for allocations. docs/design/recover.md says how it works.
//
// Lock order: a heap's gate, then this room's locks, then the registry's. This room has two: one
// for the list of reclaimers, one for all rings of purgeables. No thread holds both, and none holds
// either while it calls an owner or frees a block.
//
// SPDX-License-Identifier: MIT
#include <cerrno>

#include "engine/records/thread.hpp"
#include "engine/records/thread_default.hpp"
#include "heaps/blocks/lookup.hpp"
#include "heaps/heap/handle.hpp"
#include "heaps/heap/recovery.hpp"
#include "heaps/operations/trim.hpp"
#include "platform/base/check.hpp"
#include "platform/report/options.hpp"
#include "watch/recover/purgeables.hpp"
#include "watch/recover/reclaimers.hpp"
#include "watch/recover/sums.hpp"

namespace tarn {

namespace {

// Whether the thread is asking owners (step 2). Their callbacks may start a recovery again.
TARN_INITIAL_EXEC __thread bool asking = false;

// Asks owners, unless the thread is asking them already. pre: wanted > 0
std::size_t ask_once(const RecoveryScope& scope, std::size_t wanted) noexcept {
  TARN_ASSERT(wanted != 0);
  // In a thread that ends, its own objects, on which callbacks may rely, may have been destroyed
  // already.
  if (asking || thread_is_ending || WithoutOwners::is_wanted()) return 0;
  asking = true;
  std::size_t given = 0;
  {
    const WithoutDefaultHeap malloc_itself;  // The default heap may be the full one.
    given = ask_owners(scope, wanted);
  }
  TARN_ASSERT(asking);
  asking = false;
  return given;
}

// All bytes gained so far. It saturates, since a callback may claim anything.
std::size_t sum_of(const tarn_recovered& steps) noexcept {
  std::size_t sum = 0;
  const bool wraps = __builtin_add_overflow(steps.spare_bytes, steps.reclaimed_bytes, &sum) ||
                     __builtin_add_overflow(sum, steps.purged_bytes, &sum);
  return wraps ? SIZE_MAX : sum;
}

// Step 1: gives empty memory back to the OS, or to where it came from.
std::size_t spare(const RecoveryScope& scope, std::size_t wanted) noexcept {
  return scope.top == nullptr ? give_spare(wanted) : give_spare_below(*scope.top);
}

// Steps 2 and 3: asks owners, then lets purgeables vanish.
void ask_and_purge(const RecoveryScope& scope, std::size_t wanted, unsigned flags,
                   tarn_recovered* steps) noexcept {
  TARN_ASSERT(steps->reclaimed_bytes == 0 && steps->purged_bytes == 0);
  if ((flags & TARN_RECOVER_RECLAIM) != 0 && sum_of(*steps) < wanted) {
    steps->reclaimed_bytes = ask_once(scope, wanted - sum_of(*steps));
    recover_sums.reclaimed_bytes.add(steps->reclaimed_bytes);
  }
  if ((flags & TARN_RECOVER_PURGEABLES) != 0 && sum_of(*steps) < wanted) {
    steps->purged_bytes = purge_blocks(scope, wanted - sum_of(*steps));
  }
}

// RecoveryHooks::recover.
std::size_t recover_for_heaps(const RecoveryScope& scope, std::size_t wanted,
                              bool for_allocation) noexcept {
  TARN_ASSERT(wanted != 0);
  TARN_ASSERT(recovery_hooks.load(std::memory_order_relaxed) != nullptr);
  const int saved = errno;
  tarn_recovered steps{};
  recover_sums.recoveries.add(1);
  if (for_allocation) recover_sums.by_allocations.add(1);
  if (scope.top == nullptr) {
    steps.spare_bytes = give_spare(wanted);
    recover_sums.spare_bytes.add(steps.spare_bytes);
  }
  ask_and_purge(scope, wanted, TARN_RECOVER_RECLAIM | TARN_RECOVER_PURGEABLES, &steps);
  const std::size_t sum = sum_of(steps);
  if (for_allocation && sum == 0) recover_sums.by_allocations_in_vain.add(1);
  // Pages that have become empty are to join the free memory around them.
  if (scope.top == nullptr && sum != steps.spare_bytes) give_spare(wanted);
  errno = saved;
  return sum;
}

constexpr RecoveryHooks hooks{
    .recover = recover_for_heaps,
    .blocks_end = purgeables_end,
    .repair =
        [](HeapRecord& record) noexcept {
          if (&record == &main_record) repair_reclaimers();
          repair_purgeables(record);
        },
};

// Installs the hooks: from now on an allocation that would fail recovers memory.
void know_recovery() noexcept { recovery_hooks.store(&hooks, std::memory_order_release); }

constexpr unsigned all_steps = TARN_RECOVER_SPARE | TARN_RECOVER_RECLAIM | TARN_RECOVER_PURGEABLES;

int fail_with(int error) noexcept {
  errno = error;
  return -1;
}

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

int tarn_purgeable_begin(tarn_purgeable* purgeable, tarn_heap heap, std::size_t bytes) {
  if (bytes == 0) return fail_with(EINVAL);
  if (heap.record == &main_record) heap = {};
  if (heap.record != nullptr && live_record(heap, "tarn_purgeable_begin") == nullptr) return -1;
  know_recovery();
  return register_purgeable(purgeable, heap, bytes, nullptr) ? 0 : -1;
}

int tarn_purgeable_adopt(tarn_purgeable* purgeable, void* block) {
  tarn_heap heap = heap_of(block);
  if (block == nullptr || heap.record == nullptr) return fail_with(EINVAL);
  if (heap.record == &main_record) heap = {};
  const std::size_t bytes = usable_bytes(block, "tarn_purgeable_adopt");
  know_recovery();
  return register_purgeable(purgeable, heap, bytes, block) ? 0 : -1;
}

int tarn_reclaimer_register(tarn_reclaimer* reclaimer, const tarn_reclaimer_options* options) {
  if (options == nullptr ||
      !is_sized(*options, "tarn_reclaimer_register", "TARN_RECLAIMER_OPTIONS") ||
      options->reclaim == nullptr) {
    return fail_with(EINVAL);
  }
  if (options->heap.record != nullptr &&
      live_record(options->heap, "tarn_reclaimer_register") == nullptr) {
    return -1;
  }
  know_recovery();
  return register_reclaimer(reclaimer, *options) ? 0 : -1;
}

std::size_t tarn_recover(std::size_t wanted_bytes, unsigned flags) {
  return tarn_recover_heap({}, wanted_bytes, flags, nullptr);
}

std::size_t tarn_recover_heap(tarn_heap heap, std::size_t wanted_bytes, unsigned flags,
                              tarn_recovered* steps) {
  tarn_recovered own{};
  if (steps == nullptr) steps = &own;
  *steps = {};
  if ((flags & ~all_steps) != 0) {
    errno = EINVAL;
    return 0;
  }
  RecoveryScope scope;
  if (heap.record != nullptr) {
    scope.top = live_record(heap, "tarn_recover_heap");
    if (scope.top == nullptr) return 0;
  }
  // malloc's own heap has no heaps below it, and its pages belong to all threads.
  const bool of_malloc = scope.top == &main_record;
  if (of_malloc) scope.below = false;
  recover_sums.recoveries.add(1);
  if (wanted_bytes == 0) return 0;
  const int saved = errno;
  if (flags == 0) flags = all_steps;
  const RecoveryScope whose_spare = of_malloc ? RecoveryScope{} : scope;
  TARN_ASSERT((flags & ~all_steps) == 0 && flags != 0);
  const bool gives_spare = (flags & TARN_RECOVER_SPARE) != 0;
  if (gives_spare) steps->spare_bytes = spare(whose_spare, wanted_bytes);
  ask_and_purge(scope, wanted_bytes, flags, steps);
  // The memory that these steps freed must leave the process too. It has been counted already.
  if (steps->reclaimed_bytes != 0 || steps->purged_bytes != 0) spare(whose_spare, wanted_bytes);
  recover_sums.spare_bytes.add(steps->spare_bytes);
  errno = saved;
  return sum_of(*steps);
}

int tarn_recover_get_stats(tarn_recover_stats* stats) {
  if (stats == nullptr || !is_sized(*stats, "tarn_recover_get_stats", "TARN_RECOVER_STATS")) {
    return fail_with(EINVAL);
  }
  const RecoverSums& sums = recover_sums;
  *stats = {sizeof *stats,
            sums.recoveries.read(),
            sums.by_allocations.read(),
            sums.by_allocations_in_vain.read(),
            sums.spare_bytes.read(),
            sums.callbacks.read(),
            sums.callbacks_in_vain.read(),
            sums.reclaimed_bytes.read(),
            sums.purged.read(),
            sums.purged_bytes.read(),
            sums.refills.read()};
  return 0;
}

}  // extern "C"
