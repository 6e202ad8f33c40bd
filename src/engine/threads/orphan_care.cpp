// orphan_care: see orphan_care.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/threads/orphan_care.hpp"

#include "engine/records/gate.hpp"
#include "engine/records/live_bytes.hpp"
#include "engine/records/thread_heaps.hpp"
#include "engine/records/totals.hpp"
#include "engine/threads/flush.hpp"
#include "engine/threads/orphans.hpp"
#include "engine/threads/thread_heap.hpp"
#include "platform/base/check.hpp"

namespace tarn {

namespace {

// Makes the record an orphan. Returns the orphan that is not warm any longer, or null.
Thread* give_locked(Thread& thread) noexcept {
  TARN_ASSERT(!orphans.lock().held_by_this_thread());
  os::Locked locked(orphans.lock());
  publish_live(thread.heap);
  TARN_ASSERT(thread.state.load(std::memory_order_relaxed) != ThreadState::orphan);
  TARN_ASSERT(&thread != no_thread() && thread.heap.record == &main_record);
  totals.count_thread_ended();
  thread.state.store(ThreadState::orphan, std::memory_order_seq_cst);
  // After the state: a thread that posted before it left mail here; one that posts after it serves
  // the orphan.
  Busy::begin(thread);
  read_mail(thread);
  settle_queues(thread.heap);  // From here on, the last free of each of its pages is posted.
  TARN_ASSERT_EVERY(16, counts_may_be_off() || thread_heap_check(thread.heap));
  Busy::end(thread);
  Thread* const cooled = orphans.push_locked(thread);
  TARN_ASSERT(cooled == nullptr || (cooled != &thread && !cooled->warm));
  if (cooled == nullptr) return nullptr;
  Busy busy(*cooled);
  flush_current_pages(cooled->heap);
  return cooled;
}

void tend_all(const Thread& thread) noexcept {
  thread_heaps.for_each(thread, [](ThreadHeap& thread_heap) noexcept { orphan_tend(thread_heap); });
}

}  // namespace

void orphan_give(Thread& thread) noexcept {
  const Thread* const cooled = give_locked(thread);
  tend_all(thread);
  if (cooled != nullptr) tend_all(*cooled);
}

void orphan_serve(Thread& thread) noexcept {
  TARN_ASSERT(!orphans.lock().held_by_this_thread());
  os::Locked locked(orphans.lock());
  if (thread.state.load(std::memory_order_relaxed) != ThreadState::orphan) return;
  Busy busy(thread);
  read_mail(thread);
}

void orphan_tend(ThreadHeap& thread_heap) noexcept {
  TARN_ASSERT(!orphans.lock().held_by_this_thread());
  os::Locked locked(orphans.lock());
  Thread& thread = *thread_heap.thread;
  if (thread.state.load(std::memory_order_relaxed) != ThreadState::orphan) return;
  Busy busy(thread);
  read_mail(thread);
  // The thread that holds it exclusively comes here afterwards.
  if (keeps_off(*thread_heap.record)) return;
  if (!thread.warm || thread_heap.record == &main_record) flush_current_pages(thread_heap);
  settle_queues(thread_heap);
  TARN_ASSERT_EVERY(64, counts_may_be_off() || thread_heap_check(thread_heap));
}

void orphans_tend_left_over() noexcept {
  for (const Thread* t = orphans.first_known(); t != nullptr; t = t->next_known) {
    thread_heaps.for_each(*t, [](ThreadHeap& thread_heap) noexcept {
      if (thread_heap.record == &main_record) orphan_tend(thread_heap);
    });
  }
}

void orphans_trim() noexcept {
  TARN_ASSERT(!orphans.lock().held_by_this_thread());
  os::Locked locked(orphans.lock());
  orphans.for_each_locked([](Thread& thread) noexcept {
    Busy busy(thread);
    flush_all(thread);
  });
  orphans.cool_all_locked();
  TARN_ASSERT_EVERY(4, orphans.check_locked());
}

}  // namespace tarn
