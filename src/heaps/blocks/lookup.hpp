// lookup: finds the span and the heap of an address, and how many bytes may be used there; and
// whether what is freed is a live block of malloc's own heap, where that is in doubt.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/records/record.hpp"
#include "engine/records/thread.hpp"
#include "engine/zones/zone.hpp"
#include "heaps/heap/request.hpp"
#include "platform/report/misuse.hpp"

namespace tarn {

// The span at an address, also in a region that the page map does not cover; one of kind idle when
// there is none. pre: p < 2^address_bits
inline Span* find_span(const void* p) noexcept {
  Span* const span = page_map.span_of(p);
  if (TARN_LIKELY(span->kind_now() != SpanKind::idle)) return span;
  Span* const in_region = regions.find(p);
  return in_region != nullptr ? in_region : span;
}

// As span_of_block(), for all that it does not answer itself.
Span* span_of_other_block(const void* p, const char* function) noexcept;

// The page, mixed page or large span of the block at p. Reports, and does not return, when p is no
// block. For a checked span the caller must check p. The foreign span stands for blocks of the
// system's malloc that belong to a heap.
inline Span* span_of_block(const void* p, const char* function) noexcept {
  if (TARN_LIKELY(address_of(p) >> address_bits == 0)) {
    Span* const span = page_map.span_of(p);
    const SpanKind kind = span->kind_now();
    if (kind == SpanKind::page && static_cast<Page*>(span)->is_block(p)) return span;
    if (kind == SpanKind::large && span->base == p) return span;
  }
  return span_of_other_block(p, function);
}

// Bytes that may be used at p. pre: span is span_of_block(p)
std::size_t usable_bytes_in(Span* span, const void* p, const FreeCall& given) noexcept;

// Bytes that may be used at p, which `function` got from its caller, at `site`; 0 for null.
std::size_t usable_bytes(const void* p, const char* function, const void* site = nullptr) noexcept;

// Whether p lies in memory of the library's, or is a block of the system's malloc that belongs to a
// heap: only then may it be given to a function that ends blocks.
bool is_known(const void* p) noexcept;

// A zero handle when p is no block's.
tarn_heap heap_of(const void* p) noexcept;

// The heap of a block of the system's malloc. (passthrough.hpp)
HeapRecord* record_of_passed(const void* p) noexcept;

// The heap of a block whose span this is.
inline HeapRecord* record_of(const Span* span, const void* p) noexcept {
  const auto* const page = static_cast<const Page*>(span);
  HeapRecord* record = nullptr;
  if (span->kind_now() == SpanKind::page) {
    record = page->heap_now()->record;
  } else if (span->kind_now() != SpanKind::idle) {
    record = page->record_now();
  } else {
    record = record_of_passed(p);
  }
  // The mixed page and the checked blocks of a deleted heap stay with its record; the blocks are
  // malloc's.
  return record->id.load(std::memory_order_relaxed) == 0 ? &main_record : record;
}

// Reports p, which lies in a page of a heap and is no live block, and names that heap.
[[noreturn]] void report_in_heap(const Span* span, Misuse kind, const char* function,
                                 const void* p) noexcept;

// The handle of that heap, with the id that it has at this moment.
inline tarn_heap handle_of(const Span* span, const void* p) noexcept {
  HeapRecord* const record = record_of(span, p);
  const tarn_heap heap = record->handle();
  return heap.id != 0 ? heap : main_record.handle();  // Deleted meanwhile.
}

// Suspects: what looks as if it were no live block of malloc's own heap, by its address or by the
// mark of freed blocks (engine/records/thread_cache.hpp); or one of another size than is said.
// Whether a block is free is looked up in the lists that it would be in, whatever the program has
// written to it. What the thread does not own may change meanwhile: of that, only what has the mark
// is followed, so a live block is reported only when a free by another thread has written a mark
// and not yet a link, where the block's last content was an address of what has the mark.
//
// Reports p, and does not return, when it is not the start of a block, or is a free one. Otherwise
// p does not look free any more. pre: p looks free, the tag is that of its slice and of malloc's
void require_live(void* p, const char* function) noexcept;

// Likewise, if the tag of its slice is of malloc's own heap and p looks free.
inline void require_live_if_suspect(SliceTag tag, void* p, const char* function) noexcept {
  if (TARN_UNLIKELY(is_mallocs(tag) && current_thread->cache.looks_free(p))) {
    require_live(p, function);
  }
}

// Report a call that frees a block and says a size that it cannot have.
void require_size(std::size_t size_class, const void* p, const FreeCall& given) noexcept;
// pre: a large block of malloc's own
void require_large_size(const Page& page, const void* p, const FreeCall& given) noexcept;

}  // namespace tarn
