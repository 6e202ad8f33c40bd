// fork_repair: see fork_repair.hpp. The order is that of the locks, the last one first. Each owner
// repairs its own lists. What concerns several of them is here.
//
// SPDX-License-Identifier: MIT
#include "heaps/fork/fork_repair.hpp"

#include "engine/records/thread.hpp"
#include "engine/records/thread_heaps.hpp"
#include "engine/records/totals.hpp"
#include "engine/store/store.hpp"
#include "engine/threads/ending_threads.hpp"
#include "engine/threads/orphans.hpp"
#include "engine/upkeep/idle_purge.hpp"
#include "engine/upkeep/upkeep.hpp"
#include "heaps/heap/recovery.hpp"
#include "heaps/heap/registry.hpp"
#include "platform/base/check.hpp"

namespace tarn {

namespace {

// Repairs the rings of recovered blocks, malloc's first.
void repair_recovery() noexcept {
  const RecoveryHooks* const hooks = recovery_hooks.load(std::memory_order_acquire);
  if (hooks == nullptr) return;
  hooks->repair(main_record);
  registry.for_each_known(hooks->repair);
}

}  // namespace

void repair_after_fork() noexcept {
  is_child_of_fork.store(true, std::memory_order_relaxed);
  store.recover_after_fork();
  const Thread* const in_use = ending_threads.recover_after_fork();
  orphans.recover_after_fork(current_thread, in_use);
  repair_heaps(current_thread, in_use);
  repair_recovery();
  const KeptBlocks* const kept = kept_blocks.load(std::memory_order_acquire);
  if (kept != nullptr) kept->recover_after_fork();
  background.recover_after_fork();
  TARN_ASSERT(in_use == nullptr || in_use != current_thread);
  TARN_ASSERT(!thread_heaps.lock().is_held() || thread_heaps.lock().held_by_this_thread());
  totals.renew_account();
}

}  // namespace tarn
