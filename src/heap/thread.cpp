// thread: the start and the end of a thread's use of the library.
//
// SPDX-License-Identifier: MIT
#include "heap/thread.hpp"

#include "heap/orphans.hpp"
#include "heap/process.hpp"
#include "heap/record.hpp"
#include "os/process.hpp"
#include "os/thread.hpp"
#include "source/store.hpp"

namespace tarn {

namespace {

// libc calls this at the thread's end, possibly before other destructors that allocate or free.
// Frees need no record; for allocations see late.hpp.
void thread_ended(void* value) noexcept {
  auto* const thread = static_cast<Thread*>(value);
  if (current_thread != thread) return;
  Busy::begin(*thread);  // A fork in a signal handler must not give it away as well.
  set_current_thread(no_thread());
  thread_is_ending = true;
  orphans.give(*thread);
  store.purge_when_due(os::clock_coarse_ms());
}

}  // namespace

constinit const Page empty_page{};

namespace {
constexpr std::array<Page*, class_count> no_pages() noexcept {
  std::array<Page*, class_count> pages{};
  pages.fill(const_cast<Page*>(&empty_page));
  return pages;
}
}  // namespace

constinit Thread empty_thread{.heap = {.current = no_pages(), .record = &main_record}};
constinit ThreadHeap empty_view{.current = no_pages(), .record = &main_record};
constinit Thread locked_owner{.heap = {.current = no_pages(), .record = &main_record}};
constinit Thread frozen_owner{.heap = {.current = no_pages(), .record = &main_record}};
constinit Thread lost_owner{.heap = {.current = no_pages(), .record = &main_record},
                            .state = ThreadState::lost};

__thread Thread* current_thread = &empty_thread;
__thread ThreadHeap* current_heap = &empty_thread.heap;

__thread bool thread_is_ending = false;

Thread* thread_start() noexcept {
  process.start();  // May allocate, and so come here.
  if (current_thread != no_thread()) return current_thread;
  Thread* const thread = orphans.take(Orphans::Counted::yes);
  if (thread == nullptr) return nullptr;
  set_current_thread(thread);  // Before the call below, which may allocate.
  Busy::end(*thread);
  os::thread_on_end(thread_ended, thread);
  return thread;
}

}  // namespace tarn
