// store_fork: the store in the child of a fork whose other threads are gone. A thread that held the
// lock may have left lists, joins and cuts half-done, so the lists are built again, from the
// descriptors that can be trusted.
//
// A free span is changed only while no entry of the page map leads to it: remove_locked() clears
// its entries before anything else and insert_locked() sets them last. So a descriptor that says
// `clean` or `dirty`, and to which both its ends lead, is whole. Others that say so count as being
// purged, for good: their memory stays reserved and unused, a few spans at most.
//
// SPDX-License-Identifier: MIT
#include "source/store.hpp"

namespace tarn {

void Store::recover_after_fork() noexcept {
  if (!lock_.recover_after_fork()) return;
  descriptors_.forget_spares();
  records_.repair();
  dirty_ = {};
  clean_ = {};
  newest_ = oldest_ = nullptr;
  purging_slices_ = 0;
  descriptors_.for_each([this](Span* span) {
    const SpanKind kind = span->kind_now();
    switch (kind) {
      case SpanKind::idle:
        return descriptors_.give(span);
      case SpanKind::purging:  // In the hands of a vanished thread, for good.
        purging_slices_ += span->slices;
        return;
      case SpanKind::page:
      case SpanKind::nursery:
      case SpanKind::large:
      case SpanKind::moving:
      case SpanKind::checked:
      case SpanKind::lone:
      case SpanKind::notes:
        return;
      case SpanKind::clean:
      case SpanKind::dirty:
        break;
    }
    if (page_map.span_of(span->base) == span && page_map.span_of(span->end() - 1) == span) {
      return insert_locked(span, kind);  // The purge order is lost: that of the records will do.
    }
    span->set_kind(SpanKind::purging);
    purging_slices_ += span->slices;
  });
  purge_due_ms_.store(0, std::memory_order_relaxed);
}

}  // namespace tarn
