// span_cache: see span_cache.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/threads/span_cache.hpp"

#include <algorithm>
#include <cstring>

#include "engine/pages/seal.hpp"
#include "engine/records/live_bytes.hpp"
#include "engine/records/record.hpp"
#include "engine/records/totals.hpp"
#include "platform/base/check.hpp"
#include "platform/base/fill.hpp"
#include "platform/report/misuse.hpp"

namespace tarn {

namespace {

// A span may be longer than what is asked for by this part.
constexpr std::size_t excess_part = 8;

// How often a span is passed over by span_cache_age() before it goes.
constexpr std::uint8_t looks_most = 2;

// Reports what has been written to a span that is held back for a hardened heap.
void require_unchanged(const Page& page) noexcept {
  const HeapRecord& record = *page.record_now();
  if (!record.hardened) return;
  const std::byte* const changed = first_changed(page.base, page.base + seal_watched_bytes, 0);
  if (TARN_LIKELY(changed == nullptr)) return;
  report_block_misuse({.kind = Misuse::use_after_free,
                       .function = "free",
                       .p = changed,
                       .start = page.base,
                       .bytes = page.requested_now(),
                       .said_bytes = 0,
                       .expected = nullptr,
                       .heap_name = record.name,
                       .heap_id = record.id.load(std::memory_order_relaxed),
                       .allocated_at = nullptr,
                       .freed_at = nullptr,
                       .here = nullptr});
}

// Takes a span out of its place; null when the place is empty.
Span* take_out(SpanCache& cache, std::size_t i) noexcept {
  Span* const span = cache.spans[i].load(std::memory_order_relaxed);
  if (span == nullptr) return nullptr;
  TARN_ASSERT(span->kind_now() == SpanKind::kept);
  cache.spans[i].store(nullptr, std::memory_order_relaxed);
  TARN_FORK_FENCE();
  auto* const page = static_cast<Page*>(span);
  if (TARN_UNLIKELY(page->record_now() != &main_record)) {
    require_unchanged(*page);
    page->set_record(&main_record);
  }
  span->set_kind(SpanKind::large);
  return span;
}

void give_place(SpanCache& cache, std::size_t i) noexcept {
  if (Span* const span = take_out(cache, i)) large_give(span);
}

// Makes room for so many slices, and returns an empty place. Those that came first go first.
std::size_t make_room(SpanCache& cache, std::size_t slices) noexcept {
  TARN_ASSERT(slices <= kept_slices_most);
  std::size_t kept = 0;
  std::size_t empty = SpanCache::places;
  for (std::size_t i = 0; i < SpanCache::places; ++i) {
    const Span* const span = cache.spans[i].load(std::memory_order_relaxed);
    if (span == nullptr) {
      empty = i;
    } else {
      kept += span->slices;
    }
  }
  while (empty == SpanCache::places || (kept != 0 && kept + slices > kept_together_most)) {
    const std::size_t i = cache.next++ % SpanCache::places;
    Span* const span = take_out(cache, i);
    if (span == nullptr) continue;
    kept -= span->slices;
    large_give(span);
    empty = i;
  }
  TARN_ASSERT(empty != SpanCache::places);
  return empty;
}

bool is_small_enough(const Span& span) noexcept {
  if (span.slices <= kept_slices_always) return true;
  if (span.slices > kept_slices_most) return false;
  const std::int64_t live = main_record.live_bytes.load(std::memory_order_relaxed);
  const std::uint64_t share = kept_part * std::max<std::uint64_t>(totals.threads_alive(), 1);
  return span.bytes() <= static_cast<std::uint64_t>(std::max<std::int64_t>(live, 0)) / share;
}

}  // namespace

Span* span_cache_take(Thread& thread, std::size_t slices) noexcept {
  TARN_ASSERT(slices != 0 && &thread != no_thread());
  SpanCache& cache = thread.span_cache;
  std::size_t longer = SpanCache::places;
  for (std::size_t i = 0; i < SpanCache::places; ++i) {
    const Span* const span = cache.spans[i].load(std::memory_order_relaxed);
    if (span == nullptr || span->slices < slices) continue;
    if (span->slices - slices <= slices / excess_part) {
      cache.taken.add(1);
      return take_out(cache, i);
    }
    longer = i;
  }
  // The store may cut what is needed from it, which is warm.
  if (longer != SpanCache::places) give_place(cache, longer);
  return nullptr;
}

bool span_cache_keep(Thread& thread, Span* span) noexcept {
  TARN_ASSERT(span->kind_now() == SpanKind::large && &thread != no_thread());
  if (!is_small_enough(*span)) return false;
  SpanCache& cache = thread.span_cache;
  const std::size_t place = make_room(cache, span->slices);
  span->zeroed = false;
  span->set_kind(SpanKind::kept);
  TARN_FORK_FENCE();
  cache.looks[place] = 0;
  cache.spans[place].store(span, std::memory_order_relaxed);
  return true;
}

bool span_cache_hold(Thread& thread, Span* span) noexcept {
  TARN_ASSERT(static_cast<Page*>(span)->record_now()->hardened);
  if (!is_small_enough(*span)) return false;
  memset(span->base, 0, seal_watched_bytes);
  add_live(main_record, static_cast<std::int64_t>(span->bytes()));
  return span_cache_keep(thread, span);
}

void span_cache_verify(const Thread& thread) noexcept {
  thread.span_cache.for_each(
      [](const Span& span) noexcept { require_unchanged(static_cast<const Page&>(span)); });
}

void span_cache_empty(Thread& thread) noexcept {
  for (std::size_t i = 0; i < SpanCache::places; ++i) give_place(thread.span_cache, i);
}

void span_cache_age(Thread& thread) noexcept {
  SpanCache& cache = thread.span_cache;
  for (std::size_t i = 0; i < SpanCache::places; ++i) {
    if (cache.spans[i].load(std::memory_order_relaxed) == nullptr) continue;
    if (++cache.looks[i] == looks_most) give_place(cache, i);
  }
}

void large_give(Span* span, SpanSource source) noexcept {
  TARN_ASSERT(span->kind_now() == SpanKind::large);
  totals.add_large(-static_cast<std::int64_t>(span->bytes()));
  source.unmap(span, false);
  source.give(span);
}

void large_give(Span* span) noexcept {
  add_live(main_record, -static_cast<std::int64_t>(span->bytes()));
  large_give(span, {});
}

}  // namespace tarn
