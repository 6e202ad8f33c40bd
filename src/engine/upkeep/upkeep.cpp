// upkeep: see upkeep.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/upkeep/upkeep.hpp"

#include <cerrno>

#include "engine/records/thread.hpp"
#include "engine/records/thread_default.hpp"
#include "engine/store/store.hpp"
#include "engine/threads/cache_care.hpp"
#include "engine/threads/flush.hpp"
#include "engine/threads/gathering.hpp"
#include "engine/threads/orphan_care.hpp"
#include "engine/threads/span_cache.hpp"
#include "engine/threads/thread_heap.hpp"
#include "engine/upkeep/idle_purge.hpp"
#include "platform/base/check.hpp"
#include "platform/os/process.hpp"

namespace tarn {

constinit Background background;

namespace {

constexpr std::uint64_t nap_ms_least = 10;  // Between two looks, however much is due.
constexpr std::uint64_t mail_pause_ms_most = 8000;
constexpr std::uint64_t doze_ms_least = 2000;  // A shorter one is not worth being woken from.
constexpr std::uint64_t end_wait_ms = 1000;    // For a purge that is under way at the end.
constexpr std::uint64_t end_look_ms = 50;      // Between two looks for the end of that purge.

// The mail of others is not looked at before this time, unless the process has grown.
std::atomic<std::uint64_t> mail_due_ms{0};

// The size of the process at the last look for which it had grown.
std::atomic<std::size_t> peak_looked_at{0};

// The process has grown when it is larger by a 32nd, and by this: what was freed for others may
// serve before it grows further.
constexpr std::size_t growth_slices_least = (std::size_t{4} << 20) >> slice_shift;

bool has_grown() noexcept {
  // Relaxed, all of it: hints; two threads may look at once.
  const std::size_t peak = store.committed_slices_peak();
  const std::size_t before = peak_looked_at.load(std::memory_order_relaxed);
  const std::size_t part = before / 32;
  if (peak < before + (part < growth_slices_least ? growth_slices_least : part)) return false;
  peak_looked_at.store(peak, std::memory_order_relaxed);
  return true;
}

std::size_t look_at_mail(std::uint64_t now_ms) noexcept {
  if (TARN_UNLIKELY(has_grown())) return idle_purge.purge(true);
  if (TARN_LIKELY(now_ms < mail_due_ms.load(std::memory_order_relaxed))) return 0;
  const std::uint64_t delay = policy.delay_ms.load(std::memory_order_relaxed);
  mail_due_ms.store(now_ms + delay, std::memory_order_relaxed);
  give_kept_blocks(false);
  return idle_purge.purge(false);
}

// The pause after a look that has found nothing in the mail.
std::uint64_t longer(std::uint64_t pause_ms) noexcept {
  if (pause_ms == 0) return policy.delay_ms.load(std::memory_order_relaxed) + 1;
  return pause_ms < mail_pause_ms_most ? 2 * pause_ms : pause_ms;
}

void tend_what_is_at_hand(Thread& thread) noexcept {
  {
    Busy busy(thread);
    cache_age(thread);
    retire_idle_pages(thread.heap);
  }
  give_gathered(thread);
  span_cache_age(thread);
}

}  // namespace

void note_kept_blocks() noexcept { store.purger.ring(); }

void upkeep() noexcept {
  TARN_ASSERT(!store.lock().held_by_this_thread());
  const std::uint64_t now = os::clock_coarse_ms();
  store.purge_when_due(now);
  look_at_mail(now);
  if (current_thread != no_thread()) tend_what_is_at_hand(*current_thread);
  background.provide();
}

namespace {

// While the program sleeps nothing has to stay warm.
void give_rest_when_due(std::uint64_t now_ms) noexcept {
  if (now_ms < store.rest_due_ms()) return;
  orphans_trim();
  store.purge(now_ms, 0, 0);
}

// Memory that may become free without a word.
bool is_any_away() noexcept {
  const KeptBlocks* const kept = kept_blocks.load(std::memory_order_acquire);
  return IdlePurge::is_there() || (kept != nullptr && kept->is_there());
}

std::uint64_t next_due_ms() noexcept {
  const std::uint64_t due = store.purge_due_ms();
  const std::uint64_t rest = store.rest_due_ms();
  return due < rest ? due : rest;
}

}  // namespace

void Background::run() noexcept {
  std::uint64_t mail_pause = 0;
  while (store.purger.goes_on()) {
    const std::uint64_t now = os::clock_coarse_ms();
    store.purge_when_due(now);
    give_rest_when_due(now);
    if (look_at_mail(now) != 0) mail_pause = 0;
    // Before the looks: a thread that brings something after them wakes the purger.
    store.purger.lie_down();
    const std::uint64_t due = next_due_ms();
    std::uint64_t pause = due == UINT64_MAX ? due : due > now ? due - now : 0;
    mail_pause = is_any_away() ? longer(mail_pause) : 0;
    const bool for_mail = pause == UINT64_MAX && mail_pause >= doze_ms_least;
    if (mail_pause != 0 && mail_pause < pause) pause = mail_pause;
    if (pause == UINT64_MAX) {
      store.purger.sleep();
    } else if (for_mail) {
      if (store.purger.doze(pause)) mail_pause = 0;
    } else {
      store.purger.nap(pause > nap_ms_least ? pause : nap_ms_least);
    }
  }
  background.left_.store(1, std::memory_order_release);
  os::word_wake(&background.left_);
}

bool Background::begin() noexcept {
  // The child of a vfork has its parent's memory, but threads of its own, which end at its exec.
  if (home_.load(std::memory_order_relaxed) != os::process_id()) return false;
  State seen = State::none;
  if (!state_.compare_exchange_strong(seen, State::starting, std::memory_order_relaxed)) {
    return seen != State::refused && seen != State::ended;
  }
  TARN_ASSERT(state_.load(std::memory_order_relaxed) != State::none);
  store.purger.begin();
  left_.store(0, std::memory_order_relaxed);
  const WithoutDefaultHeap not_the_programs_default;  // libc allocates for the thread.
  const bool begun = os::thread_begin_own(run, "tarn-purge", &thread_);
  seen = State::starting;
  // Release: pairs with end().
  if (!state_.compare_exchange_strong(seen, begun ? State::there : State::refused,
                                      std::memory_order_acq_rel) &&
      begun) {  // The library has ended meanwhile.
    store.purger.end();
    os::thread_join_own(thread_);
    return false;
  }
  return begun;
}

void Background::want() noexcept {
  home_.store(os::process_id(), std::memory_order_relaxed);
  wanted_.store(true, std::memory_order_release);
}

void Background::begin_quietly() noexcept {
  const int saved = errno;
  begin();
  errno = saved;
}

bool Background::start() noexcept {
  want();
  State refused = State::refused;
  state_.compare_exchange_strong(refused, State::none, std::memory_order_relaxed);
  return begin();
}

void Background::end() noexcept {
  // Acquire: pairs with begin().
  if (state_.exchange(State::ended, std::memory_order_acquire) != State::there) return;
  store.purger.end();
  for (std::uint64_t waited = 0; waited < end_wait_ms; waited += end_look_ms) {
    if (left_.load(std::memory_order_acquire) != 0) {  // Pairs with run().
      os::thread_join_own(thread_);
      return;
    }
    os::word_wait_for(&left_, 0, end_look_ms);
  }
}

void Background::recover_after_fork() noexcept {
  if (state_.load(std::memory_order_relaxed) == State::ended) return;
  state_.store(State::none, std::memory_order_relaxed);
  home_.store(os::process_id(), std::memory_order_relaxed);
}

}  // namespace tarn
