// process: see process.hpp.
//
// SPDX-License-Identifier: MIT
#include "heap/process.hpp"

#include <cstring>

#include "base/check.hpp"
#include "heap/closing.hpp"
#include "heap/upkeep.hpp"
#include "os/process.hpp"
#include "os/vm.hpp"
#include "report/report.hpp"
#include "source/store.hpp"

namespace tarn {

constinit Process process;

namespace {

void raise(std::atomic<std::int64_t>& peak, std::int64_t value) noexcept {
  std::int64_t seen = peak.load(std::memory_order_relaxed);
  while (value > seen && !peak.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

void child_of_fork() noexcept { process.recover_after_fork(); }

}  // namespace

void Process::start_once() noexcept {
  if (!started_.exchange(true, std::memory_order_acq_rel)) {
    TARN_CHECK(os::page_bytes() <= slice_bytes);  // Else purging a span would reach its neighbours.
    // Of static memory it is nearly all, and a small program touches a page here and there.
    os::vm_avoid_huge(&page_map, sizeof page_map);
    os::process_on_fork(child_of_fork);
  }
  if (!os::environment_known() || configuring_.exchange(true, std::memory_order_acq_rel)) return;
  settings_.read_environment();
  store.configure(settings_[Option::purge_delay_ms], settings_[Option::purge_keep_kib] * 1024);
  if (settings_[Option::background_purge] != 0) background.want();
  open_account();
  configured_.store(true, std::memory_order_release);
}

// path: account_path_bytes_max. False when no account is wanted.
bool Process::account_path(char* path) const noexcept {
  const char* const folder = settings_.account_folder();
  if (folder[0] == '\0') return false;
  const std::size_t length = strlen(folder);  // Settings leave room for what follows.
  const Decimal pid(os::process_id());
  memcpy(path, folder, length);
  path[length] = '/';
  memcpy(path + length + 1, pid.text(), pid.length());
  path[length + 1 + pid.length()] = '\0';
  return true;
}

void Process::begin_account() noexcept {
  identify(account_);
  refresh_account();
  __atomic_store_n(&account_->magic, TARN_ACCOUNT_MAGIC, __ATOMIC_RELEASE);
}

void Process::open_account() noexcept {
  char path[account_path_bytes_max];
  if (!account_path(path)) return;
  account_ = static_cast<tarn_account*>(os::file_map_create(path, sizeof(tarn_account)));
  if (account_ != nullptr) return begin_account();
  Line().text("tarn: account: cannot create ").text(path).text(
      "; the folder must exist, be writable and have room").print();
}

// The address stays: the fork may have come in a signal handler, in the middle of a refresh. Says
// nothing when the child has no such folder or no room.
void Process::renew_account() noexcept {
  char path[account_path_bytes_max];
  if (account_ == nullptr || !account_path(path)) return;
  if (os::file_map_renew(account_, path, sizeof(tarn_account))) begin_account();
}

void Process::refresh_account() noexcept {
  if (account_ != nullptr) fill_account(account_, false);
}

void Process::finish() noexcept {
  if (account_ == nullptr) return;
  fill_account(account_, true);
  __atomic_store_n(&account_->state, std::uint64_t{TARN_ACCOUNT_FINAL}, __ATOMIC_RELEASE);
}

void Process::keep_warm(std::size_t bytes) noexcept {
  store.configure(settings_[Option::purge_delay_ms], bytes);
}

void Process::add_live(std::int64_t delta) noexcept {
  if (delta == 0) return;
  const std::int64_t now = live_bytes_.fetch_add(delta, std::memory_order_relaxed) + delta;
  raise(live_bytes_peak_, now);
  refresh_account();
}

void Process::add_large(std::int64_t delta_bytes) noexcept {
  if (delta_bytes > 0) large_allocations_.fetch_add(1, std::memory_order_relaxed);
  large_live_blocks_.fetch_add(delta_bytes > 0 ? 1 : -1, std::memory_order_relaxed);
  resize_large(delta_bytes);
}

void Process::resize_large(std::int64_t delta_bytes) noexcept {
  const std::int64_t now =
      large_live_bytes_.fetch_add(delta_bytes, std::memory_order_relaxed) + delta_bytes;
  raise(large_live_bytes_peak_, now);
  add_live(delta_bytes);
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
