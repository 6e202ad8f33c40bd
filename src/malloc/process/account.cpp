// account: see account.hpp.
//
// SPDX-License-Identifier: MIT
#include "malloc/process/account.hpp"

#include <algorithm>

#include "engine/records/thread_heaps.hpp"
#include "engine/records/totals.hpp"
#include "engine/store/store.hpp"
#include "engine/threads/orphans.hpp"
#include "heaps/heap/registry.hpp"

namespace tarn {

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
  std::uint64_t live_blocks = account->large_live_blocks;
  std::uint64_t free_blocks = 0;
  const auto add = [&](const Span* span) noexcept {
    const bool checked = span->kind_now() == SpanKind::checked;
    if (span->kind_now() != SpanKind::page && !checked) return;
    const auto* const page = static_cast<const Page*>(span);
    // The owner may be between two writes: then the numbers are of different moments.
    const std::uint32_t live = checked ? page->live_seen : live_blocks_seen(*page);
    tarn_account_class& row = account->classes[class_of(page->block_bytes)];
    row.live_blocks += live;
    live_blocks += live;
    free_blocks += free_blocks_beside(*page, live);
    live_bytes += std::uint64_t{live} * page->block_bytes;
    const bool mine = page->owner.load(std::memory_order_relaxed) == current_thread;
    if (mine && !checked) row.allocations -= page_untaken(page);  // Handed to malloc, not taken.
  };
  store.for_each_span(add);
  registry.for_each_region_span(add);
  for (const Thread* t = orphans.first_known(); t != nullptr; t = t->next_known) {
    for (std::size_t c = 0; c < class_count; ++c) {
      tarn_account_class& row = account->classes[class_of(class_block_bytes[c])];
      row.allocations += t->cache.lists[c].taken;
      // What a thread has at hand was counted with its page.
      const std::uint64_t count = std::min<std::uint64_t>(blocks_at_hand(*t, c), row.live_blocks);
      row.live_blocks -= count;
      live_blocks -= count;
      free_blocks += count;
      live_bytes -= count * class_block_bytes[c];
    }
    account->large_allocations += t->span_cache.taken.read();
    t->span_cache.for_each([&](const Span& span) noexcept {
      account->large_live_blocks -= 1;
      account->large_live_bytes -= span.bytes();
      live_blocks -= 1;
      free_blocks += 1;
    });
  }
  account->live_bytes = live_bytes + account->large_live_bytes;
  account->live_blocks = live_blocks;
  account->free_blocks = free_blocks;
}

}  // namespace

void fill_account(tarn_account* account) noexcept {
  totals.fill(account);
  fill_classes(account);
  if (account->live_bytes > account->live_bytes_peak) {
    account->live_bytes_peak = account->live_bytes;
  }
}

void describe_process(tarn_account* account) noexcept {
  *account = {};
  identify_process(account);
  fill_account(account);
  account->magic = TARN_ACCOUNT_MAGIC;
}

}  // namespace tarn
