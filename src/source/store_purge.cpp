// store_purge: giving memory back. Old dirty spans leave the bins under the lock, lose their pages
// outside it, and come back clean; meanwhile their kind is `purging`, so that no neighbour joins
// them.
//
// SPDX-License-Identifier: MIT
#include "base/check.hpp"
#include "os/vm.hpp"
#include "source/store.hpp"

namespace tarn {

namespace {
constexpr int batch_spans = 32;  // Spans that one pass takes off the lists.

// From this size on address space goes back too: it costs one call, and limits may count it.
constexpr std::size_t release_slices_min = (std::size_t{128} << 20) >> slice_shift;
}  // namespace

Span* Store::collect_old_locked(std::uint64_t now_ms, std::uint64_t delay_ms,
                                std::size_t keep_slices) noexcept {
  Span* batch = nullptr;
  for (int i = 0; i < batch_spans && oldest_ != nullptr; ++i) {
    Span* const span = oldest_;
    if (now_ms < span->stamp_ms + delay_ms) {  // A stamp may be younger than now_ms.
      purge_due_ms_.store(span->stamp_ms + delay_ms, std::memory_order_relaxed);
      break;
    }
    if (dirty_.slices() < keep_slices + span->slices) {
      purge_due_ms_.store(now_ms + delay_ms, std::memory_order_relaxed);
      break;
    }
    remove_locked(span);
    span->set_kind(SpanKind::purging);
    purging_slices_ += span->slices;
    span->next = batch;
    batch = span;
  }
  if (oldest_ == nullptr) purge_due_ms_.store(now_ms + delay_ms, std::memory_order_relaxed);
  return batch;
}

void Store::finish_purged_locked(Span* span, bool purged) noexcept {
  purging_slices_ -= span->slices;
  if (!purged) {
    insert_locked(span, SpanKind::dirty);
    return;
  }
  ++purge_calls_;
  purged_slices_ += span->slices;
  insert_locked(join_locked(span, SpanKind::clean), SpanKind::clean);
}

// A span that is being purged loses its contents, or the process its addresses. False when the OS
// refuses: then it is dirty.
bool Store::drop(Span* span, std::uint64_t now_ms) noexcept {
  if (span->slices >= release_slices_min && os::vm_release(span->base, span->bytes())) {
    count_map_call();
    os::Locked locked(lock_);
    purging_slices_ -= span->slices;
    reserved_slices_ -= span->slices;
    descriptors_.give(span);
    return true;
  }
  const bool purged = os::vm_purge(span->base, span->bytes());
  os::Locked locked(lock_);
  span->stamp_ms = now_ms;
  finish_purged_locked(span, purged);
  return purged;
}

std::size_t Store::purge(std::uint64_t now_ms, std::uint64_t delay_ms,
                         std::size_t keep_bytes) noexcept {
  std::size_t given = 0;
  bool refused = false;
  for (;;) {
    Span* batch = nullptr;
    {
      os::Locked locked(lock_);
      batch = collect_old_locked(now_ms, delay_ms, keep_bytes >> slice_shift);
    }
    if (batch == nullptr || refused) {
      TARN_ASSERT(batch == nullptr);
      return given;
    }
    while (batch != nullptr) {
      Span* const span = batch;
      batch = span->next;
      span->next = nullptr;
      const std::size_t bytes = span->bytes();
      const bool dropped = drop(span, now_ms);
      if (dropped) given += bytes;
      refused = refused || !dropped;
    }
    if (refused) return given;
  }
}

std::size_t Store::purge_some(std::uint64_t now_ms, std::size_t wanted) noexcept {
  std::size_t dirty = 0;
  {
    os::Locked locked(lock_);
    dirty = dirty_.slices() << slice_shift;
  }
  // What is to stay may end in the middle of a span, which then stays whole.
  const std::size_t given = wanted < dirty ? purge(now_ms, 0, dirty - wanted) : 0;
  return given >= wanted ? given : given + purge(now_ms, 0, 0);
}

}  // namespace tarn
