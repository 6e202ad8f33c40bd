// process: see process.hpp.
//
// SPDX-License-Identifier: MIT
#include "heap/process.hpp"

#include <cstring>

#include "base/check.hpp"
#include "heap/late.hpp"
#include "heap/orphans.hpp"
#include "heap/thread_heap.hpp"
#include "os/process.hpp"
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

std::uint64_t at_least_zero(std::int64_t value) noexcept {
  return value < 0 ? 0 : static_cast<std::uint64_t>(value);
}

void child_of_fork() noexcept { process.recover_after_fork(); }

// Blocks on the free list of a page that the calling thread owns: handed to malloc, not taken.
std::uint64_t untaken_blocks(const Page& page) noexcept {
  std::uint64_t count = 0;
  for (const Block* b = page.free; b != nullptr; b = b->next) ++count;
  return count;
}

void identify(tarn_account* account) noexcept {
  account->bytes = sizeof(tarn_account);
  account->state = TARN_ACCOUNT_RUNNING;
  account->pid = os::process_id();
  account->parent_pid = os::parent_id();
  os::program_name(account->program, sizeof account->program);
}

void fill_classes(tarn_account* account) noexcept {
  static_assert(class_count <= TARN_ACCOUNT_CLASSES);
  account->class_count = class_count;
  for (std::size_t c = 0; c < class_count; ++c) {
    account->classes[c] = {};
    account->classes[c].block_bytes = class_block_bytes[c];
  }
  for (const Thread* t = orphans.first_known(); t != nullptr; t = t->next_known) {
    for (std::size_t c = 0; c < class_count; ++c) {
      const Bin* const bin = t->heap.find_bin(c);
      if (bin == nullptr) continue;
      const ClassCounts& counts = bin->counts;
      account->classes[c].allocations += counts.handed.read();
      account->classes[c].sampled += counts.sampled.read();
      account->classes[c].sampled_bytes += counts.sampled_bytes.read();
    }
  }
  std::uint64_t live_bytes = 0;
  store.for_each_span([&](const Span* span) noexcept {
    if (span->kind_now() != SpanKind::page) return;
    const auto* const page = static_cast<const Page*>(span);
    const Remote remote{page->remote.load(std::memory_order_relaxed)};
    tarn_account_class& row = account->classes[page->size_class];
    // The owner may be between two writes: then the numbers are of different moments.
    const std::uint32_t known = page->live();
    const std::uint64_t live = known > remote.count() ? known - remote.count() : 0;
    row.live_blocks += live;
    live_bytes += live * page->block_bytes;
    const bool mine = page->owner.load(std::memory_order_relaxed) == current_thread;
    if (mine) row.allocations -= untaken_blocks(*page);
  });
  account->live_bytes = live_bytes + account->large_live_bytes;
}

}  // namespace

void Process::start_once() noexcept {
  if (!started_.exchange(true, std::memory_order_acq_rel)) {
    TARN_CHECK(os::page_bytes() <= slice_bytes);  // Else purging a span would reach its neighbours.
    os::process_on_fork(child_of_fork);
  }
  if (!os::environment_known() || configuring_.exchange(true, std::memory_order_acq_rel)) return;
  settings_.read_environment();
  store.configure(settings_[Option::purge_delay_ms], settings_[Option::purge_keep_kib] * 1024);
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

void Process::describe(tarn_account* account) noexcept {
  *account = {};
  identify(account);
  fill_account(account, true);
  account->magic = TARN_ACCOUNT_MAGIC;
}

void Process::keep_warm(std::size_t bytes) noexcept {
  store.configure(settings_[Option::purge_delay_ms], bytes);
}

void Process::recover_after_fork() noexcept {
  store.recover_after_fork();
  const Thread* const in_use = late.recover_after_fork();
  orphans.recover_after_fork(current_thread, in_use);
  renew_account();
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

void Process::fill_account(tarn_account* account, bool with_classes) noexcept {
  account->live_bytes = at_least_zero(live_bytes_.load(std::memory_order_relaxed));
  account->live_bytes_peak = at_least_zero(live_bytes_peak_.load(std::memory_order_relaxed));
  account->large_allocations = large_allocations_.load(std::memory_order_relaxed);
  account->large_live_blocks = at_least_zero(large_live_blocks_.load(std::memory_order_relaxed));
  account->large_live_bytes = at_least_zero(large_live_bytes_.load(std::memory_order_relaxed));
  account->large_live_bytes_peak =
      at_least_zero(large_live_bytes_peak_.load(std::memory_order_relaxed));
  account->threads_started = orphans.threads_started();
  account->threads_peak = orphans.threads_peak();
  const StoreTotals totals = store.totals();
  account->reserved_bytes = totals.reserved_bytes;
  account->committed_bytes = totals.committed_bytes;
  account->committed_bytes_peak = totals.committed_bytes_peak;
  account->os_map_calls = totals.map_calls;
  account->os_purge_calls = totals.purge_calls;
  account->os_purged_bytes = totals.purged_bytes;
  if (!with_classes) return;
  fill_classes(account);
  if (account->live_bytes > account->live_bytes_peak) {
    account->live_bytes_peak = account->live_bytes;
  }
}

}  // namespace tarn

// The library's own start and end. In this file, so that a static link cannot leave them out.
__attribute__((constructor(101))) static void tarn_library_start() noexcept {
  tarn::process.start();
}
__attribute__((destructor(101))) static void tarn_library_end() noexcept {
  tarn::process.finish();
}
