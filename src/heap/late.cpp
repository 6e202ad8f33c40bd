// late: see late.hpp.
//
// SPDX-License-Identifier: MIT
#include "heap/late.hpp"

#include "heap/orphans.hpp"
#include "heap/thread_heap.hpp"

namespace tarn {

constinit Late late;

void* Late::allocate(std::size_t size_class) noexcept {
  os::Locked locked(lock_);
  if (thread_ == nullptr) {
    thread_ = orphans.take(Orphans::Counted::no);
    if (thread_ == nullptr) return nullptr;
    Busy::end(*thread_);
  }
  Busy busy(*thread_);
  Page* const page = refill(thread_->heap, size_class);
  return page == nullptr ? nullptr : page_pop(page);
}

void Late::trim() noexcept {
  os::Locked locked(lock_);
  if (thread_ == nullptr) return;
  Busy busy(*thread_);
  put_down_all(*thread_);
}

const Thread* Late::recover_after_fork() noexcept {
  if (lock_.held_by_this_thread()) return thread_;
  lock_.recover_after_fork();
  thread_ = nullptr;
  return nullptr;
}

}  // namespace tarn
