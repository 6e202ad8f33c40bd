// search: see search.hpp.
//
// SPDX-License-Identifier: MIT
#include "watch/unreachable/search.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "engine/upkeep/idle_purge.hpp"
#include "heaps/checked/places.hpp"
#include "heaps/heap/handle.hpp"
#include "heaps/heap/registry.hpp"
#include "platform/os/process.hpp"
#include "platform/report/options.hpp"
#include "watch/unreachable/roots.hpp"

namespace tarn {

namespace {

constinit os::Lock searching;
std::atomic<bool> forks_are_known{false};

// Whenever threads are stopped something may be on its way; in the child of a fork it stays so. So
// a search tries more than once.
constexpr int tries_max = 96;
constexpr int tries_without_locks = 64;
constexpr int tries_for_full_rest = 16;

// Whether the lists are at rest enough for a search after so many tries.
bool is_enough(Rest rest, int tries) noexcept {
  return rest == Rest::full || (rest == Rest::partial && tries > tries_for_full_rest);
}

void child_of_fork() noexcept {
  registered_roots.recover_after_fork();
  Scratch::recover_after_fork();
  if (searching.recover_after_fork()) os::Standstill::recover_after_fork();
}

bool is_passthrough(const HeapRecord& record) noexcept {
  return record.checks != nullptr && record.checks->mode == Mode::passthrough;
}

// Takes all locks of a search. wait: whether to wait for threads that hold one of them.
bool hold_all(bool wait) noexcept {
  const auto take = [wait](os::Lock& lock) noexcept {
    return wait ? take_unless_stuck(lock) : lock.try_lock();
  };
  if (!take(registered_roots.lock())) return false;
  if (take(Scratch::lock())) {
    if (wait ? hold_lists() : try_hold_lists()) return true;
    Scratch::lock().unlock();
  }
  registered_roots.lock().unlock();
  return false;
}

[[maybe_unused]] bool all_are_held() noexcept {
  return registered_roots.lock().held_by_this_thread() && Scratch::lock().held_by_this_thread() &&
         registry.lock().held_by_this_thread();
}

void let_all_go() noexcept {
  TARN_ASSERT(all_are_held());
  let_lists_go();
  Scratch::lock().unlock();
  registered_roots.lock().unlock();
}

bool fail_with(int error) noexcept {
  errno = error;
  return false;
}

}  // namespace

bool complete_options(const tarn_unreachable_options* given, const char* function,
                      tarn_unreachable_options* to) noexcept {
  TARN_ASSERT(to != nullptr);
  *to = {};
  if (given != nullptr) *to = *given;
  constexpr unsigned known = TARN_UNREACHABLE_STRICT | TARN_UNREACHABLE_JSON;
  if (given != nullptr &&
      (!is_sized(*to, function, "TARN_UNREACHABLE_OPTIONS") || (to->flags & ~known) != 0 ||
       (to->heaps == nullptr) != (to->heap_count == 0) || to->signal < 0)) {
    return fail_with(EINVAL);
  }
  if (to->signal == 0) to->signal = TARN_UNREACHABLE_SIGNAL;
  if (to->wait_ms == 0) to->wait_ms = TARN_UNREACHABLE_WAIT_MS;
  TARN_ASSERT(to->heap_count == 0 || to->heaps != nullptr);
  for (std::size_t i = 0; i < to->heap_count; ++i) {
    const HeapRecord* const record = live_record(to->heaps[i], function);
    if (record == nullptr) return false;
    if (is_passthrough(*record)) return fail_with(ENOTSUP);
  }
  return true;
}

bool Search::run(const tarn_unreachable_options& options, const os::Standing& self) noexcept {
  os::process_on_fork_once(forks_are_known, child_of_fork);
  if (searching.held_by_this_thread() || registered_roots.lock().held_by_this_thread() ||
      Scratch::lock().held_by_this_thread() || !is_outside()) {
    return fail_with(EBUSY);
  }
  give_kept_blocks(true);  // They are free, but look live.
  os::Locked locked(searching);
  const os::Undisturbed undisturbed;
  return run_held(options, self);
}

// Threads that are stopped anywhere may hold what the search needs. Then they go on, and are
// stopped again. Locks are taken after the threads are stopped, since a thread that waits for one
// of them would count as being at work; after many failures, they are taken before.
bool Search::run_held(const tarn_unreachable_options& options, const os::Standing& self) noexcept {
  TARN_ASSERT(searching.held_by_this_thread());
  TARN_ASSERT(options.signal > 0 && options.wait_ms != 0);
  const std::uint64_t longest = std::uint64_t{options.wait_ms} * 1000000;
  std::uint64_t paused = 0;
  for (int tries = 1;; ++tries) {
    // Each try waits for threads that are late to stop, so all tries together need a bound too.
    if (paused > longest && tries <= tries_without_locks) tries = tries_without_locks + 1;
    if (paused > 2 * longest) tries = tries_max;
    const bool first = tries > tries_without_locks;
    if (first && !hold_all(true)) return fail_with(EBUSY);
    const std::uint64_t began = os::clock_ns();
    if (!standstill_.begin(options.signal, options.wait_ms)) {
      const int saved = errno;
      if (first) let_all_go();
      return fail_with(saved);
    }
    TARN_ASSERT(tries <= tries_max);
    const bool held = first || hold_all(false);
    const bool enough = held && (tries == tries_max || is_enough(rest(), tries));
    const bool done = enough && look(options, self);
    const int saved = errno;
    standstill_.end();
    result_.pause_ns = os::clock_ns() - began;
    paused += result_.pause_ns;
    if (held) let_all_go();
    if (enough) return done || fail_with(saved);
    os::yield();
  }
}

// Searches while the threads stand still. False with errno set.
bool Search::look(const tarn_unreachable_options& options, const os::Standing& self) noexcept {
  TARN_ASSERT(all_are_held() && lost_ == nullptr);
  TARN_UNWATCHED_BEGIN();
  BlockIndex index;
  Mappings mappings;
  Mark mark(index, mappings);
  Roots roots(index, mappings, mark, (options.flags & TARN_UNREACHABLE_STRICT) != 0);
  bool done = index.begin(scratch_) && mark.begin(scratch_) && list_heaps(index, options);
  if (!done) errno = ENOMEM;
  done = done && mappings.begin(scratch_);
  if (done && !roots.begin(scratch_)) done = fail_with(ENOMEM);
  Scratch::for_each([&](const std::byte* start, std::size_t bytes) noexcept {
    if (done && !index.add_own(start, bytes)) done = fail_with(ENOMEM);
  });
  if (done) {
    if (standstill_.missed() != 0) {
      roots.missed_some();
      mark.be_careful();
    }
    roots.add_thread(self, true);
    for (std::size_t i = 0; i < standstill_.stopped(); ++i) {
      roots.add_thread(standstill_.standing(i), false);
    }
    roots.scan();
    mark.find_indirect();
    TARN_ASSERT(index.check());
    done = list_lost(index, mark);
    result_.live_blocks = index.live_count();
    result_.live_bytes = index.live_bytes();
    TARN_ASSERT(!done || check());
    result_.root_bytes = roots.bytes();
    result_.skipped_bytes = roots.skipped_bytes();
    result_.threads_stopped = standstill_.stopped();
    result_.threads_missed = standstill_.missed();
  }
  TARN_UNWATCHED_END();
  return done;
}

// Lists all heaps with their present names. The ranges of heaps that were not asked for are not
// wanted.
bool Search::list_heaps(BlockIndex& index, const tarn_unreachable_options& options) noexcept {
  std::uint32_t count = 1;
  registry.for_each([&](const HeapRecord&) noexcept { ++count; });
  heaps_ = scratch_.take_array<SeenHeap>(count);
  if (heaps_ == nullptr) return false;
  heap_count_ = 0;
  const auto add = [&](HeapRecord& record) noexcept {
    SeenHeap& heap = heaps_[heap_count_++];
    heap.record = &record;
    heap.id = record.id.load(std::memory_order_relaxed);
    memcpy(heap.name, record.name, sizeof heap.name);
  };
  add(main_record);
  registry.for_each(add);
  TARN_ASSERT(heap_count_ == count);
  std::sort(heaps_, heaps_ + heap_count_,
            [](const SeenHeap& a, const SeenHeap& b) { return a.record < b.record; });
  for (std::uint32_t g = index.first_range(); g < index.range_end(); ++g) {
    BlockRange& range = index.range(g);
    const std::uint32_t heap = number_of(range.record);
    bool is_asked_for = options.heap_count == 0;
    for (std::size_t i = 0; i < options.heap_count && !is_asked_for; ++i) {
      is_asked_for = heap < heap_count_ && options.heaps[i].id == heaps_[heap].id;
    }
    range.is_wanted = range.is_wanted && is_asked_for && heap < heap_count_;
  }
  return true;
}

// The number of a heap among those that were seen; heap_count_ when it is none.
std::uint32_t Search::number_of(const HeapRecord* record) const noexcept {
  const SeenHeap* const end = heaps_ + heap_count_;
  const SeenHeap* const found = std::lower_bound(
      heaps_, heaps_ + heap_count_, record,
      [](const SeenHeap& heap, const HeapRecord* wanted) { return heap.record < wanted; });
  const bool is_there = found != end && found->record == record;
  return is_there ? static_cast<std::uint32_t>(found - heaps_) : heap_count_;
}

// Lists the wanted blocks that are not reached, in the order of their addresses.
bool Search::list_lost(const BlockIndex& index, const Mark& mark) noexcept {
  std::size_t count = 0;
  index.for_each_unreached(
      [&](Spot spot) noexcept { count += index.range(spot.range).is_wanted ? 1 : 0; });
  lost_ = scratch_.take_array<Lost>(count);
  if (lost_ == nullptr) return fail_with(ENOMEM);
  lost_count_ = 0;
  index.for_each_unreached([&](Spot spot) noexcept {
    const BlockRange& range = index.range(spot.range);
    if (!range.is_wanted || lost_count_ == count) return;
    TARN_ASSERT(number_of(range.record) < heap_count_);
    const os::Bytes bytes = index.bytes_of_block(spot);
    const bool is_direct = !mark.is_indirect(spot);
    lost_[lost_count_++] = {const_cast<std::byte*>(bytes.start), bytes.count(), index.site_of(spot),
                            number_of(range.record), is_direct};
    ++result_.blocks;
    result_.block_bytes += bytes.count();
    result_.direct_blocks += is_direct ? 1 : 0;
    result_.direct_bytes += is_direct ? bytes.count() : 0;
  });
  std::sort(lost_, lost_ + lost_count_,
            [](const Lost& a, const Lost& b) { return a.start < b.start; });
  return true;
}

}  // namespace tarn
