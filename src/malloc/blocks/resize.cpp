// resize: see resize.hpp.
//
// SPDX-License-Identifier: MIT
#include "malloc/blocks/resize.hpp"

#include <cerrno>
#include <cstring>

#include "engine/records/thread_default.hpp"
#include "heaps/blocks/allocate.hpp"
#include "heaps/blocks/lookup.hpp"
#include "heaps/checked/checks.hpp"
#include "heaps/hardened/hardened.hpp"
#include "heaps/heap/handle.hpp"
#include "heaps/heap/heap_large.hpp"
#include "heaps/heap/large.hpp"
#include "heaps/heap/mixed_blocks.hpp"
#include "heaps/heap/recovery.hpp"
#include "malloc/blocks/allocate.hpp"
#include "malloc/blocks/free.hpp"
#include "malloc/process/process.hpp"
#include "platform/base/check.hpp"
#include "platform/base/fill.hpp"

namespace tarn {

namespace {

// A block shrinks in place down to this part of its size. Small blocks move early: the copy is
// cheap, and many of them wait for a neighbour's size. Large ones move late: a program that shrinks
// them often grows them again, and every move copies.
constexpr std::size_t shrink_part(std::size_t size) noexcept {
  return size <= 64 ? size : size <= linear_bytes_max ? 2 : 4;
}

// For a block that cannot move: it is large enough already, or the request fails.
void* stay(void* p, bool has_room, int errno_before) noexcept {
  if (!has_room) return nullptr;
  errno = errno_before;
  return p;
}

// A resize: the block is to have `bytes`, in that heap.
struct Wanted {
  tarn_heap heap;
  std::size_t bytes;
  const char* function;  // Of the program's call.
  const void* site;
  Family family;
  bool may_end;  // The heap is only known from the block: it may have been deleted meanwhile.

