// blocks: see blocks.hpp.
//
// SPDX-License-Identifier: MIT
#include "heap/blocks.hpp"

#include <cerrno>
#include <cstring>

#include "heap/large.hpp"
#include "heap/late.hpp"
#include "heap/orphans.hpp"
#include "heap/thread_heap.hpp"
#include "os/process.hpp"
#include "report/report.hpp"
#include "source/store.hpp"

namespace tarn {

namespace {

void* or_out_of_memory(void* p) noexcept {
  if (TARN_UNLIKELY(p == nullptr)) errno = ENOMEM;
  return p;
}

Thread* this_thread() noexcept {
  return current_thread != no_thread() ? current_thread : thread_start();
}

// A block shrinks in place down to this part of its size. Small blocks move early: the copy is
// cheap and many of them wait for a neighbour's size. Large ones move late: who shrinks them often
// grows them again, and what moves is copied twice.
constexpr std::size_t shrink_part(std::size_t size) noexcept {
  return size <= 64 ? size : size <= linear_bytes_max ? 2 : 4;
}

// pre: size_class < class_count
TARN_NOINLINE void* allocate_class_slow(std::size_t size_class, std::size_t bytes) noexcept {
  if (TARN_UNLIKELY(thread_is_ending)) return or_out_of_memory(late.allocate(size_class));
  Thread* const thread = this_thread();
  if (thread == nullptr) return or_out_of_memory(nullptr);
  Busy busy(*thread);
  ThreadHeap& heap = *current_heap;
  Page* const page = refill(heap, size_class);
  if (page == nullptr) return or_out_of_memory(nullptr);
  ClassCounts& counts = heap.bin(size_class).counts;
  counts.sampled.add(1);
  counts.sampled_bytes.add(bytes);
  return page_pop(page);
}

TARN_INLINE void* allocate_class(std::size_t size_class, std::size_t bytes) noexcept {
  Page* const page = current_heap->current[size_class];
  if (TARN_UNLIKELY(page->free == nullptr)) return allocate_class_slow(size_class, bytes);
  return page_pop(page);
}

// The page or large span whose block `p` is; reports and does not return when there is none.
Span* span_of_block(const void* p, const char* function) noexcept {
  Span* const span = page_map.span_of(p);
  switch (span->kind_now()) {
    case SpanKind::page:
      if (static_cast<Page*>(span)->is_block(p)) return span;
      break;
    case SpanKind::large:
      if (span->base == p) return span;
      break;
    case SpanKind::dirty:
    case SpanKind::clean:
    case SpanKind::purging:
      report_misuse(Misuse::double_free, function, p);
    case SpanKind::idle:
      break;
  }
  report_misuse(Misuse::invalid_free, function, p);
}

}  // namespace

void* allocate_slow(std::size_t bytes) noexcept {
  return allocate_class_slow(linear_class_of(bytes), bytes);
}

void* allocate_stepped(std::size_t bytes) noexcept {
  if (TARN_UNLIKELY(bytes > block_bytes_max)) {
    return or_out_of_memory(large_allocate(bytes, 1, false));
  }
  return allocate_class(stepped_class_of(bytes), bytes);
}

void deallocate_slow(void* p, Page* page) noexcept {
  if (p == nullptr) return;
  Span* const span = span_of_block(p, "free");
  if (span->kind_now() == SpanKind::large) return large_free(span);
  TARN_ASSERT(span == page);
  switch (page_free_remote(page, static_cast<Block*>(p))) {
    case RemoteFree::done:
      return;
    case RemoteFree::post:
      return post(page);
    case RemoteFree::dead:
      report_misuse(Misuse::double_free, "free", p);
  }
}

void deallocate_attention(Page* page) noexcept {
  Busy busy(*current_thread);
  page_attention(*page);
}

void* allocate_zeroed(std::size_t bytes) noexcept {
  if (bytes > block_bytes_max) return or_out_of_memory(large_allocate(bytes, 1, true));
  void* const block = allocate(bytes);
  if (TARN_LIKELY(block != nullptr)) memset(block, 0, bytes);
  return block;
}

void* allocate_aligned(std::size_t bytes, std::size_t alignment) noexcept {
  if (alignment <= block_align) return allocate(bytes);
  if (bytes <= block_bytes_max && alignment <= slice_bytes) {
    const std::size_t size_class = aligned_class_of(bytes, alignment);
    if (size_class < class_count) return allocate_class(size_class, bytes);
  }
  return or_out_of_memory(large_allocate(bytes, alignment, false));
}

std::size_t usable_bytes(const void* p, const char* function) noexcept {
  if (p == nullptr) return 0;
  const Span* const span = span_of_block(p, function);
  return span->kind_now() == SpanKind::page ? static_cast<const Page*>(span)->block_bytes
                                            : span->bytes();
}

void* reallocate(void* p, std::size_t bytes) noexcept {
  Span* const span = span_of_block(p, "realloc");
  const bool large = span->kind_now() == SpanKind::large;
  const std::size_t size = large ? span->bytes() : static_cast<Page*>(span)->block_bytes;
  if (large && bytes > block_bytes_max) return or_out_of_memory(large_reallocate(span, bytes));
  if (bytes <= size && bytes >= size / shrink_part(size)) return p;
  void* const moved = allocate(bytes);
  if (moved == nullptr) return bytes <= size ? p : nullptr;  // What was asked for is there.
  memcpy(moved, p, bytes < size ? bytes : size);
  deallocate(p);
  return moved;
}

std::size_t trim(std::size_t keep_bytes) noexcept {
  if (current_thread != no_thread()) {
    Busy busy(*current_thread);
    put_down_all(*current_thread);
  }
  late.trim();
  orphans.trim();
  return store.purge(os::clock_coarse_ms(), 0, keep_bytes);
}

}  // namespace tarn
