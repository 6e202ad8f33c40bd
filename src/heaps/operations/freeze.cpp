// freeze: a heap's memory made read-only, and writable again. Descriptors, counts and lists
// lie elsewhere, so the heap can be walked and asked meanwhile; what would write is kept off:
// slots stay empty, so allocations come to the slow path, and pages have an owner that is nobody,
// so frees do.
//
// SPDX-License-Identifier: MIT
#include "heaps/operations/freeze.hpp"

#include <cerrno>

#include "engine/records/thread_heaps.hpp"
#include "engine/store/store.hpp"
#include "engine/threads/exclusive_pages.hpp"
#include "engine/threads/thread_heap.hpp"
#include "engine/zones/span_source.hpp"
#include "heaps/heap/exclusive.hpp"
#include "heaps/heap/handle.hpp"
#include "platform/base/check.hpp"
#include "platform/os/vm.hpp"

namespace tarn {

namespace {

// Of heaps in the store: each may split a mapping, of which a process has 65,530.
constexpr std::size_t frozen_pieces_max = 16384;
std::atomic<std::size_t> frozen_pieces{0};

// Calls visit(span) for all memory of the heap until it returns false. False then.
template <class Visit>
bool for_each_span(HeapRecord& record, Visit visit) noexcept {
  if (for_each_page(record, [&](Page& page) noexcept { return visit(&page) ? 0 : 1; }) != 0) {
    return false;
  }
  for (Span* s = record.large.head(); s != nullptr; s = s->next_of_heap) {
    if (!visit(s)) return false;
  }
  return record.mixed.page == nullptr || visit(record.mixed.page);
}

std::size_t count_pieces(HeapRecord& record) noexcept {
  if (!record.source.is_store()) return 0;
  std::size_t count = 0;
  for_each_span(record, [&](const Span*) noexcept {
    ++count;
    return true;
  });
  return count;
}

// The pages of a thread that vanished in a fork are on no list that can be trusted.
bool unprotect_lost(ThreadHeap& thread_heap, SpanSource source) noexcept {
  bool done = true;
  const auto unprotect = [&](Span* span) noexcept {
    auto* const page = static_cast<Page*>(span);
    if (span->kind_now() != SpanKind::page || page->heap != &thread_heap) return;
    done = os::vm_protect(span->base, span->bytes(), true) && done;
    page->owner.store(thread_heap.thread, std::memory_order_relaxed);
  };
  store.for_each_span(unprotect);
  source.for_each_own_span(unprotect);
  return done;
}

// To give rights back the kernel may have to split a mapping, and be at its limit: then false, and
// nothing is changed but that some memory is writable.
bool unprotect(HeapRecord& record) noexcept {
  const bool done = for_each_span(
      record, [](Span* span) noexcept { return os::vm_protect(span->base, span->bytes(), true); });
  if (!done) return false;
  for (ThreadHeap* h = record.first_thread_heap; h != nullptr; h = h->next_of_record) {
    if (is_lost(*h) && !unprotect_lost(*h, record.source)) return false;
  }
  for_each_span(record, [](Span* span) noexcept {
    if (span->kind_now() == SpanKind::page) {
      auto* const page = static_cast<Page*>(span);
      TARN_ASSERT(page->heap->thread != nullptr);
      page->owner.store(page->heap->thread, std::memory_order_relaxed);
    }
    return true;
  });
  return true;
}

bool protect(HeapRecord& record) noexcept {
  return for_each_span(record, [](Span* span) noexcept {
    if (span->kind_now() == SpanKind::page) {
      auto* const page = static_cast<Page*>(span);
      TARN_ASSERT(page->owner.load(std::memory_order_relaxed) == page->heap->thread);
      page->owner.store(&frozen_owner, std::memory_order_relaxed);
    }
    return os::vm_protect(span->base, span->bytes(), false);
  });
}

bool freeze(HeapRecord& record) noexcept {
  TARN_ASSERT(exclusive_to_this_thread(record) && !is_frozen(record) && record.checks == nullptr);
  flush_thread_heaps_at_hand(record);
  const std::size_t pieces = count_pieces(record);
  if (frozen_pieces.fetch_add(pieces, std::memory_order_relaxed) + pieces <= frozen_pieces_max) {
    record.frozen.store(Frozen::changing, std::memory_order_relaxed);
    TARN_FORK_FENCE();
    const bool done = protect(record);
    // What cannot be undone stays: then the heap is frozen after all.
    const bool frozen = done || !unprotect(record);
    TARN_FORK_FENCE();
    record.frozen.store(frozen ? Frozen::yes : Frozen::no, std::memory_order_relaxed);
    if (frozen) return true;
  }
  frozen_pieces.fetch_sub(pieces, std::memory_order_relaxed);
  errno = ENOMEM;
  return false;
}

}  // namespace

bool thaw(HeapRecord& record) noexcept {
  TARN_ASSERT(is_frozen(record));
  record.frozen.store(Frozen::changing, std::memory_order_relaxed);
  TARN_FORK_FENCE();
  const bool done = unprotect(record);
  TARN_FORK_FENCE();
  record.frozen.store(done ? Frozen::no : Frozen::yes, std::memory_order_relaxed);
  if (done) {
    frozen_pieces.fetch_sub(count_pieces(record), std::memory_order_relaxed);
  } else {
    errno = ENOMEM;
  }
  return done;
}

void recount_frozen(HeapRecord* first) noexcept {
  std::size_t pieces = 0;
  for (HeapRecord* r = first; r != nullptr; r = r->next_known) {
    if (r->frozen.load(std::memory_order_relaxed) == Frozen::yes) pieces += count_pieces(*r);
  }
  frozen_pieces.store(pieces, std::memory_order_relaxed);
}

bool heap_set_frozen(tarn_heap heap, bool frozen, const char* function) noexcept {
  HeapRecord* const record = heap_lock(heap, function);
  if (record == nullptr) return false;
  bool done = false;
  if (record->walking) {
    errno = EBUSY;
  } else if (record->checks != nullptr || record->hardened) {
    errno = ENOTSUP;
  } else if (frozen == is_frozen(*record)) {
    done = true;
  } else if (frozen) {
    done = freeze(*record);
  } else {
    done = thaw(*record);
  }
  leave_exclusive(*record);
  return done;
}

}  // namespace tarn
