// lookup: see lookup.hpp.
//
// SPDX-License-Identifier: MIT
#include "heap/lookup.hpp"

#include "heap/blocks.hpp"
#include "heap/checks.hpp"
#include "heap/heap_nursery.hpp"
#include "heap/passthrough.hpp"

namespace tarn {

HeapRecord* record_of_passed(const void* p) noexcept {
  std::size_t bytes = 0;
  HeapRecord* const record = passthrough_record(p, &bytes);
  if (record == nullptr) report_misuse(Misuse::invalid_pointer, "realloc", p);
  return record;
}

tarn_heap heap_of(const void* p) noexcept {
  if (address_of(p) >> address_bits != 0) return {};
  Span* const span = find_span(p);
  auto* const page = static_cast<Page*>(span);
  switch (span->kind_now()) {
    case SpanKind::page:
      return page->is_block(p) ? record_of(span, p)->handle() : tarn_heap{};
    case SpanKind::large:
      return span->base == p ? record_of(span, p)->handle() : tarn_heap{};
    case SpanKind::nursery:
      return nursery_bytes(page, p) != 0 ? record_of(span, p)->handle() : tarn_heap{};
    case SpanKind::checked:
    case SpanKind::lone:
      return checks_has(page, p) ? record_of(span, p)->handle() : tarn_heap{};
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
    case SpanKind::lost:
      break;
  }
  return {};
}

}  // namespace tarn
