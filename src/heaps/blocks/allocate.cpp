// allocate: see allocate.hpp. Mixed pages, large blocks, resizing, beginning and end have files of
// their own.
//
// SPDX-License-Identifier: MIT
#include "heaps/blocks/allocate.hpp"

#include <cerrno>
#include <cstring>

#include "engine/records/class_table.hpp"
#include "engine/records/thread_heaps.hpp"
#include "engine/threads/refill.hpp"
#include "engine/upkeep/upkeep.hpp"
#include "heaps/blocks/lookup.hpp"
#include "heaps/blocks/relief.hpp"
#include "heaps/checked/checks.hpp"
#include "heaps/hardened/hardened.hpp"
#include "heaps/heap/exclusive.hpp"
#include "heaps/heap/handle.hpp"
#include "heaps/heap/heap_large.hpp"
#include "heaps/heap/mixed_blocks.hpp"
#include "heaps/heap/soft_marks.hpp"
#include "heaps/heap/zone_chunks.hpp"
#include "platform/base/check.hpp"

namespace tarn {

namespace {

// How often a chunk is taken for one request: others may use up what it was taken for.
constexpr int growths_max = 8;

// Those of the heap's own classes may be smaller than a mark's end, and have none; and where one
// would be, a block of a hardened heap has its seal.
Block* pop(Page* page) noexcept {
  if (TARN_UNLIKELY(is_hardened(*page))) return hardened_pop(*page);
  return page->size_class < class_count ? page_pop_unmarked(page) : page_pop(page);
}

Attempt from_thread_heap(ThreadHeap& thread_heap, std::size_t size_class,
                         std::size_t bytes) noexcept {
  Page* page =
      thread_heap.find_bin(size_class) == nullptr ? no_page() : thread_heap.current_of(size_class);
  if (page->free == nullptr) {
    thread_heap.refused_by = nullptr;
    page = refill_for(thread_heap, size_class, bytes);
    if (page == nullptr) {
      return {thread_heap.refused_by != nullptr ? Outcome::refused : Outcome::out_of_memory,
              nullptr, thread_heap.refused_by};
    }
  }
  TARN_ASSERT(page->size_class == size_class && page->free != nullptr);
  return {Outcome::done, pop(page), nullptr};
}

Attempt from_locked(HeapRecord& record, std::size_t size_class, const Request& request) noexcept {
  ThreadHeap* const thread_heap = record.first_thread_heap.load(std::memory_order_acquire);
  {
    os::Locked locked(record.lock);
    if (exclusive_to_another(record)) return {Outcome::again, nullptr, nullptr};
    if (is_in_mixed_page(record, size_class)) return mixed_allocate(record, size_class, request);
    if (thread_heap != nullptr) return from_thread_heap(*thread_heap, size_class, request.bytes);
  }
  const bool joined = thread_heaps.join_alone(record, locked_owner) != nullptr;
  return {joined ? Outcome::again : Outcome::out_of_memory, nullptr, nullptr};
}

// no_class when only a large block will do.
std::size_t class_for(HeapRecord& record, const Request& request) noexcept {
  if (request.fixed != nullptr) return request.fixed->size_class;
  if (request.bytes > record.paged_bytes_max() || request.alignment > slice_bytes) {
    return no_class;
  }
  if (TARN_UNLIKELY(record.has_table())) {
    return table_class_of(record, request.bytes, request.alignment);
  }
  if (request.alignment <= block_align) return class_of(request.bytes);
  const std::size_t aligned = aligned_class_of(request.bytes, request.alignment);
  return aligned == class_count ? no_class : aligned;
}

// From the pages of its class, wherever they are.
Attempt from_pages(HeapRecord& record, std::uint64_t id, Thread& thread, std::size_t size_class,
                   const Request& request) noexcept {
  if (record.is_serialised()) return from_locked(record, size_class, request);
  if (record.young.load(std::memory_order_relaxed)) {
    os::Locked locked(record.lock);
    if (exclusive_to_another(record)) return {Outcome::again, nullptr, nullptr};
    if (is_in_mixed_page(record, size_class)) return mixed_allocate(record, size_class, request);
  }
  const HeapSlot& slot = thread.slots[id % heap_slots];
  ThreadHeap* const thread_heap = slot.id.load(std::memory_order_relaxed) == slot_id(record, id)
                                      ? reinterpret_cast<ThreadHeap*>(slot.current)
                                      : thread_heaps.join(record, thread);
  if (thread_heap == nullptr) return {Outcome::out_of_memory, nullptr, nullptr};
  TARN_ASSERT(thread_heap->thread == &thread && thread_heap->record == &record);
  // A thread may have entered its exclusive section meanwhile, and be waiting for this one.
  if (exclusive_to_another(record)) return {Outcome::again, nullptr, nullptr};
  const Attempt attempt = from_thread_heap(*thread_heap, size_class, request.bytes);
  if (request.fixed != nullptr && attempt.outcome == Outcome::done) {
    thread_heaps.join_fixed(*thread_heap, *request.fixed);
  }
  return attempt;
}

// Of a hardened heap, which is neither serialised nor has a table. pre: as try_inside()
Attempt try_hardened(HeapRecord& record, std::uint64_t id, Thread& thread,
                     const Request& request) noexcept {
  Request wanted = request;
  wanted.fixed = nullptr;
  if (request.fixed != nullptr) wanted.bytes = request.fixed->block_bytes;
  if (wanted.bytes > request_bytes_max) return {Outcome::out_of_memory, nullptr, nullptr};
  const Origin origin(wanted.family, wanted.alignment);
  Request sealed = wanted;
  sealed.bytes = hardened_bytes(wanted.bytes);
  const std::size_t size_class = class_for(record, sealed);
  Attempt attempt = size_class == no_class ? Attempt{Outcome::out_of_memory, nullptr, nullptr}
                                           : from_pages(record, id, thread, size_class, sealed);
  if (attempt.outcome == Outcome::done) {
    const auto& page = *static_cast<const Page*>(page_map.span_of(attempt.block));
    hardened_begin(page, attempt.block, From::page, wanted.bytes, origin, wanted.site);
    attempt.zeroed = hardened_bytes(wanted.bytes) <= seal_watched_bytes;
    return attempt;
  }
  if (size_class != no_class) return attempt;
  attempt = heap_large_allocate(record, sealed);
  if (attempt.outcome != Outcome::done) return attempt;
  auto& page = *static_cast<Page*>(page_map.span_of(attempt.block));
  hardened_begin_large(page, wanted.bytes, origin);
  return attempt;
}

// pre: the calling thread is inside the heap
Attempt try_inside(HeapRecord& record, std::uint64_t id, Thread& thread,
                   const Request& request) noexcept {
  if (record.checks != nullptr) return checks_allocate(record, request);
  if (record.hardened) return try_hardened(record, id, thread, request);
  const std::size_t size_class = class_for(record, request);
  TARN_ASSERT(size_class == no_class || block_bytes_of(record, size_class) >= request.bytes);
  if (request.block != nullptr && request.block_class == size_class) {
    return {Outcome::done, request.block, nullptr};
  }
  if (TARN_UNLIKELY(is_frozen(record))) return {Outcome::frozen, nullptr, nullptr};
  if (size_class == no_class) return heap_large_allocate(record, request);
  Attempt attempt = from_pages(record, id, thread, size_class, request);
  const bool has_none =
      attempt.outcome == Outcome::refused || attempt.outcome == Outcome::out_of_memory;
  if (has_none && mixed_has_room(record, size_class, request, attempt)) return attempt;
  if (attempt.outcome != Outcome::refused || size_class >= class_count) return attempt;
  // Where a ceiling leaves less than the class rounds up to, it may do for the block itself.
  if (slices_for(request.bytes) == slices_for(block_bytes_of(record, size_class))) return attempt;
  return heap_large_allocate(record, request);
}

Attempt try_once(HeapRecord& record, std::uint64_t id, const Request& request) noexcept {
  const Visit visit(record, id);
  if (visit.thread() == nullptr) return {Outcome::out_of_memory, nullptr, nullptr};
  if (visit.ended()) return {Outcome::ended, nullptr, nullptr};
  Attempt attempt = try_inside(record, id, *visit.thread(), request);
  attempt.soft_marks_due = soft_marks_due(record);
  return attempt;
}

}  // namespace

void* refill_inside(Page* page, std::size_t bytes) noexcept {
  Thread& thread = *current_thread;
  TARN_ASSERT(thread.inside.load(std::memory_order_relaxed) && page->free == nullptr);
  void* block = nullptr;
  HeapRecord* record = nullptr;
  std::uint64_t due_for = 0;  // The id of the heap, if a mark is.
  if (TARN_LIKELY(page != no_page())) {
    ThreadHeap& thread_heap = *page->heap;
    TARN_ASSERT(thread_heap.thread == &thread && page->kept == -1);
    record = thread_heap.record;
    Busy busy(thread);
    Page* const refilled = refill_for(thread_heap, page->size_class, bytes);
    if (TARN_LIKELY(refilled != nullptr)) block = pop(refilled);
    if (block != nullptr && soft_marks_due(*record)) due_for = record->handle().id;
  }
  thread.inside.store(false, std::memory_order_release);
  count_work(thread);
  if (TARN_UNLIKELY(due_for != 0)) call_due_soft_marks(*record, due_for);
  return block;
}

void* heap_allocate_inside(tarn_heap heap, std::size_t bytes, const char* function,
                           Page** current) noexcept {
  if (TARN_LIKELY(bytes <= block_bytes_max)) {
    Page* const page = current[class_of(bytes)];
    if (page->free != nullptr) {
      void* const block = page_pop_unmarked(page);
      current_thread->inside.store(false, std::memory_order_release);
      return block;
    }
    void* const block = refill_inside(page, bytes);
    if (TARN_LIKELY(block != nullptr)) return block;
  }
  return heap_allocate_slow(heap, {.bytes = bytes, .function = function});
}

void* heap_allocate_slow(tarn_heap heap, const Request& request) noexcept {
  current_thread->inside.store(false, std::memory_order_release);
  HeapRecord* const record =
      request.may_end ? static_cast<HeapRecord*>(heap.record) : live_record(heap, request.function);
  if (record == nullptr) return nullptr;
  TARN_ASSERT(is_power_of_two(request.alignment));
  const UnmetRequest unmet{*record, heap.id, request.bytes};
  int grown = 0;
  for (int relieved = 0;;) {
    const Attempt attempt = try_once(*record, heap.id, request);
    if (request.roomy && attempt.outcome != Outcome::done) return nullptr;
    switch (attempt.outcome) {
      case Outcome::done:
        TARN_ASSERT(address_of(attempt.block) % request.alignment == 0);
        if (attempt.soft_marks_due) call_due_soft_marks(*record, heap.id);
        if (request.zero && !attempt.zeroed) {
          memset(attempt.block, 0, usable_bytes(attempt.block, request.function));
        }
        return attempt.block;
      case Outcome::again: continue;
      case Outcome::refused:
        if (relieve_ceiling(unmet, {attempt.refused_by}, relieved++)) continue;
        break;
      case Outcome::out_of_memory:
        if (record->id.load(std::memory_order_relaxed) != heap.id) break;
        if (grown++ < growths_max && grow_zone(*record, heap.id, request)) continue;
        if (relieve_memory(unmet, relieved++)) continue;
        break;
      case Outcome::frozen: errno = EPERM; return nullptr;
      case Outcome::ended:
        if (request.may_end) return nullptr;
        live_record(heap, request.function);
    }
    errno = ENOMEM;
    return nullptr;
  }
}

}  // namespace tarn
