// ending_threads: see ending_threads.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/threads/ending_threads.hpp"

#include "engine/records/thread_heaps.hpp"
#include "engine/threads/flush.hpp"
#include "engine/threads/orphans.hpp"
#include "engine/threads/refill.hpp"
#include "engine/threads/thread_life.hpp"
#include "platform/base/check.hpp"

namespace tarn {

constinit EndingThreads ending_threads;

Thread* EndingThreads::begin() noexcept {
  TARN_ASSERT(!lock_.held_by_this_thread());
  lock_.lock();
  if (thread_ == nullptr) {
    thread_ = thread_take(Orphans::Counted::no);
    if (thread_ == nullptr) {
      lock_.unlock();
      return nullptr;
    }
    Busy::end(*thread_);
  }
  TARN_ASSERT(thread_ != current_thread && !thread_->busy.load(std::memory_order_relaxed));
  return thread_;
}

void* EndingThreads::allocate(std::size_t size_class) noexcept {
  TARN_ASSERT(size_class < class_count);
  Thread* const thread = begin();
  if (thread == nullptr) return nullptr;
  Busy::begin(*thread);
  void* block = cache_take(thread->cache, size_class);  // Of the thread that had the record.
  if (block == nullptr) {
    Page* const page = refill(thread->heap, size_class);
    TARN_ASSERT(page == nullptr || page->owner.load(std::memory_order_relaxed) == thread);
    if (page != nullptr) block = page_pop_unmarked(page);
  }
  Busy::end(*thread);
  end();
  return block;
}

void EndingThreads::trim() noexcept {
  os::Locked locked(lock_);
  if (thread_ == nullptr) return;
  Busy busy(*thread_);
  flush_all(*thread_);
  thread_heaps.for_each(*thread_,
                        [](ThreadHeap& thread_heap) noexcept { flush_thread_heap(thread_heap); });
}

const Thread* EndingThreads::recover_after_fork() noexcept {
  if (lock_.held_by_this_thread()) return thread_;
  lock_.recover_after_fork();
  thread_ = nullptr;
  return nullptr;
}

}  // namespace tarn
