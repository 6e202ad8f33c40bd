// soft_marks: see soft_marks.hpp.
//
// SPDX-License-Identifier: MIT
#include "heaps/heap/soft_marks.hpp"

#include "engine/records/callback.hpp"
#include "heaps/heap/exclusive.hpp"
#include "platform/base/check.hpp"

namespace tarn {

namespace {

struct DueSoftMark {
  HeapRecord* heap = nullptr;
  tarn_heap_mark callback = nullptr;
  tarn_heap called{};
  std::size_t committed = 0;
  void* context = nullptr;
};

// Of a destroyed ancestor only the ceiling is left. A mark that is passed again in its own callback
// stays due.
bool is_due(const HeapRecord& heap) noexcept {
  return heap.limits.soft_mark_callback != nullptr &&
         heap.limits.soft_mark_passed.load(std::memory_order_relaxed) &&
         heap.id.load(std::memory_order_relaxed) != 0 &&
         !Callback::runs(heap, CallbackFor::soft_mark);
}

// The next mark that is due, `generations` or more above the heap, which are then those to the one
// above it. All that the call needs is read here, where the heap cannot end, nor its ancestors'
// records become others'. pre: as soft_marks_due()
bool take_due_soft_mark(HeapRecord& heap, int* generations, DueSoftMark* due) noexcept {
  TARN_ASSERT(*generations >= 0);
  int above = 0;
  for (HeapRecord* r = &heap; r != nullptr; r = r->parent, ++above) {
    if (above < *generations || !is_due(*r)) continue;
    if (!r->limits.soft_mark_passed.exchange(false, std::memory_order_relaxed)) continue;
    const tarn_heap called = r->handle();
    if (called.id == 0) continue;
    *generations = above + 1;
    *due = {r, r->limits.soft_mark_callback, called,
            r->limits.committed.load(std::memory_order_relaxed), r->limits.context};
    return true;
  }
  return false;
}

}  // namespace

bool soft_marks_due(const HeapRecord& heap) noexcept {
  for (const HeapRecord* r = &heap; r != nullptr; r = r->parent) {
    if (TARN_UNLIKELY(is_due(*r))) return true;
  }
  return false;
}

void call_due_soft_marks(HeapRecord& heap, std::uint64_t id) noexcept {
  TARN_ASSERT(is_at_rest() && id != 0);
  for (int generations = 0;;) {
    DueSoftMark due;
    {
      const Visit visit(heap, id);
      if (visit.thread() == nullptr || visit.ended()) return;
      if (!take_due_soft_mark(heap, &generations, &due)) return;
    }
    TARN_ASSERT(is_at_rest() && due.callback != nullptr);
    const Callback running(*due.heap, CallbackFor::soft_mark);
    due.callback(due.called, due.committed, due.context);
  }
}

}  // namespace tarn
