// process_fork: the process in the child of a fork: what its other threads held is repaired, room
// by room.
//
// SPDX-License-Identifier: MIT
#include "heap/late.hpp"
#include "heap/orphans.hpp"
#include "heap/process.hpp"
#include "heap/recovery.hpp"
#include "heap/registry.hpp"
#include "heap/totals.hpp"
#include "heap/upkeep.hpp"
#include "source/store.hpp"

namespace tarn {

void Process::recover_after_fork() noexcept {
  store.recover_after_fork();
  const Thread* const in_use = late.recover_after_fork();
  orphans.recover_after_fork(current_thread, in_use);
  registry.recover_after_fork(current_thread, in_use);
  if (const RecoveryHooks* const hooks = recovery_hooks.load(std::memory_order_acquire)) {
    hooks->repair(main_record);
    registry.for_each_known(hooks->repair);
  }
  background.recover_after_fork();
  totals.renew_account();
}

}  // namespace tarn