  HeapRecord& record() const noexcept { return *static_cast<HeapRecord*>(heap.record); }
  FreeCall call() const noexcept { return {function, site, FreeCall::any_bytes, Origin(family)}; }
};

// A large block of malloc's that stays one; null when out of memory.
void* resize_large(Span* span, std::size_t bytes) noexcept {
  TARN_ASSERT(static_cast<Page*>(span)->record_now() == &main_record);
  for (int tries = 0;; ++tries) {
    void* const resized = large_reallocate(span, bytes);
    if (resized != nullptr) return resized;
    if (recover_for({}, bytes, tries)) continue;
    errno = ENOMEM;
    return nullptr;
  }
}

// In its place, or moved as a whole span, if it may; null when the contents have to be copied.
void* resize_at_home(Span* span, void* p, std::size_t size, const Wanted& wanted,
                     bool may_move) noexcept {
  HeapRecord& record = wanted.record();
  auto* const page = static_cast<Page*>(span);
  const SpanKind kind = span->kind_now();
  const std::size_t bytes = wanted.bytes;
  if (is_checked(kind)) {
    return checks_resize(page, p, bytes, wanted.call(), Resize::if_near) ? p : nullptr;
  }
  if (kind == SpanKind::idle) return checks_resize_passed(p, bytes, wanted.call());
  if (TARN_UNLIKELY(record.hardened)) {
    const bool is_large = kind == SpanKind::large;
    const bool stays = is_large ? bytes > record.paged_bytes_max()
                                : keeps_place(page->block_bytes - seal_bytes, bytes);
    return stays ? hardened_resize(*page, p, bytes, may_move) : nullptr;
  }
  if (keeps_place(size, bytes)) {
    if (record.secret && !is_frozen(record)) wipe(static_cast<std::byte*>(p) + bytes, size - bytes);
    if (kind == SpanKind::large) page->set_requested(bytes);
    return p;
  }
  if (kind == SpanKind::mixed) return mixed_resize(page, p, bytes) ? p : nullptr;
  const bool stays_large = kind == SpanKind::large && bytes > record.paged_bytes_max();
  return stays_large && heap_large_resize(span, bytes, may_move) ? span->base : nullptr;
}

// roomy: as in Request.
void* allocate_wanted(Span* span, void* p, bool at_home, const Wanted& wanted,
                      bool roomy = false) noexcept {
  if (&wanted.record() == &main_record) {
    const WithoutDefaultHeap malloc_itself;
    return allocate(wanted.bytes);
  }
  const bool in_page = at_home && span->kind_now() == SpanKind::page;
  return heap_allocate_slow(wanted.heap, {.bytes = wanted.bytes,
                                          .roomy = roomy,
                                          .function = wanted.function,
                                          .family = wanted.family,
                                          .site = wanted.site,
                                          .may_end = wanted.may_end,
                                          .block = in_page ? p : nullptr,
                                          .block_class = static_cast<Page*>(span)->size_class});
}

// Null with errno set, and the block as it was, when it cannot be; and when the heap has ended.
void* resize(Span* span, void* p, const Wanted& wanted) noexcept {
  const int saved = errno;
  HeapRecord& record = wanted.record();
  const std::size_t bytes = wanted.bytes;
  const std::size_t size = usable_bytes_in(span, p, wanted.call());
  const bool checked = is_checked(span->kind_now());
  const bool at_home = record_of(span, p) == &record;
  if (at_home) {
    const bool large = span->kind_now() == SpanKind::large && bytes > block_bytes_max;
    if (large && &record == &main_record) return resize_large(span, bytes);
  }
  // A large block that grows is best copied to where there is room, if not where it is.
  const bool copies = at_home && bytes > size && heap_large_copies(record, *span);
  void* resized = at_home ? resize_at_home(span, p, size, wanted, !copies) : nullptr;
  void* moved = nullptr;
  if (resized == nullptr && copies) {
    moved = allocate_wanted(span, p, at_home, wanted, true);
    if (moved == nullptr) resized = resize_at_home(span, p, size, wanted, true);
  }
  if (resized != nullptr) return stay(resized, true, saved);
  if (moved == nullptr) moved = allocate_wanted(span, p, at_home, wanted);
  if (moved == p) return p;
  if (moved != nullptr) {
    TARN_ASSERT(usable_bytes(moved, wanted.function) >= bytes);
    // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): a block to resize is not null.
    memcpy(moved, p, bytes < size ? bytes : size);
    deallocate_in(static_cast<Page*>(span), p);
    return stay(moved, true, saved);  // Some way may have failed before another one did it.
  }
  if (!at_home) return nullptr;
  auto* const page = static_cast<Page*>(span);
  const bool has_room =
      checked ? checks_resize(page, p, bytes, wanted.call(), Resize::if_fits) : bytes <= size;
  if (has_room && record.hardened) {
    hardened_resize(*page, p, bytes, false);
  } else if (has_room && span->kind_now() == SpanKind::large) {
    page->set_requested(bytes);  // It is as large as it was; what is said of its size is this.
  }
  return stay(p, has_room, saved);
}

// pre: the page is malloc's heap's, and malloc serves the thread from that heap
TARN_NOINLINE void* move(Page* page, void* p, std::size_t bytes) noexcept {
  TARN_ASSERT(page->is_block(p) && page->heap_now()->record == &main_record);
  const std::size_t size = page->block_bytes;
  const int saved = errno;
  void* const moved = allocate(bytes);
  if (TARN_UNLIKELY(moved == nullptr)) return stay(p, bytes <= size, saved);
  memcpy(moved, p, bytes < size ? bytes : size);
  deallocate(p);
  return moved;
}

// Of any block but those that reallocate() serves itself. The block stays in its heap; if that is
// deleted meanwhile, it is malloc's.
TARN_NOINLINE void* reallocate_slow(void* p, std::size_t bytes) noexcept {
  const void* const site = __builtin_return_address(0);
  for (;;) {
    Span* const span = span_of_block(p, "realloc");
    auto* const page = static_cast<Page*>(span);
    require_live_if_suspect(page_map.tag_of(p), p, "realloc");
    if (span->kind_now() == SpanKind::page && page->heap_now()->record == &main_record &&
        !has_other_default_heap()) {  // Another thread's.
      return keeps_place(page->block_bytes, bytes) ? p : move(page, p, bytes);
    }
    const tarn_heap heap = handle_of(span, p);
    const Family family = process.remembers_families() ? Family::malloc : Family::any;
    void* const resized = resize(span, p, {heap, bytes, "realloc", site, family, true});
    const bool ended =
        static_cast<HeapRecord*>(heap.record)->id.load(std::memory_order_relaxed) != heap.id;
    if (resized != nullptr || !ended) return resized;
  }
}

}  // namespace

bool keeps_place(std::size_t size, std::size_t bytes) noexcept {
  return bytes <= size && bytes >= size / shrink_part(size);
}

// In the common case the page belongs to the heap from which malloc serves the thread. That is
// malloc's own heap then: a thread with a default heap reads a view whose key no page has.
void* reallocate(void* p, std::size_t bytes) noexcept {
  const PageMap::Slice slice = page_map.slice_of(p);
  const ThreadCache& cache = current_serving->cache;
  if (TARN_UNLIKELY(!cache.has(slice.tag()) || cache.looks_free(p))) {
    return reallocate_slow(p, bytes);
  }
  auto* const page = static_cast<Page*>(page_map.span_of(slice));
  if (TARN_UNLIKELY(!page->is_block(p))) return reallocate_slow(p, bytes);
  if (TARN_LIKELY(keeps_place(page->block_bytes, bytes))) return p;
  return move(page, p, bytes);
}

void* heap_reallocate(tarn_heap heap, void* p, std::size_t bytes, const char* function,
                      const void* site) noexcept {
  if (live_record(heap, function) == nullptr) return nullptr;
  return resize(span_of_block(p, function), p, {heap, bytes, function, site, Family::any, false});
}

bool heap_try_expand(void* p, std::size_t bytes, const void* site) noexcept {
  if (p == nullptr || bytes > request_bytes_max) return false;
  const FreeCall given{"tarn_heap_try_expand", site};
  Span* const span = span_of_block(p, given.function);
  auto* const page = static_cast<Page*>(span);
  if (bytes <= usable_bytes_in(span, p, given)) {
    if (span->kind_now() == SpanKind::large && bytes > page->requested_now()) {
      page->set_requested(bytes);
    }
    return true;
  }
  if (TARN_UNLIKELY(record_of(span, p)->hardened)) {
    return hardened_resize(*page, p, bytes, false) != nullptr;
  }
  switch (span->kind_now()) {
    case SpanKind::mixed: return mixed_resize(page, p, bytes);
    case SpanKind::large:
      if (page->record != &main_record) return heap_large_resize(span, bytes, false);
      if (!large_resize(span, slices_for(bytes), {})) return false;
      page->set_requested(bytes);
      return true;
    case SpanKind::checked:
    case SpanKind::lone: return checks_resize(page, p, bytes, given, Resize::if_fits);
    default: return false;
  }
}

}  // namespace tarn
