// thread_life: see thread_life.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/threads/thread_life.hpp"

#include "engine/records/thread_default.hpp"
#include "engine/store/store.hpp"
#include "engine/threads/cache_care.hpp"
#include "engine/threads/delay.hpp"
#include "engine/threads/gathering.hpp"
#include "engine/threads/orphan_care.hpp"
#include "engine/threads/post.hpp"
#include "engine/threads/span_cache.hpp"
#include "engine/threads/thread_heap.hpp"
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
  serve_as_process();
  thread_is_ending = true;
  thread_give(*thread);
  store.purge_when_due(os::clock_coarse_ms());
}

}  // namespace

void give_at_hand(Thread& thread) noexcept {
  cache_empty(thread);
  give_gathered(thread);
  delay_empty(thread);
  span_cache_empty(thread);
}

void thread_give(Thread& thread) noexcept {
  give_at_hand(thread);
  orphan_give(thread);
}

namespace {

// Other threads may have adopted pages meanwhile.
void give_what_a_fork_left(Thread& thread) noexcept {
  for (std::size_t c = 0; c < class_count; ++c) {
    CachedList& list = thread.cache.lists[c];
    Block* block = list.first;
    list.first = nullptr;
    list.room = 0;
    list.reached_at = 0;
    thread.cache.care[c].most = 0;
    while (block != nullptr) {
      Block* const next = block->next;
      auto* const page = static_cast<Page*>(page_map.span_of(block));
      if (page->owner.load(std::memory_order_relaxed) == &thread) {
        page_freed(*page, block, block, 1);
      } else {
        free_remote(*page, block, block, 1);
      }
      block = next;
    }
  }
  thread.cache.torn = false;
}

}  // namespace

Thread* thread_take(Orphans::Counted counted) noexcept {
  Thread* const thread = orphans.take(counted);
  if (thread != nullptr && TARN_UNLIKELY(thread->cache.torn)) give_what_a_fork_left(*thread);
  return thread;
}

Thread* thread_start() noexcept {
  Thread* const thread = thread_take(Orphans::Counted::yes);
  if (thread == nullptr) return nullptr;
  // Lost: the thread has forked on its way here, in a signal handler, and this is the child.
  TARN_ASSERT(thread->state.load(std::memory_order_relaxed) != ThreadState::orphan);
  set_current_thread(thread);  // Before the call below, which may allocate.
  serve_as_process();
  Busy::end(*thread);
  os::thread_on_end(thread_ended, thread);
  return thread;
}

}  // namespace tarn
