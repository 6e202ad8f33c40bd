// totals: see totals.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/records/totals.hpp"

#include <cstring>

#include "engine/store/store.hpp"
#include "platform/base/check.hpp"
#include "platform/base/counter.hpp"
#include "platform/os/process.hpp"
#include "platform/os/vm.hpp"
#include "platform/report/report.hpp"
#include "platform/settings/settings.hpp"

namespace tarn {

constinit Totals totals;

namespace {

std::uint64_t at_least_zero(const std::atomic<std::int64_t>& counter) noexcept {
  const std::int64_t value = counter.load(std::memory_order_relaxed);
  return value < 0 ? 0 : static_cast<std::uint64_t>(value);
}

// path: option_path_bytes_max. False when no account is wanted.
bool account_path(char* path) noexcept {
  const char* const folder = settings[PathOption::account];
  if (folder[0] == '\0') return false;
  const std::size_t length = strlen(folder);  // Settings leave room for what follows.
  const Decimal pid(os::process_id());
  memcpy(path, folder, length);
  path[length] = '/';
  memcpy(path + length + 1, pid.text(), pid.length());
  path[length + 1 + pid.length()] = '\0';
  return true;
}

}  // namespace

void identify_process(tarn_account* account) noexcept {
  account->bytes = sizeof(tarn_account);
  account->state = TARN_ACCOUNT_RUNNING;
  account->pid = os::process_id();
  account->parent_pid = os::parent_id();
  os::program_name(account->program, sizeof account->program);
}

void Totals::fill(tarn_account* account) const noexcept {
  account->live_bytes = at_least_zero(live_bytes_);
  account->live_bytes_peak = at_least_zero(live_bytes_peak_);
  account->large_allocations = large_allocations_.load(std::memory_order_relaxed);
  account->large_live_blocks = at_least_zero(large_live_blocks_);
  account->large_live_bytes = at_least_zero(large_live_bytes_);
  account->large_live_bytes_peak = at_least_zero(large_live_bytes_peak_);
  account->threads_started = threads_started();
  account->threads_peak = threads_peak();
  const StoreTotals of_store = store.totals();
  account->reserved_bytes = of_store.reserved_bytes;
  account->committed_bytes = of_store.committed_bytes;
  account->committed_bytes_peak = of_store.committed_bytes_peak;
  account->os_map_calls = of_store.map_calls;
  account->os_purge_calls = of_store.purge_calls;
  account->os_purged_bytes = of_store.purged_bytes;
}

void Totals::begin_account() noexcept {
  identify_process(account_file_);
  refresh_account();
  TARN_ASSERT(account_file_->bytes == sizeof(tarn_account));
  __atomic_store_n(&account_file_->magic, TARN_ACCOUNT_MAGIC, __ATOMIC_RELEASE);
}

void Totals::open_account() noexcept {
  char path[option_path_bytes_max];
  if (!account_path(path)) return;
  account_file_ = static_cast<tarn_account*>(os::file_map_create(path, sizeof(tarn_account)));
  if (account_file_ != nullptr) return begin_account();
  Line()
      .text("tarn: account: cannot create ")
      .text(path)
      .text("; the folder must exist, be writable and have room")
      .print();
}

// The address stays: the fork may have come in a signal handler, in the middle of a refresh. Says
// nothing when the child has no such folder or no room.
void Totals::renew_account() noexcept {
  char path[option_path_bytes_max];
  if (account_file_ == nullptr || !account_path(path)) return;
  if (os::file_map_renew(account_file_, path, sizeof(tarn_account))) begin_account();
}

void Totals::refresh_account() noexcept {
  if (account_file_ != nullptr) fill(account_file_);
}

void Totals::add_live(std::int64_t delta) noexcept {
  if (delta == 0) return;
  const std::int64_t now = live_bytes_.fetch_add(delta, std::memory_order_relaxed) + delta;
  raise_to(live_bytes_peak_, now);
  refresh_account();
}

void Totals::add_large(std::int64_t delta_bytes) noexcept {
  TARN_ASSERT(delta_bytes != 0);
  if (delta_bytes > 0) large_allocations_.fetch_add(1, std::memory_order_relaxed);
  large_live_blocks_.fetch_add(delta_bytes > 0 ? 1 : -1, std::memory_order_relaxed);
  resize_large(delta_bytes);
}

void Totals::resize_large(std::int64_t delta_bytes) noexcept {
  const std::int64_t now =
      large_live_bytes_.fetch_add(delta_bytes, std::memory_order_relaxed) + delta_bytes;
  raise_to(large_live_bytes_peak_, now);
  add_live(delta_bytes);
}

void Totals::count_thread_started() noexcept {
  threads_started_.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t alive = threads_alive_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (alive > threads_peak()) threads_peak_.store(alive, std::memory_order_relaxed);
  TARN_ASSERT(check());
}

// None is alive in the child of a fork that came, in a signal handler, while this thread was
// ending.
void Totals::count_thread_ended() noexcept {
  const std::uint64_t alive = threads_alive_.load(std::memory_order_relaxed);
  if (alive != 0) set_threads_alive(alive - 1);
}

void Totals::set_threads_alive(std::uint64_t count) noexcept {
  threads_alive_.store(count, std::memory_order_relaxed);
  TARN_ASSERT(check());
}

#ifdef TARN_DEBUG
bool Totals::check() const noexcept {
  const std::uint64_t alive = threads_alive_.load(std::memory_order_relaxed);
  return alive <= threads_peak() && threads_peak() <= threads_started();
}
#endif

}  // namespace tarn
