// ending_threads: see ending_threads.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/threads/ending_threads.hpp"

#include "engine/records/shares.hpp"
#include "engine/threads/orphans.hpp"
#include "engine/threads/thread_heap.hpp"

namespace tarn {

constinit Late late;

Thread* Late::begin() noexcept {
  lock_.lock();
  if (thread_ == nullptr) {
    thread_ = orphans.take(Orphans::Counted::no);
    if (thread_ == nullptr) {
      lock_.unlock();
      return nullptr;
    }
    Busy::end(*thread_);
  }
  return thread_;
}

void* Late::allocate(std::size_t size_class) noexcept {
  Thread* const thread = begin();
  if (thread == nullptr) return nullptr;
  Busy::begin(*thread);
  Page* const page = refill(thread->heap, size_class);
  void* const block = page == nullptr ? nullptr : page_pop(page);
  Busy::end(*thread);
  end();
  return block;
}

void Late::trim() noexcept {
  os::Locked locked(lock_);
  if (thread_ == nullptr) return;
  Busy busy(*thread_);
  put_down_all(*thread_);
  shares.for_each(*thread_, [](ThreadHeap& share) noexcept { put_down_share(share); });
}

const Thread* Late::recover_after_fork() noexcept {
  if (lock_.held_by_this_thread()) return thread_;
  lock_.recover_after_fork();
  thread_ = nullptr;
  return nullptr;
}

}  // namespace tarn
