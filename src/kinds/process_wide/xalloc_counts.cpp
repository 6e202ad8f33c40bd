// xalloc_counts: see xalloc_counts.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/process_wide/xalloc_counts.hpp"

#include <atomic>

#include "engine/threads/orphans.hpp"
#include "engine/threads/thread_life.hpp"
#include "platform/base/check.hpp"
#include "platform/base/counter.hpp"

namespace tarn {

namespace {

// A thread with more credits than this, on a slow path, shares all but half as many.
constexpr std::uint32_t credits_most = 256;

struct Row {
  // All zero at first, so that they take no room in the file.
  std::atomic<std::uint64_t> made{0};    // By threads without pages of the class; others: in bins.
  std::atomic<std::uint64_t> shared{0};  // Credits.
  std::atomic<std::uint64_t> forgotten{0};  // Made, and not counted any more.
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> requested_bytes{0};
  std::atomic<std::size_t> requested_max{0};
  std::atomic<std::size_t> requested_below{0};  // By how much the least is below SIZE_MAX.
};
constinit Row rows[row_count]{};

// Takes up to `most` of the credits that are shared.
std::uint32_t take_shared(Row& row, std::uint32_t most) noexcept {
  std::uint64_t seen = row.shared.load(std::memory_order_relaxed);
  while (seen != 0) {
    const std::uint64_t taken = seen < most ? seen : most;
    if (row.shared.compare_exchange_weak(seen, seen - taken, std::memory_order_relaxed)) {
      return static_cast<std::uint32_t>(taken);
    }
  }
  return 0;
}

// Whether the calling thread has credits of its own for a row. A thread that has only freed so far
// gets its record here: it would meet all others at the shared credits.
bool has_credits(std::size_t row) noexcept {
  if (row >= large_row || thread_is_ending) return false;
  return current_thread != no_thread() || thread_start() != nullptr;
}

template <class Visit>
void for_each_thread(Visit visit) noexcept {
  for (Thread* t = orphans.first_known(); t != nullptr; t = t->next_known) visit(*t);
}

std::uint64_t made_of(std::size_t row) noexcept {
  std::uint64_t made = rows[row].made.load(std::memory_order_relaxed);
  if (row >= large_row) return made;
  for_each_thread([&](const Thread& thread) {
    const Bin* const bin = thread.heap.find_bin(row);
    if (bin != nullptr) made += bin->counts.made.read();
  });
  return made;
}

std::uint64_t spare_of(std::size_t row) noexcept {
  std::uint64_t spare = rows[row].shared.load(std::memory_order_relaxed);
  if (row >= large_row) return spare;
  for_each_thread([&](const Thread& thread) { spare += thread.credits[row].left(); });
  return spare;
}

}  // namespace

void count_made(Thread& thread, std::size_t size_class) noexcept {
  Credit& credit = thread.credits[size_class];
  const std::uint32_t shared = take_shared(rows[size_class], credits_most / 2);
  if (shared != 0) {
    credit.given += shared;
    credit.taken += 1;
  } else if (thread.heap.find_bin(size_class) != nullptr) {
    thread.heap.bin(size_class).counts.made.add(1);
  } else {  // The block comes from a stack of a thread that has vanished in a fork.
    rows[size_class].made.fetch_add(1, std::memory_order_relaxed);
  }
}

void share_credits(Thread& thread, std::size_t size_class) noexcept {
  Credit& credit = thread.credits[size_class];
  const std::uint32_t left = credit.left();
  if (left <= credits_most) return;
  credit.taken += left - credits_most / 2;
  rows[size_class].shared.fetch_add(left - credits_most / 2, std::memory_order_relaxed);
}

void count_taken(std::size_t row) noexcept {
  TARN_ASSERT(row < row_count);
  if (has_credits(row) && take_credit(*current_thread, row)) return;
  if (take_shared(rows[row], 1) == 0) rows[row].made.fetch_add(1, std::memory_order_relaxed);
}

void count_given(std::size_t row) noexcept {
  TARN_ASSERT(row < row_count);
  if (!has_credits(row)) {
    rows[row].shared.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  ++current_thread->credits[row].given;
  share_credits(*current_thread, row);
}

void count_request(std::size_t row, std::size_t bytes) noexcept {
  Row& counts = rows[row];
  counts.requests.fetch_add(1, std::memory_order_relaxed);
  counts.requested_bytes.fetch_add(bytes, std::memory_order_relaxed);
  raise_to(counts.requested_max, bytes);
  raise_to(counts.requested_below, SIZE_MAX - bytes);
}

void read_counts(std::size_t row, tarn_xalloc_class_stats& stats) noexcept {
  const Row& counts = rows[row];
  const std::uint64_t all = made_of(row);
  const std::uint64_t forgotten = counts.forgotten.load(std::memory_order_relaxed);
  const std::uint64_t made = all > forgotten ? all - forgotten : 0;  // Others' blocks spoil counts.
  const std::uint64_t spare = spare_of(row);
  stats.in_use = made > spare ? made - spare : 0;
  stats.in_use_peak = made;
  stats.requests = counts.requests.load(std::memory_order_relaxed);
  stats.requested_bytes = counts.requested_bytes.load(std::memory_order_relaxed);
  stats.requested_bytes_max = counts.requested_max.load(std::memory_order_relaxed);
  stats.requested_bytes_min =
      stats.requests == 0 ? 0 : SIZE_MAX - counts.requested_below.load(std::memory_order_relaxed);
}

void forget_counts() noexcept {
  for (std::size_t row = 0; row < row_count; ++row) {
    Row& counts = rows[row];
    counts.forgotten.fetch_add(spare_of(row), std::memory_order_relaxed);
    counts.shared.store(0, std::memory_order_relaxed);
    counts.requests.store(0, std::memory_order_relaxed);
    counts.requested_bytes.store(0, std::memory_order_relaxed);
    counts.requested_max.store(0, std::memory_order_relaxed);
    counts.requested_below.store(0, std::memory_order_relaxed);
  }
  for_each_thread([](Thread& thread) {
    for (Credit& credit : thread.credits) credit.taken = credit.given;
  });
}

}  // namespace tarn
