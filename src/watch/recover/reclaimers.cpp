// reclaimers: the list of owners that give memory when asked. It is singly linked: one store puts
// a reclaimer on it or takes it off, so the child of a fork finds it whole.
//
// SPDX-License-Identifier: MIT
#include "watch/recover/reclaimers.hpp"

#include <cerrno>
#include <climits>

#include "heaps/heap/handle.hpp"
#include "heaps/heap/registry.hpp"
#include "platform/base/check.hpp"
#include "platform/os/thread.hpp"
#include "platform/report/options.hpp"
#include "watch/recover/sums.hpp"

namespace tarn {

namespace {

constinit os::Lock reclaimers_lock;
constinit tarn_reclaimer* first = nullptr;  // By priority, then by number.
constinit std::uint64_t numbers_given = 0;

// The reclaimer whose callback the calling thread is in; null again once the callback has
// unregistered it.
TARN_INITIAL_EXEC __thread tarn_reclaimer* running_here = nullptr;

// The reclaimer that the calling thread is unregistering. It is off the list, but other threads may
// still run it.
TARN_INITIAL_EXEC __thread tarn_reclaimer* leaving_here = nullptr;

// How many forks lie between the first process and this one.
constinit std::atomic<std::uint32_t> forks{0};

// How far a pass over the list has come, whatever happens to the list meanwhile. A reclaimer that
// is registered after the pass began is not asked, since one that registers itself anew would be
// asked for ever.
struct Place {
  int priority = INT_MIN;
  std::uint64_t number = 0;
  std::uint64_t number_max = 0;

  bool is_before(const tarn_reclaimer& r) const noexcept {
    if (r.number > number_max) return false;
    return priority < r.priority || (priority == r.priority && number < r.number);
  }
};

// The link that leads to a reclaimer; null when it is not registered. pre: the lock is held
tarn_reclaimer** find_locked(const tarn_reclaimer* wanted) noexcept {
  TARN_ASSERT(reclaimers_lock.held_by_this_thread());
  for (tarn_reclaimer** link = &first; *link != nullptr; link = &(*link)->next) {
    if (*link == wanted) return link;
  }
  return nullptr;
}

// Whether the list is in the order in which owners are asked. pre: the lock is held
[[maybe_unused]] bool is_ordered_locked() noexcept {
  for (const tarn_reclaimer* r = first; r != nullptr && r->next != nullptr; r = r->next) {
    const tarn_reclaimer& after = *r->next;
    if (after.priority < r->priority) return false;
    if (after.priority == r->priority && after.number <= r->number) return false;
  }
  return true;
}

// Whether the owner has memory that the scope asks for. pre: the lock is held
bool is_asked_locked(const tarn_reclaimer& r, const RecoveryScope& scope) noexcept {
  if (r.heap.record == nullptr) return scope.top == nullptr;
  if (scope.top != nullptr && !scope.below && r.heap.record != scope.top) return false;
  return r.heap.record == &main_record ? scope.top == nullptr || scope.top == &main_record
                                       : registry.is_live_in(r.heap, scope.top);
}

std::atomic<std::uint32_t>* runs_of(tarn_reclaimer& r) noexcept {
  static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
  return reinterpret_cast<std::atomic<std::uint32_t>*>(&r.runs);
}

std::atomic<std::size_t>* estimate_of(tarn_reclaimer& r) noexcept {
  static_assert(sizeof(std::atomic<std::size_t>) == sizeof(std::size_t));
  return reinterpret_cast<std::atomic<std::size_t>*>(&r.estimate_bytes);
}

// Counts a run of the calling thread. A signal handler may fork between any two steps. In the
// child, repair_reclaimers() has then set the count without knowing of this step; so the child's
// only thread sets it again here. pre: the lock is held
void begin_here(tarn_reclaimer& r) noexcept {
  TARN_ASSERT(reclaimers_lock.held_by_this_thread());
  TARN_ASSERT(running_here == nullptr);
  const std::uint32_t before = forks.load(std::memory_order_relaxed);
  TARN_FORK_FENCE();
  running_here = &r;
  runs_of(r)->fetch_add(1, std::memory_order_relaxed);
  TARN_FORK_FENCE();
  if (forks.load(std::memory_order_relaxed) != before) {
    runs_of(r)->store(1, std::memory_order_relaxed);
  }
}

// Ends a run of the calling thread; otherwise as above.
void end_here(tarn_reclaimer& r) noexcept {
  TARN_ASSERT(reclaimers_lock.held_by_this_thread());
  TARN_ASSERT(running_here == &r && runs_of(r)->load(std::memory_order_relaxed) != 0);
  const std::uint32_t before = forks.load(std::memory_order_relaxed);
  TARN_FORK_FENCE();
  running_here = nullptr;
  runs_of(r)->fetch_sub(1, std::memory_order_relaxed);
  TARN_FORK_FENCE();
  if (forks.load(std::memory_order_relaxed) != before) {
    runs_of(r)->store(0, std::memory_order_relaxed);
  }
}

// The next reclaimer to ask. It stays registered until its run ends. Null when there is none.
tarn_reclaimer* begin_run(const RecoveryScope& scope, Place* place) noexcept {
  os::Locked locked(reclaimers_lock);
  TARN_ASSERT(is_ordered_locked());
  if (place->number_max == 0) place->number_max = numbers_given;
  for (tarn_reclaimer* r = first; r != nullptr; r = r->next) {
    if (!place->is_before(*r) || !is_asked_locked(*r, scope)) continue;
    place->priority = r->priority;
    place->number = r->number;
    begin_here(*r);
    return r;
  }
  return nullptr;
}

// Ends the run of a reclaimer. One that has unregistered itself is not touched, since its memory is
// the program's again.
void end_run(tarn_reclaimer& r, bool called, std::size_t given) noexcept {
  TARN_ASSERT(called || given == 0);
  os::Locked locked(reclaimers_lock);
  if (running_here != &r) return;
  if (called) {
    ++r.calls;
    if (given == 0) ++r.calls_in_vain;
    r.given_bytes += given;
    TARN_ASSERT(r.calls_in_vain <= r.calls);
  }
  end_here(r);
  os::word_wake(runs_of(r));  // Under the lock, so that r exists until then.
}

// Asks a reclaimer and returns the bytes that it gave. Its estimate and its callback may unregister
// it.
std::size_t run(tarn_reclaimer& r, std::size_t wanted) noexcept {
  TARN_ASSERT(wanted != 0 && running_here == &r);
  const tarn_reclaim reclaim = r.reclaim;
  TARN_ASSERT(reclaim != nullptr);
  const tarn_reclaim_estimate estimate = r.estimate;
  void* const context = r.context;
  const std::size_t there =
      estimate != nullptr ? estimate(context) : estimate_of(r)->load(std::memory_order_relaxed);
  const bool called = there != 0 && running_here == &r;
  std::size_t given = 0;
  if (called) {
    given = reclaim(wanted, context);
    recover_sums.callbacks.add(1);
    if (given == 0) recover_sums.callbacks_in_vain.add(1);
  }
  end_run(r, called, given);
  return given;
}

}  // namespace

bool register_reclaimer(tarn_reclaimer* reclaimer, const tarn_reclaimer_options& options) noexcept {
  TARN_ASSERT(options.reclaim != nullptr);
  os::Locked locked(reclaimers_lock);
  if (find_locked(reclaimer) != nullptr) {
    errno = EBUSY;
    return false;
  }
  *reclaimer = {};
  reclaimer->number = ++numbers_given;
  reclaimer->priority = options.priority;
  reclaimer->heap = options.heap;
  reclaimer->reclaim = options.reclaim;
  reclaimer->estimate = options.estimate;
  reclaimer->context = options.context;
  reclaimer->name = options.name;
  reclaimer->estimate_bytes = SIZE_MAX;
  tarn_reclaimer** link = &first;
  while (*link != nullptr && (*link)->priority <= reclaimer->priority) link = &(*link)->next;
  reclaimer->next = *link;
  TARN_FORK_FENCE();
  *link = reclaimer;
  TARN_ASSERT(is_ordered_locked());
  TARN_ASSERT(find_locked(reclaimer) == link);
  return true;
}

std::size_t ask_owners(const RecoveryScope& scope, std::size_t wanted) noexcept {
  TARN_ASSERT(wanted != 0 && !reclaimers_lock.held_by_this_thread());
  std::size_t given = 0;
  Place place;
  while (tarn_reclaimer* const r = begin_run(scope, &place)) {
    const std::size_t more = run(*r, wanted - given);
    if (more >= wanted - given) return more > SIZE_MAX - given ? SIZE_MAX : given + more;
    given += more;
    TARN_ASSERT(given < wanted);
  }
  return given;
}

// The runs of vanished threads have ended. The list itself is whole.
void repair_reclaimers() noexcept {
  reclaimers_lock.recover_after_fork();
  forks.fetch_add(1, std::memory_order_relaxed);
  const auto repair = [](tarn_reclaimer& r) noexcept {
    runs_of(r)->store(running_here == &r ? 1 : 0, std::memory_order_relaxed);
  };
  for (tarn_reclaimer* r = first; r != nullptr; r = r->next) repair(*r);
  if (leaving_here != nullptr) repair(*leaving_here);
}

}  // namespace tarn

