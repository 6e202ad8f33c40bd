// blocks: allocate and free, the hit paths inline. Nothing here throws: out of memory (or a size
// above PTRDIFF_MAX) is null, with errno ENOMEM set on the slow path that found out.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>

#include "heap/thread.hpp"
#include "source/zone.hpp"

namespace tarn {

// What a program does to a block is told with the return address of the function that it called:
// `site`. Where none is passed it is that of the callee, to which the compiler jumps.
void* allocate_stepped(std::size_t bytes) noexcept;  // Above linear_bytes_max.
// Any size; the hit path found no block.
void* allocate_slow(std::size_t bytes, const void* site) noexcept;
// Null, foreign, large, checked, or another thread's. `bytes`: as the program says it asked.
void deallocate_slow(void* p, const void* site) noexcept;
void deallocate_sized_slow(void* p, std::size_t bytes, const void* site) noexcept;
void deallocate_attention(Page* page) noexcept;  // The countdown reached zero.

// 14 instructions and 2 branches to the return.
TARN_INLINE void* allocate(std::size_t bytes) noexcept {
  if (TARN_UNLIKELY(bytes > linear_bytes_max)) return allocate_stepped(bytes);
  Page* const page = current_heap->current[linear_class_of(bytes)];
  if (TARN_UNLIKELY(page->free == nullptr)) {
    return allocate_slow(bytes, __builtin_return_address(0));
  }
  return page_pop(page);
}

// pre: the page is the calling thread's own, and p is a block of it.
TARN_INLINE void deallocate_local(void* p, Page* page) noexcept {
  auto* const block = static_cast<Block*>(p);
  block->next = page->local_free;
  page->local_free = block;
  // The last access: who sees the page empty may give it to another heap (retire_empty_pages). The
  // processor keeps the order of stores as far as that is waited for; the compiler would not.
  std::atomic_signal_fence(std::memory_order_release);
  if (TARN_UNLIKELY(--page->countdown == 0)) return deallocate_attention(page);
}

// 20 instructions and 2 branches to the return; null takes the slow path by the owner's test.
TARN_INLINE void deallocate(void* p) noexcept {
  auto* const page = static_cast<Page*>(page_map.span_of(p));
  if (TARN_UNLIKELY(page->owner.load(std::memory_order_relaxed) != current_thread)) {
    return deallocate_slow(p, __builtin_return_address(0));
  }
  deallocate_local(p, page);
}

// As above by a program that says how much it asked for: checked heaps compare.
TARN_INLINE void deallocate_sized(void* p, std::size_t bytes) noexcept {
  auto* const page = static_cast<Page*>(page_map.span_of(p));
  if (TARN_UNLIKELY(page->owner.load(std::memory_order_relaxed) != current_thread)) {
    return deallocate_sized_slow(p, bytes, __builtin_return_address(0));
  }
  deallocate_local(p, page);
}

// All that usable_bytes() says of it reads as zero: programs zero no more when they come to use it.
void* allocate_zeroed(std::size_t bytes) noexcept;

// pre: alignment is a power of two.
void* allocate_aligned(std::size_t bytes, std::size_t alignment) noexcept;

// As realloc for p != null and bytes != 0; on failure null, and the block is as it was.
void* reallocate(void* p, std::size_t bytes) noexcept;

// Bytes that may be used at p, which `function` got from its caller; 0 for null.
std::size_t usable_bytes(const void* p, const char* function) noexcept;

// The span at an address, also in a region that the page map does not cover; one of kind idle when
// there is none. pre: p < 2^address_bits
inline Span* find_span(const void* p) noexcept {
  Span* const span = page_map.span_of(p);
  if (TARN_LIKELY(span->kind_now() != SpanKind::idle)) return span;
  Span* const in_region = regions.find(p);
  return in_region != nullptr ? in_region : span;
}

// The page, nursery or large span whose block `p` is; when there is none, reports and does not
// return. Of a checked span the caller finds out, and the foreign span stands for blocks of the
// system's malloc that are a heap's.
Span* span_of_block(const void* p, const char* function) noexcept;

// Bytes that may be used at p. pre: span is span_of_block(p)
std::size_t usable_bytes_in(Span* span, const void* p, const char* function) noexcept;

// Whether a block of `size` that is to have `bytes` stays where it is.
bool keeps_place(std::size_t size, std::size_t bytes) noexcept;

}  // namespace tarn
