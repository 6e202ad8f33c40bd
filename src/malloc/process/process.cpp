// process: see process.hpp.
//
// SPDX-License-Identifier: MIT
#include "malloc/process/process.hpp"

#include "engine/records/gate.hpp"
#include "engine/records/totals.hpp"
#include "engine/store/store.hpp"
#include "engine/threads/upkeep.hpp"
#include "heaps/fork/fork_repair.hpp"
#include "malloc/process/account.hpp"
#include "platform/base/check.hpp"
#include "platform/os/process.hpp"
#include "platform/os/vm.hpp"
#include "platform/settings/settings.hpp"

namespace tarn {

constinit Process process;

void Process::start_once() noexcept {
  if (!started_.exchange(true, std::memory_order_acq_rel)) {
    TARN_CHECK(os::page_bytes() <= slice_bytes);  // Else purging a span would reach its neighbours.
    // Of static memory it is nearly all, and a small program touches a page here and there.
    os::vm_avoid_huge(&page_map, sizeof page_map);
    os::process_on_fork(repair_after_fork);
  }
  if (!os::environment_known() || configuring_.exchange(true, std::memory_order_acq_rel)) return;
  settings.read_environment();
  store.configure(settings[Option::purge_delay_ms], settings[Option::purge_keep_kib] * 1024);
  policy.huge_from_slices.store(slices_for(settings[Option::huge_from_kib] * 1024),
                                std::memory_order_relaxed);
  if (settings[Option::background_purge] != 0) background.want();
  totals.open_account();
  configured_.store(true, std::memory_order_release);
}

void Process::finish() noexcept {
  tarn_account* const account = totals.account_file();
  if (account == nullptr) return;
  fill_account(account);
  __atomic_store_n(&account->state, std::uint64_t{TARN_ACCOUNT_FINAL}, __ATOMIC_RELEASE);
}

void Process::keep_warm(std::size_t bytes) noexcept {
  store.configure(settings[Option::purge_delay_ms], bytes);
}

}  // namespace tarn

// The library's own start and end. In this file, so that a static link cannot leave them out.
__attribute__((constructor(101))) static void tarn_library_start() noexcept {
  tarn::process.start();
  // Asked here once, a heap in a region has nothing left to ask for.
  tarn::os::thread_id();
  tarn::barriers_known();
}
__attribute__((destructor(101))) static void tarn_library_end() noexcept {
  tarn::background.end();
  tarn::process.finish();
}
