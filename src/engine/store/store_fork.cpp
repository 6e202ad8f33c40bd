// store_fork: the store in the child of a fork whose other threads are gone.
//
// A span that one of them was purging is on a list, whole, and becomes dirty again: it may or may
// not have lost its contents. Addresses that one was giving back may be another mapping's by now,
// so they are left alone; their memory was given back before. What this thread itself was purging
// (it forked in a signal handler) stays with it.
//
// A thread that held the lock may have left lists, joins and cuts half-done, so the lists are built
// again, from the descriptors that can be trusted. A free span is changed only while no entry of
// the page map leads to it: remove_locked() clears its entries before anything else and
// insert_locked() sets them last. So a descriptor that says `clean` or `dirty`, and to which both
// its ends lead, is whole. What was being changed (change_locked) is one dirty span, as nobody has
// it. Others are lost: their memory stays reserved and unused.
//
// SPDX-License-Identifier: MIT
#include "engine/store/store.hpp"
#include "platform/base/check.hpp"

namespace tarn {

void Store::recover_after_fork() noexcept {
  // The survivor may hold the lock itself, in the middle of a change with which it goes on. What
  // others were purging then stays out of use.
  if (lock_.held_by_this_thread()) return;
  if (lock_.recover_after_fork()) {
    repair_lists();
  } else {
    repair_purging();
  }
  TARN_ASSERT(check_locked());
}

void Store::repair_purging() noexcept {
  for (Span* span = purging_.head(); span != nullptr;) {
    Span* const next = span->newer;
    if (span->remote.load(std::memory_order_relaxed) != os::thread_id()) {
      const bool is_ours = span->kind_now() == SpanKind::purging;
      end_purge_locked(span);
      if (is_ours) {
        change_locked(span);
        insert_locked(join_locked(span, SpanKind::dirty), SpanKind::dirty);
        settle_locked();
      } else {
        reserved_slices_ -= span->slices;
        descriptors_.give(span);
      }
    }
    span = next;
  }
}

void Store::repair_lists() noexcept {
  descriptors_.forget_spares();
  records_.repair();
  dirty_ = {};
  clean_ = {};
  by_age_.abandon();
  purging_.abandon();
  purging_slices_ = 0;
  if (change_start_ != nullptr && grown_slices_ != 0) reserved_slices_ = grown_slices_;
  grown_slices_ = 0;
  Span* changed = nullptr;
  descriptors_.for_each([&](Span* span) {
    if (!is_changing(span)) return repair_span(span);
    if (changed != nullptr) descriptors_.give(changed);
    changed = span;
  });
  repair_change(changed);
  repair_purging();
  purge_due_ms_.store(0, std::memory_order_relaxed);
}

bool Store::is_changing(const Span* span) const noexcept {
  return change_start_ != nullptr && span->kind_now() != SpanKind::idle &&
         span->base >= change_start_ && span->base < change_end_;
}

// Makes one dirty span of what was being changed, for which there is some descriptor.
void Store::repair_change(Span* whole) noexcept {
  if (whole != nullptr) {
    TARN_ASSERT(change_start_ < change_end_);
    whole->base = change_start_;
    whole->slices = static_cast<std::uint32_t>((change_end_ - change_start_) >> slice_shift);
    whole->next = nullptr;
    whole->remote.store(0, std::memory_order_relaxed);
    page_map.clear(whole->base, whole->slices);
    insert_locked(whole, SpanKind::dirty);
  }
  settle_locked();
}

// Puts a span that is on no list where it belongs.
void Store::repair_span(Span* span) noexcept {
  TARN_ASSERT(!is_changing(span));
  const SpanKind kind = span->kind_now();
  switch (kind) {
    case SpanKind::idle: return descriptors_.give(span);
    case SpanKind::purging:
    case SpanKind::unmapping:
      purging_.push_back(span);
      purging_slices_ += span->slices;
      return;
    case SpanKind::page:
    case SpanKind::mixed:
    case SpanKind::large:
    case SpanKind::kept:
    case SpanKind::moving:
    case SpanKind::checked:
    case SpanKind::lone:
    case SpanKind::notes:
    case SpanKind::lost: return;
    case SpanKind::clean:
    case SpanKind::dirty: break;
  }
  if (page_map.span_of(span->base) == span && page_map.span_of(span->end() - 1) == span) {
    return insert_locked(span, kind);  // The purge order is lost: that of the records will do.
  }
  span->set_kind(SpanKind::lost);
}

}  // namespace tarn
