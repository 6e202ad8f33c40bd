// lookup: see lookup.hpp.
//
// SPDX-License-Identifier: MIT
#include "heaps/blocks/lookup.hpp"

#include "engine/records/tombstones.hpp"
#include "heaps/checked/checks.hpp"
#include "heaps/checked/passthrough.hpp"
#include "heaps/heap/mixed_blocks.hpp"
#include "platform/base/check.hpp"
#include "platform/report/report.hpp"

namespace tarn {

void report_in_heap(const Span* span, Misuse kind, const char* function, const void* p) noexcept {
  tombstones.report_if_known(function, p);  // Of a heap that had the memory before.
  const HeapRecord* const record = record_of(span, p);
  const std::uint64_t id = record->id.load(std::memory_order_relaxed);
  if (record == &main_record || id == 0) report_misuse(kind, function, p);
  report_misuse_in(kind, function, p, record->name, id);
}

// Where the page map has no root for an address there is no block either. (The hit path of free has
// no instruction left for that question.)
Span* span_of_other_block(const void* p, const char* function) noexcept {
  if (TARN_UNLIKELY(address_of(p) >> address_bits != 0)) {
    tombstones.report(Misuse::invalid_free, function, p);
  }
  Span* const span = find_span(p);
  switch (span->kind_now()) {
    case SpanKind::page:
      if (static_cast<Page*>(span)->is_block(p)) return span;
      report_in_heap(span, Misuse::invalid_free, function, p);
    case SpanKind::large:
      if (span->base == p) return span;
      break;
    case SpanKind::mixed:
      if (mixed_bytes(static_cast<const Page*>(span), p) != 0) return span;
      report_in_heap(span,
                     mixed_is_free(static_cast<const Page*>(span), p) ? Misuse::double_free
                                                                      : Misuse::invalid_free,
                     function, p);
    case SpanKind::checked:
    case SpanKind::lone: return span;
    case SpanKind::dirty:
    case SpanKind::clean:
    case SpanKind::purging:
    case SpanKind::unmapping:
    case SpanKind::kept:
    case SpanKind::lost: tombstones.report(Misuse::double_free, function, p);
    case SpanKind::moving:
    case SpanKind::notes: break;
    case SpanKind::idle: {
      std::size_t bytes = 0;
      if (passthrough_record(p, &bytes) != nullptr) return span;
      break;
    }
  }
  tombstones.report(Misuse::invalid_free, function, p);
}

std::size_t usable_bytes(const void* p, const char* function, const void* site) noexcept {
  if (p == nullptr) return 0;
  return usable_bytes_in(span_of_block(p, function), p, {function, site});
}

std::size_t usable_bytes_in(Span* span, const void* p, const FreeCall& given) noexcept {
  auto* const page = static_cast<Page*>(span);
  switch (span->kind_now()) {
    case SpanKind::page: TARN_ASSERT(page->is_block(p)); return page->block_bytes;
    case SpanKind::mixed: return mixed_bytes(page, p);
    case SpanKind::checked:
    case SpanKind::lone: return checks_bytes(page, p, given);
    case SpanKind::idle: {
      std::size_t bytes = 0;
      passthrough_record(p, &bytes);
      return bytes;
    }
    default: TARN_ASSERT(span->kind_now() == SpanKind::large); return span->bytes();
  }
}

HeapRecord* record_of_passed(const void* p) noexcept {
  std::size_t bytes = 0;
  HeapRecord* const record = passthrough_record(p, &bytes);
  if (record == nullptr) report_misuse(Misuse::invalid_pointer, "realloc", p);
  return record;
}

bool is_known(const void* p) noexcept {
  if (address_of(p) >> address_bits != 0) return false;
  if (find_span(p)->kind_now() != SpanKind::idle) return true;
  std::size_t bytes = 0;
  return passthrough_record(p, &bytes) != nullptr;
}

tarn_heap heap_of(const void* p) noexcept {
  if (address_of(p) >> address_bits != 0) return {};
  Span* const span = find_span(p);
  auto* const page = static_cast<Page*>(span);
  switch (span->kind_now()) {
    case SpanKind::page: return page->is_block(p) ? handle_of(span, p) : tarn_heap{};
    case SpanKind::large: return span->base == p ? handle_of(span, p) : tarn_heap{};
    case SpanKind::mixed: return mixed_bytes(page, p) != 0 ? handle_of(span, p) : tarn_heap{};
    case SpanKind::checked:
    case SpanKind::lone: return checks_has(page, p) ? handle_of(span, p) : tarn_heap{};
    case SpanKind::idle: {
      std::size_t bytes = 0;
      HeapRecord* const record = passthrough_record(p, &bytes);
      if (record == nullptr) break;
      const tarn_heap heap = record->handle();
      return heap.id == 0 ? main_record.handle() : heap;
    }
    case SpanKind::moving:
    case SpanKind::notes:
    case SpanKind::clean:
    case SpanKind::dirty:
    case SpanKind::purging:
    case SpanKind::unmapping:
    case SpanKind::kept:
    case SpanKind::lost: break;
  }
  return {};
}

}  // namespace tarn
