// limits: see limits.hpp.
//
// SPDX-License-Identifier: MIT
#include "heap/limits.hpp"

#include "base/check.hpp"
#include "heap/callbacks.hpp"
#include "heap/closing.hpp"

namespace tarn {

namespace {

bool charge_one(Limits& limits, std::size_t bytes) noexcept {
  const std::size_t ceiling = limits.ceiling.load(std::memory_order_relaxed);
  const std::size_t soft_mark = limits.soft_mark.load(std::memory_order_relaxed);
  std::size_t seen = limits.committed.load(std::memory_order_relaxed);
  std::size_t now = 0;
  do {
    if (ceiling < seen || ceiling - seen < bytes) return false;
    now = seen + bytes;
  } while (!limits.committed.compare_exchange_weak(seen, now, std::memory_order_relaxed));
  if (now > soft_mark && seen <= soft_mark) {
    limits.mark_passed.store(true, std::memory_order_relaxed);
  }
  return true;
}

std::size_t uncharge_one(Limits& limits, std::size_t bytes) noexcept {
  const std::size_t before = limits.committed.fetch_sub(bytes, std::memory_order_relaxed);
  TARN_ASSERT(before >= bytes);
  return before;
}

// What was passed by a charge that served nothing was not passed.
void cancel_one(Limits& limits, std::size_t bytes) noexcept {
  const std::size_t before = uncharge_one(limits, bytes);
  const std::size_t soft_mark = limits.soft_mark.load(std::memory_order_relaxed);
  if (before > soft_mark && before - bytes <= soft_mark) {
    limits.mark_passed.store(false, std::memory_order_relaxed);
  }
}

// A peak ends where something is given back: only there it is written down.
void raise_peak(Limits& limits, std::size_t seen) noexcept {
  std::size_t peak = limits.committed_peak.load(std::memory_order_relaxed);
  while (seen > peak && !limits.committed_peak.compare_exchange_weak(peak, seen,
                                                                     std::memory_order_relaxed)) {
  }
}

}  // namespace

HeapRecord* charge(HeapRecord& heap, std::size_t bytes) noexcept {
  for (HeapRecord* r = &heap; r != nullptr; r = r->parent) {
    if (charge_one(r->limits, bytes)) continue;
    for (HeapRecord* below = &heap; below != r; below = below->parent) {
      cancel_one(below->limits, bytes);
    }
    return r;
  }
  return nullptr;
}

void uncharge(HeapRecord& heap, std::size_t bytes) noexcept {
  for (HeapRecord* r = &heap; r != nullptr; r = r->parent) {
    raise_peak(r->limits, uncharge_one(r->limits, bytes));
  }
}

void cancel_charge(HeapRecord& heap, std::size_t bytes) noexcept {
  for (HeapRecord* r = &heap; r != nullptr; r = r->parent) cancel_one(r->limits, bytes);
}

std::size_t committed_peak(const HeapRecord& heap) noexcept {
  const std::size_t now = heap.limits.committed.load(std::memory_order_relaxed);
  const std::size_t peak = heap.limits.committed_peak.load(std::memory_order_relaxed);
  return now > peak ? now : peak;
}

namespace {

struct DueMark {
  HeapRecord* heap = nullptr;
  tarn_heap_mark callback = nullptr;
  tarn_heap called{};
  std::size_t committed = 0;
  void* context = nullptr;
};

// Of a destroyed ancestor only the ceiling is left. A mark that is passed again in its own callback
// stays due.
bool is_due(const HeapRecord& heap) noexcept {
  return heap.limits.mark_callback != nullptr &&
         heap.limits.mark_passed.load(std::memory_order_relaxed) &&
         heap.id.load(std::memory_order_relaxed) != 0 && !Callback::runs(heap, CallbackFor::mark);
}

// The next mark that is due, `generations` or more above the heap, which are then those to the one
// above it. All that the call needs is read here, where the heap cannot end, nor its ancestors'
// records become others'. pre: as marks_due()
bool take_due_mark(HeapRecord& heap, int* generations, DueMark* due) noexcept {
  int above = 0;
  for (HeapRecord* r = &heap; r != nullptr; r = r->parent, ++above) {
    if (above < *generations || !is_due(*r)) continue;
    if (!r->limits.mark_passed.exchange(false, std::memory_order_relaxed)) continue;
    const tarn_heap called = r->handle();
    if (called.id == 0) continue;
    *generations = above + 1;
    *due = {r, r->limits.mark_callback, called,
            r->limits.committed.load(std::memory_order_relaxed), r->limits.context};
    return true;
  }
  return false;
}

}  // namespace

bool marks_due(const HeapRecord& heap) noexcept {
  for (const HeapRecord* r = &heap; r != nullptr; r = r->parent) {
    if (TARN_UNLIKELY(is_due(*r))) return true;
  }
  return false;
}

void call_due_marks(HeapRecord& heap, std::uint64_t id) noexcept {
  for (int generations = 0;;) {
    DueMark due;
    {
      const Visit visit(heap, id);
      if (visit.thread() == nullptr || visit.ended()) return;
      if (!take_due_mark(heap, &generations, &due)) return;
    }
    const Callback running(*due.heap, CallbackFor::mark);
    due.callback(due.called, due.committed, due.context);
  }
}

}  // namespace tarn
