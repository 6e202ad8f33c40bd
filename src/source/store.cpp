// store: taking and giving. Resizing is in store_resize.cpp, purging in store_purge.cpp, what the
// child of a fork does in store_fork.cpp.
//
// SPDX-License-Identifier: MIT
#include "source/store.hpp"

#include "base/check.hpp"
#include "base/config.hpp"
#include "os/process.hpp"
#include "os/vm.hpp"

namespace tarn {

constinit Store store;

namespace {

// A chunk is a quarter of what is reserved already, within these bounds: few mappings for a large
// heap, little address space for a small one.
constexpr std::size_t chunk_slices_min = (std::size_t{4} << 20) >> slice_shift;
constexpr std::size_t chunk_slices_max = (std::size_t{64} << 20) >> slice_shift;

}  // namespace

Span* Store::make_span_locked(std::byte* base, std::size_t slices) noexcept {
  Span* const span = descriptors_.take();
  span->base = base;
  span->slices = static_cast<std::uint32_t>(slices);
  span->next = span->prev = span->newer = span->older = nullptr;
  return span;
}

// A free span is whole while its entries lead to it: see store_fork.cpp.
void Store::insert_locked(Span* span, SpanKind kind) noexcept {
  span->set_kind(kind);
  TARN_FORK_FENCE();
  page_map.set_ends(span);
  if (kind == SpanKind::clean) {
    clean_.insert(span);
    return;
  }
  dirty_.insert(span);
  span->newer = nullptr;
  span->older = newest_;
  (newest_ != nullptr ? newest_->newer : oldest_) = span;
  newest_ = span;
}

void Store::remove_locked(Span* span) noexcept {
  page_map.clear_ends(span->base, span->slices);
  TARN_FORK_FENCE();
  if (span->kind_now() == SpanKind::clean) {
    clean_.remove(span);
    return;
  }
  dirty_.remove(span);
  (span->newer != nullptr ? span->newer->older : newest_) = span->older;
  (span->older != nullptr ? span->older->newer : oldest_) = span->newer;
  span->newer = span->older = nullptr;
}

// Joins a span that is on no list with its free neighbours of the same kind.
Span* Store::join_locked(Span* span, SpanKind kind) noexcept {
  Span* const right = page_map.span_of(span->end());
  if (right->kind_now() == kind && right->base == span->end() &&
      std::size_t{span->slices} + right->slices <= UINT32_MAX) {
    remove_locked(right);
    span->slices += right->slices;
    descriptors_.give(right);
  }
  Span* const left = page_map.span_of(span->base - 1);
  if (left->kind_now() == kind && left->end() == span->base &&
      std::size_t{span->slices} + left->slices <= UINT32_MAX) {
    remove_locked(left);
    span->base = left->base;
    span->slices += left->slices;
    descriptors_.give(left);
  }
  return span;
}

bool Store::grow_locked(std::size_t slices) noexcept {
  if (!descriptors_.provide(1)) return false;
  std::size_t wanted = reserved_slices_ / 4;
  if (wanted < chunk_slices_min) wanted = chunk_slices_min;
  if (wanted > chunk_slices_max) wanted = chunk_slices_max;
  if (wanted < slices) wanted = slices;

  void* chunk = os::vm_reserve(wanted << slice_shift);
  if (chunk == nullptr && wanted > slices) {
    wanted = slices;
    chunk = os::vm_reserve(wanted << slice_shift);
  }
  count_map_call();
  if (chunk == nullptr) return false;
  auto* const base = static_cast<std::byte*>(chunk);
  if (!page_map.cover(base, wanted << slice_shift)) {
    os::vm_release(chunk, wanted << slice_shift);
    return false;
  }
  os::vm_name(chunk, wanted << slice_shift, "tarn: heap");
  reserved_slices_ += wanted;
  insert_locked(join_locked(make_span_locked(base, wanted), SpanKind::clean), SpanKind::clean);
  return true;
}

// Gives free address space back so that a larger piece may be had: the last resort.
bool Store::release_clean_locked() noexcept {
  bool released = false;
  for (Span* span = oldest_; span != nullptr;) {
    Span* const newer = span->newer;
    if (os::vm_purge(span->base, span->bytes())) {
      remove_locked(span);
      insert_locked(join_locked(span, SpanKind::clean), SpanKind::clean);
    }
    span = newer;
  }
  Span* refused = nullptr;  // The OS may say no to one (it would split a mapping), yes to others.
  for (Span* span = clean_.find(1, 1); span != nullptr; span = clean_.find(1, 1)) {
    remove_locked(span);
    if (!os::vm_release(span->base, span->bytes())) {
      span->set_kind(SpanKind::large);
      span->next = refused;
      refused = span;
      continue;
    }
    count_map_call();
    reserved_slices_ -= span->slices;
    descriptors_.give(span);
    released = true;
  }
  while (refused != nullptr) {
    Span* const span = refused;
    refused = span->next;
    span->next = nullptr;
    insert_locked(join_locked(span, SpanKind::clean), SpanKind::clean);
  }
  return released;
}

// A span that is on no list goes back to where it was without its first slices, if any are left.
void Store::put_rest_locked(Span* span, std::size_t slices) noexcept {
  if (span->slices == slices) return descriptors_.give(span);
  span->base += slices << slice_shift;
  span->slices -= static_cast<std::uint32_t>(slices);
  insert_locked(span, span->kind_now());
}

// Cuts what is asked for out of a span that is on no list; the rest goes back to where it was. What
// is taken has a descriptor of the taker's: the one that stays was another thread's, perhaps.
Span* Store::cut_locked(Span* span, std::size_t slices, std::size_t alignment) noexcept {
  const SpanKind kind = span->kind_now();
  const std::uintptr_t first = address_of(span->base) >> slice_shift;
  const std::size_t skipped = align_up(first, alignment) - first;
  if (skipped != 0) {
    Span* const left = make_span_locked(span->base, skipped);
    left->stamp_ms = span->stamp_ms;
    span->base += skipped << slice_shift;
    span->slices -= static_cast<std::uint32_t>(skipped);
    insert_locked(left, kind);
  }
  Span* taken = span;
  if (span->slices != slices || !Descriptors::is_near(span)) {
    taken = make_span_locked(span->base, slices);
    put_rest_locked(span, slices);
  }
  taken->zeroed = kind == SpanKind::clean;
  taken->set_kind(SpanKind::large);  // In use, whatever for: no neighbour may join it.
  return taken;
}

Span* Store::find_locked(std::size_t slices, std::size_t alignment) noexcept {
  Span* span = dirty_.find(slices, alignment);
  if (span == nullptr) span = clean_.find(slices, alignment);
  if (span == nullptr && alignment > 1) {
    const std::size_t room = slices + alignment - 1;  // Holds wherever it begins.
    span = dirty_.find(room, 1);
    if (span == nullptr) span = clean_.find(room, 1);
  }
  return span;
}

// Room for a quarter more, so that a block which grows in small steps is not copied at each.
Span* Store::find_roomy_locked(std::size_t slices, Fit fit) noexcept {
  const std::size_t room = slices + slices / 4;
  Span* const span = dirty_.find(room, 1);
  return span != nullptr || fit == Fit::roomy ? span : clean_.find(room, 1);
}

// The smallest that fits, or a new chunk; giving all free memory back is the last resort.
Span* Store::find_or_grow_locked(std::size_t slices, std::size_t alignment) noexcept {
  // Two to cut, one for a new chunk. Giving free memory back makes spares where none can be had.
  if (!descriptors_.provide(3) && !(release_clean_locked() && descriptors_.provide(3))) {
    return nullptr;
  }
  Span* const span = find_locked(slices, alignment);
  if (span != nullptr) return span;
  const std::size_t room = slices + alignment - 1;
  if (!grow_locked(room) && !(release_clean_locked() && grow_locked(room))) return nullptr;
  return find_locked(slices, alignment);
}

Span* Store::take_locked(std::size_t slices, std::size_t alignment, Fit fit) noexcept {
  Span* const span = fit == Fit::warm ? find_or_grow_locked(slices, alignment)
                                      : find_roomy_locked(slices, fit);
  if (span == nullptr || !descriptors_.provide(2)) return nullptr;
  remove_locked(span);
  Span* const taken = cut_locked(span, slices, alignment);
  note_committed_locked();
  return taken;
}

void Store::note_committed_locked() noexcept {
  const std::size_t committed = reserved_slices_ - clean_.slices();
  if (committed > committed_slices_peak_) committed_slices_peak_ = committed;
}

Span* Store::take(std::size_t slices, std::size_t alignment, Fit fit) noexcept {
  if (slices > span_slices_max || alignment > span_slices_max - slices) return nullptr;
  os::Locked locked(lock_);
  return take_locked(slices, alignment, fit);
}

void Store::give(Span* span) noexcept {
  TARN_ASSERT(span->slices != 0);
  TARN_ASSERT(span->kind_now() == SpanKind::large || span->kind_now() == SpanKind::page);
  const std::uint64_t now = os::clock_coarse_ms();
  {
    os::Locked locked(lock_);
    span = join_locked(span, SpanKind::dirty);
    span->stamp_ms = now;
    insert_locked(span, SpanKind::dirty);
  }
  // Relaxed: a hint; purge() looks again under the lock.
  if (now >= purge_due_ms_.load(std::memory_order_relaxed)) {
    purge(now, purge_delay_ms_.load(std::memory_order_relaxed),
          purge_keep_slices_.load(std::memory_order_relaxed) << slice_shift);
  }
}

void* Store::allocate_record(std::size_t bytes) noexcept {
  os::Locked locked(lock_);
  void* const record = records_.allocate(bytes);
  if (record != nullptr || !release_clean_locked()) return record;
  return records_.allocate(bytes);
}

Span* Store::lend_descriptor() noexcept {
  os::Locked locked(lock_);
  if (!descriptors_.provide(1)) return nullptr;
  Span* const span = make_span_locked(nullptr, 0);
  span->set_kind(SpanKind::large);  // In use by nobody, until it has a place.
  span->zeroed = false;
  return span;
}

void Store::return_descriptor(Span* span) noexcept {
  os::Locked locked(lock_);
  descriptors_.give(span);
}

bool Store::cover(const std::byte* start, std::size_t bytes) noexcept {
  os::Locked locked(lock_);
  return page_map.cover(start, bytes);
}

bool Store::cover_from_static(const std::byte* start, std::size_t bytes) noexcept {
  os::Locked locked(lock_);
  return page_map.cover_from_static(start, bytes);
}

void Store::configure(std::uint64_t purge_delay_ms, std::size_t purge_keep_bytes) noexcept {
  purge_delay_ms_.store(purge_delay_ms, std::memory_order_relaxed);
  purge_keep_slices_.store(purge_keep_bytes >> slice_shift, std::memory_order_relaxed);
  // What is free may be older than a shorter delay already.
  purge_due_ms_.store(0, std::memory_order_relaxed);
}

StoreTotals Store::totals() noexcept {
  os::LockedUnlessHeld locked(lock_);
  StoreTotals t;
  const auto elsewhere =
      static_cast<std::size_t>(elsewhere_bytes_.load(std::memory_order_relaxed));
  t.reserved_bytes = (reserved_slices_ << slice_shift) + descriptors_.bytes_reserved() +
                     records_.bytes_reserved() + elsewhere;
  t.committed_bytes = ((reserved_slices_ - clean_.slices()) << slice_shift) + elsewhere;
  t.committed_bytes_peak = (committed_slices_peak_ << slice_shift) + elsewhere;
  t.map_calls = map_calls_.load(std::memory_order_relaxed);
  t.purge_calls = purge_calls_;
  t.purged_bytes = purged_slices_ << slice_shift;
  return t;
}

bool Store::check() noexcept {
  os::Locked locked(lock_);
  if (!dirty_.check(SpanKind::dirty) || !clean_.check(SpanKind::clean)) return false;
  if (!descriptors_.check()) return false;
  std::size_t ordered = 0;
  const Span* before = nullptr;
  for (const Span* s = oldest_; s != nullptr; s = s->newer) {
    if (s->older != before || s->kind_now() != SpanKind::dirty) return false;
    if (page_map.span_of(s->base) != s || page_map.span_of(s->end() - 1) != s) return false;
    ordered += s->slices;
    before = s;
  }
  return before == newest_ && ordered == dirty_.slices() &&
         dirty_.slices() + clean_.slices() + purging_slices_ <= reserved_slices_;
}

}  // namespace tarn
