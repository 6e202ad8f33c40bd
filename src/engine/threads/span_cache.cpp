// span_cache: see span_cache.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/threads/span_cache.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "engine/pages/seal.hpp"
#include "engine/records/live_bytes.hpp"
#include "engine/records/record.hpp"
#include "engine/records/totals.hpp"
#include "platform/base/check.hpp"
#include "platform/base/fill.hpp"
#include "platform/os/vm.hpp"
#include "platform/report/misuse.hpp"

namespace tarn {

namespace {

// A span may be longer than what is asked for by this part.
constexpr std::size_t excess_part = 8;

// How often a span is passed over by span_cache_age() before it goes.
constexpr std::uint8_t looks_most = 2;

// Reports what has been written to a span that is held back for a hardened heap, within reach.
void require_unchanged(const Page& page) noexcept {
  const HeapRecord& record = *page.record_now();
  const std::byte* const changed = first_changed(page.base, page.base + seal_watched_bytes, 0);
  if (TARN_LIKELY(changed == nullptr)) return;
  report_block_misuse({.kind = Misuse::use_after_free,
                       .function = "free",
                       .p = changed,
                       .start = page.base,
                       .bytes = page.requested_now(),
                       .heap_name = record.name,
                       .heap_id = record.id.load(std::memory_order_relaxed)});
}

// How many spans are out of reach, of all threads. Each takes two mappings at most, of which a
// process has 65,530; beyond an eighth of these the others stay within reach.
constexpr std::uint32_t closed_spans_most = 4'096;
std::atomic<std::uint32_t> closed_spans{0};

// Puts the span out of reach. False when it stays within, all of it: there are too many, or the OS
// refuses. What it has closed in part, and does not open again, counts as out of reach.
bool close(const Span& span) noexcept {
  if (closed_spans.fetch_add(1, std::memory_order_relaxed) < closed_spans_most) {
    if (os::vm_close(span.base, span.bytes())) return true;
    if (!os::vm_open(span.base, span.bytes())) return true;
  }
  closed_spans.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

bool is_held(const Span& span) noexcept {
  return static_cast<const Page&>(span).record_now() != &main_record;
}

// Lets the span in that place, which is held back for a hardened heap, be used. False while the OS
// does not open it; it takes no memory then.
bool release(const SpanCache& cache, std::size_t i, Page& page) noexcept {
  if (!cache.closed[i]) {
    require_unchanged(page);
    return true;
  }
  if (!os::vm_open(page.base, page.bytes())) {
    os::vm_purge(page.base, page.bytes());
    return false;
  }
  closed_spans.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

// Takes a span out of its place; null when the place is empty, or the span not to be had.
Span* take_out(SpanCache& cache, std::size_t i) noexcept {
  Span* const span = cache.spans[i].load(std::memory_order_relaxed);
  if (span == nullptr) return nullptr;
  TARN_ASSERT(span->kind_now() == SpanKind::kept);
  auto* const page = static_cast<Page*>(span);
  const bool held = is_held(*span);
  if (TARN_UNLIKELY(held) && !release(cache, i, *page)) return nullptr;
  cache.spans[i].store(nullptr, std::memory_order_relaxed);
  TARN_FORK_FENCE();
  if (TARN_UNLIKELY(held)) page->set_record(&main_record);
  span->set_kind(SpanKind::large);
  return span;
}

void give_place(SpanCache& cache, std::size_t i) noexcept {
  if (Span* const span = take_out(cache, i)) large_give(span);
}

// Makes room for so many slices, and returns an empty place; `places` when it cannot. Those that
// came first go first.
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
  std::size_t tries = 0;
  while (empty == SpanCache::places || (kept != 0 && kept + slices > kept_together_most)) {
    if (tries++ == SpanCache::places) return SpanCache::places;
    const std::size_t i = cache.next++ % SpanCache::places;
    Span* const span = take_out(cache, i);
    if (span == nullptr) continue;
    kept -= span->slices;
    large_give(span);
    empty = i;
  }
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
      Span* const taken = take_out(cache, i);
      if (taken != nullptr) cache.taken.add(1);
      return taken;
    }
    longer = i;
  }
  // The store may cut what is needed from it, which is warm.
  if (longer != SpanCache::places) give_place(cache, longer);
  return nullptr;
}

namespace {

// The place that it got; `places`, with nothing done, when there is none. closed: it is to be out
// of reach there.
std::size_t put(SpanCache& cache, Span* span, bool closed) noexcept {
  TARN_ASSERT(span->kind_now() == SpanKind::large);
  if (!is_small_enough(*span)) return SpanCache::places;
  const std::size_t place = make_room(cache, span->slices);
  if (place == SpanCache::places) return place;
  span->zeroed = false;
  span->set_kind(SpanKind::kept);
  cache.looks[place] = 0;
  cache.closed[place] = closed;
  TARN_FORK_FENCE();
  cache.spans[place].store(span, std::memory_order_relaxed);
  return place;
}

}  // namespace

bool span_cache_keep(Thread& thread, Span* span) noexcept {
  TARN_ASSERT(&thread != no_thread());
  return put(thread.span_cache, span, false) != SpanCache::places;
}

bool span_cache_hold(Thread& thread, Span* span) noexcept {
  TARN_ASSERT(&thread != no_thread() && static_cast<Page*>(span)->record_now()->hardened);
  SpanCache& cache = thread.span_cache;
  const auto bytes = static_cast<std::int64_t>(span->bytes());
  add_live(main_record, bytes);
  const std::size_t place = put(cache, span, true);
  if (place == SpanCache::places) {
    add_live(main_record, -bytes);
    return false;
  }
  TARN_FORK_FENCE();
  if (close(*span)) return true;
  memset(span->base, 0, seal_watched_bytes);
  TARN_FORK_FENCE();
  cache.closed[place] = false;
  return true;
}

void span_cache_verify(const Thread& thread) noexcept {
  const SpanCache& cache = thread.span_cache;
  for (std::size_t i = 0; i < SpanCache::places; ++i) {
    const Span* const span = cache.spans[i].load(std::memory_order_relaxed);
    if (span == nullptr || cache.closed[i] || !is_held(*span)) continue;
    require_unchanged(*static_cast<const Page*>(span));
  }
}

void span_cache_empty(Thread& thread) noexcept {
  for (std::size_t i = 0; i < SpanCache::places; ++i) give_place(thread.span_cache, i);
}

void span_cache_age(Thread& thread) noexcept {
  SpanCache& cache = thread.span_cache;
  for (std::size_t i = 0; i < SpanCache::places; ++i) {
    if (cache.spans[i].load(std::memory_order_relaxed) == nullptr) continue;
    if (cache.looks[i] != looks_most) ++cache.looks[i];
    if (cache.looks[i] == looks_most) give_place(cache, i);
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
