// process_account: what the process's account says, and malloc's heap of itself.
//
// SPDX-License-Identifier: MIT
#include "heap/orphans.hpp"
#include "heap/process.hpp"
#include "heap/registry.hpp"
#include "heap/share.hpp"
#include "os/process.hpp"
#include "source/store.hpp"

namespace tarn {

namespace {

std::uint64_t at_least_zero(std::int64_t value) noexcept {
  return value < 0 ? 0 : static_cast<std::uint64_t>(value);
}

}  // namespace

void add_counts_of(const ThreadHeap& share, HeapRecord& record, tarn_account* account) noexcept {
  for (std::size_t c = 0; c < bin_count; ++c) {
    const Bin* const bin = share.find_bin(c);
    if (bin == nullptr || !has_class(record, c)) continue;
    tarn_account_class& row = account->classes[class_of(block_bytes_of(record, c))];
    row.allocations += bin->counts.handed.read();
    row.sampled += bin->counts.sampled.read();
    row.sampled_bytes += bin->counts.sampled_bytes.read();
  }
}

namespace {

void fill_classes(tarn_account* account) noexcept {
  static_assert(class_count <= TARN_ACCOUNT_CLASSES);
  account->class_count = class_count;
  for (std::size_t c = 0; c < class_count; ++c) {
    account->classes[c] = {};
    account->classes[c].block_bytes = class_block_bytes[c];
  }
  registry.add_counts(account);
  for (const Thread* t = orphans.first_known(); t != nullptr; t = t->next_known) {
    add_counts_of(t->heap, main_record, account);
  }
  std::uint64_t live_bytes = 0;
  const auto add = [&](const Span* span) noexcept {
    const bool checked = span->kind_now() == SpanKind::checked;
    if (span->kind_now() != SpanKind::page && !checked) return;
    const auto* const page = static_cast<const Page*>(span);
    tarn_account_class& row = account->classes[class_of(page->block_bytes)];
    if (checked) {
      row.live_blocks += page->live_seen;
      live_bytes += std::uint64_t{page->live_seen} * page->block_bytes;
      return;
    }
    // The owner may be between two writes: then the numbers are of different moments.
    const std::uint64_t live = live_blocks_seen(*page);
    row.live_blocks += live;
    live_bytes += live * page->block_bytes;
    const bool mine = page->owner.load(std::memory_order_relaxed) == current_thread;
    if (mine) row.allocations -= page_untaken(page);  // Handed to malloc, not taken.
  };
  store.for_each_span(add);
  registry.for_each_region_span(add);
  account->live_bytes = live_bytes + account->large_live_bytes;
}

}  // namespace

void Process::identify(tarn_account* account) noexcept {
  account->bytes = sizeof(tarn_account);
  account->state = TARN_ACCOUNT_RUNNING;
  account->pid = os::process_id();
  account->parent_pid = os::parent_id();
  os::program_name(account->program, sizeof account->program);
}

void Process::describe(tarn_account* account) noexcept {
  *account = {};
  identify(account);
  fill_account(account, true);
  account->magic = TARN_ACCOUNT_MAGIC;
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
