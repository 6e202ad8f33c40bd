// process: see process.hpp.
//
// SPDX-License-Identifier: MIT
#include "malloc/process/process.hpp"

#include "engine/records/gate.hpp"
#include "engine/records/thread_default.hpp"
#include "engine/records/totals.hpp"
#include "engine/store/store.hpp"
#include "engine/upkeep/upkeep.hpp"
#include "heaps/checked/checks.hpp"
#include "heaps/fork/fork_repair.hpp"
#include "heaps/hardened/hardened.hpp"
#include "heaps/heap/exclusive.hpp"
#include "heaps/operations/life.hpp"
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
  const auto guard_every = static_cast<std::uint32_t>(settings[Option::guard_every]);
  if (settings.mode() != Mode::fast) {
    serve_in(settings.mode(), 0);
  } else if (guard_every != 0) {
    serve_in(Mode::guarded, guard_every);
  }
  configured_.store(true, std::memory_order_release);
}

// Blocks that were allocated before the environment was known stay malloc's own. Where there is no
// memory for the heap, or the system cannot give the mode (a line says so), all of them do.
void Process::serve_in(Mode mode, std::uint32_t every) noexcept {
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.name = "malloc";
  if (mode != Mode::hardened) options.mode = static_cast<int>(mode);
  auto* const record = static_cast<HeapRecord*>(heap_create(&options).record);
  if (record == nullptr) return;
  if (mode == Mode::hardened) make_hardened(*record);
  record->everlasting = true;
  remembers_families_ = settings[Option::check_families] != 0;
  process_heap_every = every;
  process_heap.store(record, std::memory_order_release);
  if (current_thread != no_thread()) serve_as_process();
}

// Blocks that were written beyond their ends, or after their free, and that nobody has come to
// since. Not while another thread holds the heap exclusively: it may never give it back.
void Process::verify() noexcept {
  HeapRecord* const record = process_heap.load(std::memory_order_acquire);
  if (record == nullptr || !is_at_rest() || !enter_exclusive_soon(*record)) return;
  record->hardened ? hardened_verify(*record, "exit") : checks_verify(*record, "exit");
  leave_exclusive(*record);
}

void Process::finish() noexcept {
  verify();
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
