// heap_resize: blocks of heaps at a new size, in place or moved.
//
// SPDX-License-Identifier: MIT
#include <cerrno>
#include <cstring>

#include "heap/blocks.hpp"
#include "heap/checks.hpp"
#include "heap/gate.hpp"
#include "heap/handle.hpp"
#include "heap/heap_large.hpp"
#include "heap/heap_zone.hpp"
#include "heap/heaps.hpp"
#include "heap/large.hpp"
#include "heap/limits.hpp"
#include "heap/live_bytes.hpp"
#include "heap/lookup.hpp"
#include "heap/passthrough.hpp"

namespace tarn {

namespace {

bool resize_in_nursery(Page* page, void* p, std::size_t bytes) noexcept {
  HeapRecord& record = *page->record;
  const std::size_t offset = page->offset_of(p);
  os::Locked locked(record.lock);
  Nursery& nursery = record.nursery;
  if (bytes > Nursery::bytes_max || keeps_off(record)) return false;
  const std::size_t end = offset + (bytes == 0 ? 1 : bytes);
  const std::size_t reached = slices_for(end);
  if (reached > nursery.slices_charged) return false;  // Rare enough to be moved.
  const std::size_t before = nursery.size_at(offset);
  if (!nursery.resize(offset, bytes)) return false;
  const std::size_t after = nursery.size_at(offset);
  if (record.secret && after < before) wipe(page->base + offset + after, before - after);
  add_live(record, static_cast<std::int64_t>(after) -
                       static_cast<std::int64_t>(before));
  return true;
}

}  // namespace

bool heap_try_expand(void* p, std::size_t bytes) noexcept {
  if (p == nullptr || bytes > request_bytes_max) return false;
  Span* const span = span_of_block(p, "tarn_heap_try_expand");
  auto* const page = static_cast<Page*>(span);
  if (bytes <= usable_bytes_in(span, p, "tarn_heap_try_expand")) {
    if (span->kind_now() == SpanKind::large && bytes > page->requested_now()) {
      page->set_requested(bytes);
    }
    return true;
  }
  switch (span->kind_now()) {
    case SpanKind::nursery:
      return resize_in_nursery(page, p, bytes);
    case SpanKind::large:
      if (page->record != &main_record) return heap_large_resize(span, bytes, false);
      if (!large_resize(span, slices_for(bytes), nullptr)) return false;
      page->set_requested(bytes);
      return true;
    case SpanKind::checked:
    case SpanKind::lone:
      return checks_resize(page, p, bytes, "tarn_heap_try_expand", Resize::if_fits);
    default:
      return false;
  }
}

void* heap_reallocate(tarn_heap heap, void* p, std::size_t bytes, const char* function,
                      const void* site) noexcept {
  const bool for_realloc = function == nullptr;
  const int saved = errno;
  HeapRecord* const record =
      for_realloc ? static_cast<HeapRecord*>(heap.record) : live_record(heap, function);
  if (record == nullptr) return nullptr;
  Span* const span = span_of_block(p, for_realloc ? "realloc" : function);
  const char* const by = for_realloc ? "realloc" : function;
  const std::size_t size = usable_bytes_in(span, p, by);
  const SpanKind kind = span->kind_now();
  const bool at_home = for_realloc || record_of(span, p) == record;
  if (at_home && is_checked(kind)) {
    if (checks_resize(static_cast<Page*>(span), p, bytes, by, Resize::if_near)) return p;
  } else if (at_home && kind == SpanKind::idle) {
    void* const resized = passthrough_resize(p, bytes, by);
    if (resized != nullptr) return resized;
  } else if (at_home) {
    if (record == &main_record && kind != SpanKind::nursery) return reallocate(p, bytes);
    if (keeps_place(size, bytes)) {
      if (record->secret && !is_frozen(*record)) {
        wipe(static_cast<std::byte*>(p) + bytes, size - bytes);
      }
      if (kind == SpanKind::large) static_cast<Page*>(span)->set_requested(bytes);
      return p;
    }
    if (kind == SpanKind::nursery && resize_in_nursery(static_cast<Page*>(span), p, bytes)) {
      return p;
    }
    if (kind == SpanKind::large && bytes > record->paged_bytes_max() &&
        heap_large_resize(span, bytes, true)) {
      return span->base;
    }
  }
  const bool in_page = at_home && kind == SpanKind::page;
  void* const moved =
      heap_allocate_slow(heap, {.bytes = bytes,
                                .function = function,
                                .site = site,
                                .may_end = for_realloc,
                                .block = in_page ? p : nullptr,
                                .block_class = static_cast<Page*>(span)->size_class});
  if (moved == p) return p;
  if (moved == nullptr && for_realloc && record->id.load(std::memory_order_relaxed) != heap.id) {
    return reallocate(p, bytes);
  }
  if (moved == nullptr) {
    const bool stays = at_home && (is_checked(kind) ? checks_resize(static_cast<Page*>(span), p,
                                                                    bytes, by, Resize::if_fits)
                                                    : bytes <= size);
    if (!stays) return nullptr;
  } else {
    memcpy(moved, p, bytes < size ? bytes : size);
    deallocate(p);
  }
  errno = saved;  // Some way may have failed before another one did it.
  return moved == nullptr ? p : moved;
}

}  // namespace tarn