using namespace tarn;

extern "C" {

int tarn_reclaimer_unregister(tarn_reclaimer* reclaimer) {
  reclaimers_lock.lock();
  tarn_reclaimer** const link = find_locked(reclaimer);
  if (link == nullptr) {
    reclaimers_lock.unlock();
    errno = EINVAL;
    return -1;
  }
  TARN_ASSERT(leaving_here == nullptr);
  leaving_here = reclaimer;
  TARN_FORK_FENCE();
  *link = reclaimer->next;
  TARN_ASSERT(is_ordered_locked());
  TARN_ASSERT(find_locked(reclaimer) == nullptr);
  if (running_here == reclaimer) end_here(*reclaimer);
  while (const std::uint32_t runs = runs_of(*reclaimer)->load(std::memory_order_relaxed)) {
    reclaimers_lock.unlock();
    os::word_wait(runs_of(*reclaimer), runs);
    reclaimers_lock.lock();
  }
  leaving_here = nullptr;
  reclaimers_lock.unlock();
  return 0;
}

void tarn_reclaimer_set_estimate(tarn_reclaimer* reclaimer, std::size_t bytes) {
  estimate_of(*reclaimer)->store(bytes, std::memory_order_relaxed);
}

int tarn_reclaimer_get_stats(const tarn_reclaimer* reclaimer, tarn_reclaimer_stats* stats) {
  if (stats == nullptr || !is_sized(*stats, "tarn_reclaimer_get_stats", "TARN_RECLAIMER_STATS")) {
    errno = EINVAL;
    return -1;
  }
  os::Locked locked(reclaimers_lock);
  stats->calls = reclaimer->calls;
  stats->calls_in_vain = reclaimer->calls_in_vain;
  stats->given_bytes = reclaimer->given_bytes;
  return 0;
}

}  // extern "C"
