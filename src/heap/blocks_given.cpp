// blocks_given: what is done with a block that its program hands to the library again: freeing off
// the hit path, resizing, asking for its size.
//
// SPDX-License-Identifier: MIT
#include <cerrno>
#include <cstring>

#include "heap/blocks.hpp"
#include "heap/checks.hpp"
#include "heap/ended.hpp"
#include "heap/gate.hpp"
#include "heap/heap_large.hpp"
#include "heap/heap_nursery.hpp"
#include "heap/heap_zone.hpp"
#include "heap/heaps.hpp"
#include "heap/large.hpp"
#include "heap/late.hpp"
#include "heap/lookup.hpp"
#include "heap/passthrough.hpp"
#include "heap/post.hpp"
#include "heap/recovery.hpp"
#include "heap/scope.hpp"
#include "heap/thread_heap.hpp"

namespace tarn {

namespace {

// A block shrinks in place down to this part of its size. Small blocks move early: the copy is
// cheap and many of them wait for a neighbour's size. Large ones move late: who shrinks them often
// grows them again, and what moves is copied twice.
constexpr std::size_t shrink_part(std::size_t size) noexcept {
  return size <= 64 ? size : size <= linear_bytes_max ? 2 : 4;
}

}  // namespace

// Where the page map has no root for an address there is no block either. (The hit path of free has
// no instruction left for that question.)
Span* span_of_block(const void* p, const char* function) noexcept {
  if (TARN_UNLIKELY(address_of(p) >> address_bits != 0)) {
    ended_heaps.report(Misuse::invalid_free, function, p);
  }
  Span* const span = find_span(p);
  switch (span->kind_now()) {
    case SpanKind::page:
      if (static_cast<Page*>(span)->is_block(p)) return span;
      break;
    case SpanKind::large:
      if (span->base == p) return span;
      break;
    case SpanKind::nursery:
      if (nursery_bytes(static_cast<const Page*>(span), p) != 0) return span;
      ended_heaps.report(Misuse::invalid_free, function, p);
    case SpanKind::checked:
    case SpanKind::lone:
      return span;
    case SpanKind::dirty:
    case SpanKind::clean:
    case SpanKind::purging:
    case SpanKind::unmapping:
    case SpanKind::lost:
      ended_heaps.report(Misuse::double_free, function, p);
    case SpanKind::moving:
    case SpanKind::notes:
      break;
    case SpanKind::idle: {
      std::size_t bytes = 0;
      if (passthrough_record(p, &bytes) != nullptr) return span;
      break;
    }
  }
  ended_heaps.report(Misuse::invalid_free, function, p);
}

namespace {

// Of any block but those of the calling thread's own pages.
void take_back(void* p, const Given& given) noexcept {
  if (p == nullptr) return;
  Span* const span = span_of_block(p, given.function);
  const SpanKind kind = span->kind_now();
  auto* const page = static_cast<Page*>(span);
  if (kind == SpanKind::large) {
    return page->record_now() == &main_record ? large_free(span) : heap_large_free(span);
  }
  if (kind == SpanKind::nursery) return nursery_free(page, p);
  if (is_checked(kind)) return checks_free(page, p, given);
  if (kind == SpanKind::idle) {
    if (passthrough_free(p, given)) return;
    report_misuse(Misuse::invalid_free, given.function, p);  // By another thread meanwhile.
  }
  const Thread* const owner = page->owner.load(std::memory_order_relaxed);
  if (owner == &locked_owner) return locked_free(page, p);
  if (TARN_UNLIKELY(owner == &frozen_owner)) report_if_frozen(*record_of(page, p));
  switch (page_free_remote(page, static_cast<Block*>(p))) {
    case RemoteFree::done:
      return;
    case RemoteFree::post:
      return post(page);
    case RemoteFree::dead:
      report_misuse(Misuse::double_free, given.function, p);
  }
}

}  // namespace

void deallocate_slow(void* p, const void* site) noexcept { take_back(p, {"free", site}); }

void deallocate_sized_slow(void* p, std::size_t bytes, const void* site) noexcept {
  // No block has the largest size, which stands for none said.
  take_back(p, {"free", site, bytes == Given::any_bytes ? bytes - 1 : bytes});
}

void deallocate_attention(Page* page) noexcept {
  HeapRecord& record = *page->heap->record;
  for (;;) {
    {
      Busy busy(*current_thread);
      if (TARN_LIKELY(&record == &main_record)) return page_attention(*page);
      if (!closed_by_another(record)) {
        page_attention(*page);
        break;
      }
    }
    wait_at_gate(record);
  }
  if (record.zone != nullptr) tend_zone(record);
}

std::size_t usable_bytes(const void* p, const char* function) noexcept {
  if (p == nullptr) return 0;
  return usable_bytes_in(span_of_block(p, function), p, function);
}

std::size_t usable_bytes_in(Span* span, const void* p, const char* function) noexcept {
  auto* const page = static_cast<Page*>(span);
  switch (span->kind_now()) {
    case SpanKind::page:
      return page->block_bytes;
    case SpanKind::nursery:
      return nursery_bytes(page, p);
    case SpanKind::checked:
    case SpanKind::lone:
      return checks_bytes(page, p, function);
    case SpanKind::idle: {
      std::size_t bytes = 0;
      passthrough_record(p, &bytes);
      return bytes;
    }
    default:
      return span->bytes();
  }
}

bool keeps_place(std::size_t size, std::size_t bytes) noexcept {
  return bytes <= size && bytes >= size / shrink_part(size);
}

namespace {

// What cannot move: it has what was asked for, or the request fails.
void* stay(void* p, bool has_room, int errno_before) noexcept {
  if (!has_room) return nullptr;
  errno = errno_before;
  return p;
}

// Of any block but those that reallocate() serves itself.
TARN_NOINLINE void* reallocate_slow(void* p, std::size_t bytes) noexcept {
  Span* const span = span_of_block(p, "realloc");
  HeapRecord* const record = record_of(span, p);
  const bool large = span->kind_now() == SpanKind::large;
  if (TARN_UNLIKELY(record != &main_record || (!large && span->kind_now() != SpanKind::page))) {
    return heap_reallocate(record->handle(), p, bytes, nullptr, __builtin_return_address(0));
  }
  const std::size_t size = large ? span->bytes() : static_cast<Page*>(span)->block_bytes;
  if (large && bytes > block_bytes_max) {
    for (int tries = 0;; ++tries) {
      void* const resized = large_reallocate(span, bytes);
      if (resized != nullptr) return resized;
      if (recover_for({}, bytes, tries)) continue;
      errno = ENOMEM;
      return nullptr;
    }
  }
  if (keeps_place(size, bytes)) {
    if (large) static_cast<Page*>(span)->set_requested(bytes);
    return p;
  }
  const OutOfScope malloc_itself;  // A block stays in its heap.
  const int saved = errno;
  void* const moved = allocate(bytes);
  if (moved == nullptr) return stay(p, bytes <= size, saved);
  memcpy(moved, p, bytes < size ? bytes : size);
  deallocate(p);
  return moved;
}

// pre: as deallocate_local(); malloc serves the thread from the page's heap
TARN_NOINLINE void* move_local(void* p, std::size_t bytes, Page* page) noexcept {
  const std::size_t size = page->block_bytes;
  const int saved = errno;
  void* const moved = allocate(bytes);
  if (TARN_UNLIKELY(moved == nullptr)) return stay(p, bytes <= size, saved);
  memcpy(moved, p, bytes < size ? bytes : size);
  deallocate_local(p, page);
  return moved;
}

}  // namespace

// In the common case the heap from which malloc serves the thread is the heap of the page. Then it
// is malloc's own: in the scope of another heap that would be a view, which has no pages.
void* reallocate(void* p, std::size_t bytes) noexcept {
  auto* const page = static_cast<Page*>(page_map.span_of(p));
  if (TARN_UNLIKELY(page->owner.load(std::memory_order_relaxed) != current_thread) ||
      TARN_UNLIKELY(page->heap_now() != current_heap) || TARN_UNLIKELY(!page->is_block(p))) {
    return reallocate_slow(p, bytes);
  }
  if (TARN_LIKELY(keeps_place(page->block_bytes, bytes))) return p;
  return move_local(p, bytes, page);
}

}  // namespace tarn
