// thread_life: see thread_life.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/threads/thread_life.hpp"

#include "engine/store/store.hpp"
#include "engine/threads/gathering.hpp"
#include "engine/threads/magazine_care.hpp"
#include "engine/threads/orphan_care.hpp"
#include "engine/threads/orphans.hpp"
#include "engine/threads/span_cache.hpp"
#include "platform/base/check.hpp"
#include "platform/os/process.hpp"
#include "platform/os/thread.hpp"

namespace tarn {

namespace {

// libc calls this at the thread's end, possibly before other destructors that allocate or free.
// Frees need no record; for allocations see ending_threads.hpp.
void thread_ended(void* value) noexcept {
  auto* const thread = static_cast<Thread*>(value);
  if (current_thread != thread) return;
  TARN_ASSERT(!thread_is_ending);
  Busy::begin(*thread);  // A fork in a signal handler must not give it away as well.
  set_current_thread(no_thread());
  thread_is_ending = true;
  thread_give(*thread);
  store.purge_when_due(os::clock_coarse_ms());
}

}  // namespace

void give_at_hand(Thread& thread) noexcept {
  empty_magazines(thread);
  give_gathered(thread);
  span_cache_empty(thread);
}

void thread_give(Thread& thread) noexcept {
  give_at_hand(thread);
  orphan_give(thread);
}

Thread* thread_start() noexcept {
  Thread* const thread = orphans.take(Orphans::Counted::yes);
  if (thread == nullptr) return nullptr;
  // Lost: the thread has forked on its way here, in a signal handler, and this is the child.
  TARN_ASSERT(thread->state.load(std::memory_order_relaxed) != ThreadState::orphan);
  set_current_thread(thread);  // Before the call below, which may allocate.
  Busy::end(*thread);
  os::thread_on_end(thread_ended, thread);
  return thread;
}

}  // namespace tarn
