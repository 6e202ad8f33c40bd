// store: taking and giving. Resizing is in store_resize.cpp, purging in store_purge.cpp, huge pages
// in store_huge.cpp, what the child of a fork does in store_fork.cpp.
//
// SPDX-License-Identifier: MIT
#include "engine/store/store.hpp"

#include "platform/base/check.hpp"
#include "platform/base/config.hpp"
#include "platform/os/process.hpp"
#include "platform/os/vm.hpp"

namespace tarn {

constinit Store store;
constinit PurgePolicy policy;

namespace {

// A free span is found from both of its ends.
bool leads_to(const Span* span) noexcept {
  return page_map.span_of(span->base) == span && page_map.span_of(span->end() - 1) == span;
}

// The next two are for assertions.
[[maybe_unused]] bool leads_to_or_nowhere(const std::byte* p, const Span* span) noexcept {
  return page_map.span_of(p) == span || page_map.span_of(p) == page_map.foreign();
}
[[maybe_unused]] bool is_in_use(const Span* span) noexcept {
  return span->kind_now() == SpanKind::large || span->kind_now() == SpanKind::page;
}

}  // namespace

Span* Store::make_span_locked(std::byte* base, std::size_t slices) noexcept {
  TARN_ASSERT(lock_.held_by_this_thread());
  TARN_ASSERT((base == nullptr) == (slices == 0) && slices <= UINT32_MAX);
  Span* const span = descriptors_.take();
  span->base = base;
  span->slices = static_cast<std::uint32_t>(slices);
  span->next = span->prev = span->newer = span->older = nullptr;
  return span;
}

// A free span is whole while its entries lead to it: see store_fork.cpp.
void Store::insert_free_locked(Span* span, SpanKind kind) noexcept {
  TARN_ASSERT(kind == SpanKind::clean || kind == SpanKind::dirty);
  TARN_ASSERT(leads_to_or_nowhere(span->base, span));
  TARN_ASSERT(leads_to_or_nowhere(span->end() - slice_bytes, span));
  span->set_kind(kind);
  TARN_FORK_FENCE();
  page_map.set_ends(span);
  (kind == SpanKind::clean ? clean_ : dirty_).insert(span);
}

void Store::insert_locked(Span* span, SpanKind kind) noexcept {
  insert_free_locked(span, kind);
  if (kind == SpanKind::dirty) by_age_.push_back(span);
}

// Neighbours only, until they are settled. A fork may see any step of it.
void Store::change_locked(const Span* span) noexcept {
  if (change_start_ == nullptr) {
    change_end_ = span->end();
    TARN_FORK_FENCE();
    change_start_ = span->base;
  }
  TARN_ASSERT(span->base <= change_end_ && span->end() >= change_start_);
  if (span->base < change_start_) change_start_ = span->base;
  if (span->end() > change_end_) change_end_ = span->end();
  TARN_FORK_FENCE();
}

void Store::settle_locked() noexcept {
  TARN_ASSERT(change_start_ == nullptr || change_start_ < change_end_);
  TARN_FORK_FENCE();
  change_start_ = nullptr;
}

void Store::remove_locked(Span* span) noexcept {
  TARN_ASSERT(span->kind_now() == SpanKind::clean || span->kind_now() == SpanKind::dirty);
  TARN_ASSERT(leads_to(span));
  change_locked(span);
  page_map.clear_ends(span->base, span->slices);
  TARN_FORK_FENCE();
  if (span->kind_now() == SpanKind::clean) {
    clean_.remove(span);
    return;
  }
  dirty_.remove(span);
  by_age_.remove(span);
}

// Joins a span that is on no list with its free neighbours of the same kind.
Span* Store::join_locked(Span* span, SpanKind kind) noexcept {
  TARN_ASSERT(span->slices != 0 && (kind == SpanKind::clean || kind == SpanKind::dirty));
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

// A new chunk and its count are one change, so that no child has one without the other.
void Store::begin_growth_locked(Span* chunk) noexcept {
  TARN_ASSERT(change_start_ == nullptr && grown_slices_ == 0);
  chunk->set_kind(SpanKind::large);
  grown_slices_ = reserved_slices_ + chunk->slices;
  change_locked(chunk);
}

bool Store::grow_locked(std::size_t slices) noexcept {
  TARN_ASSERT(lock_.held_by_this_thread() && slices != 0);
  if (!descriptors_.provide(1)) return false;
  std::size_t wanted = reserved_slices_ / 4;
  if (wanted < chunk_slices_min) wanted = chunk_slices_min;
  if (wanted > chunk_slices_max) wanted = chunk_slices_max;
  if (wanted < slices) wanted = slices;
  wanted = align_up(wanted, os::huge_page_bytes >> slice_shift);

  void* chunk = os::vm_reserve(wanted << slice_shift);
  if (chunk == nullptr && wanted > slices) {
    wanted = slices;
    chunk = os::vm_reserve(wanted << slice_shift);
  }
  count_map_call();
  if (chunk == nullptr) return false;
  auto* const base = static_cast<std::byte*>(chunk);
  TARN_ASSERT(wanted >= slices && address_of(base) % slice_bytes == 0);
  if (!page_map.cover(base, wanted << slice_shift)) {
    os::vm_release(chunk, wanted << slice_shift);
    return false;
  }
  os::vm_name(chunk, wanted << slice_shift, "tarn: heap");
  choose_pages_locked(base, wanted);
  Span* const span = make_span_locked(base, wanted);
  begin_growth_locked(span);
  reserved_slices_ = grown_slices_;
  insert_locked(join_locked(span, SpanKind::clean), SpanKind::clean);
  settle_locked();
  grown_slices_ = 0;
  TARN_ASSERT_EVERY(8, check_locked());
  TARN_ASSERT_EVERY(64, page_map.check());
  return true;
}

// Gives free address space back to the OS, which may then give a larger piece.
bool Store::release_clean_locked() noexcept {
  TARN_ASSERT(lock_.held_by_this_thread());
  bool released = false;
  Span* refused = nullptr;  // The OS may say no to one (it would split a mapping), yes to others.
  for (Span* span = clean_.find(1, 1); span != nullptr; span = clean_.find(1, 1)) {
    remove_locked(span);
    settle_locked();  // A child may not have it any more.
    if (!os::vm_release(span->base, span->bytes())) {
      span->set_kind(SpanKind::large);
      span->next = refused;
      refused = span;
      continue;
    }
    count_map_call();
    TARN_ASSERT(reserved_slices_ >= span->slices);
    reserved_slices_ -= span->slices;
    descriptors_.give(span);
    released = true;
  }
  while (refused != nullptr) {
    Span* const span = refused;
    refused = span->next;
    span->next = nullptr;
    insert_locked(join_locked(span, SpanKind::clean), SpanKind::clean);
    settle_locked();
  }
  TARN_ASSERT_EVERY(8, check_locked());
  return released;
}

void Store::clean_dirty_locked() noexcept {
  TARN_ASSERT(lock_.held_by_this_thread());
  for (Span* span = by_age_.head(); span != nullptr;) {
    Span* const newer = span->newer;
    if (os::vm_purge(span->base, span->bytes())) {
      remove_locked(span);
      insert_locked(join_locked(span, SpanKind::clean), SpanKind::clean);
      settle_locked();
    }
    span = newer;
  }
}

// The last resort: gives all free memory back, warm memory too.
bool Store::release_free_locked() noexcept {
  clean_dirty_locked();
  return release_clean_locked();
}

// Takes a new chunk. Where the OS refuses one, free memory is given back for it, warm memory last.
// Nothing is given back when that would not make room enough: for more than the machine has, or
// where the OS refuses even what would be missing then.
bool Store::grow_or_release_locked(std::size_t slices) noexcept {
  if (grow_locked(slices)) return true;
  const std::size_t bytes = slices << slice_shift;
  if (bytes > os::vm_bytes_there_can_be() || !free_will_do_locked(bytes)) return false;
  if (release_clean_locked() && grow_locked(slices)) return true;
  return release_free_locked() && grow_locked(slices);
}

// True when there would be so many addresses if all that is free were given back.
bool Store::free_will_do_locked(std::size_t bytes) noexcept {
  TARN_ASSERT(bytes % slice_bytes == 0);
  const std::size_t free_bytes = (clean_.slices() + dirty_.slices()) << slice_shift;
  if (free_bytes >= bytes) return true;
  void* const probe = os::vm_reserve(bytes - free_bytes);
  return probe != nullptr && os::vm_release(probe, bytes - free_bytes);
}

// Puts a span that is on no list back to where it was, without its first slices, if any are left.
void Store::put_rest_locked(Span* span, std::size_t slices) noexcept {
  TARN_ASSERT(lock_.held_by_this_thread() && slices <= span->slices);
  if (span->slices == slices) return descriptors_.give(span);
  span->base += slices << slice_shift;
  span->slices -= static_cast<std::uint32_t>(slices);
  insert_locked(span, span->kind_now());
}

// Cuts what is asked for out of a span that is on no list. The rest goes back to where it was. What
// is taken has a descriptor of the calling thread's group: the one that it had may be another's.
Span* Store::cut_locked(Span* span, std::size_t slices, std::size_t alignment) noexcept {
  const SpanKind kind = span->kind_now();
  const std::uintptr_t first = address_of(span->base) >> slice_shift;
  const std::size_t skipped = align_up(first, alignment) - first;
  TARN_ASSERT(kind == SpanKind::clean || kind == SpanKind::dirty);
  TARN_ASSERT(skipped + slices <= span->slices);
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
  TARN_ASSERT(taken->slices == slices);
  TARN_ASSERT((address_of(taken->base) >> slice_shift) % alignment == 0);
  return taken;
}

Span* Store::find_locked(const SpanBins& bins, std::size_t slices, std::size_t alignment) noexcept {
  Span* const span = bins.find(slices, alignment);
  if (span != nullptr || alignment == 1) return span;
  return bins.find(slices + alignment - 1, 1);  // Holds wherever it begins.
}

namespace {

// Room for a quarter more, so that a block which grows in small steps is not copied at each.
constexpr std::size_t with_room(std::size_t slices) noexcept { return slices + slices / 4; }

}  // namespace

Span* Store::find_dirty_locked(std::size_t slices, std::size_t alignment, Fit fit) noexcept {
  TARN_ASSERT(lock_.held_by_this_thread());
  const bool clean_will_do = fit == Fit::zero && dirty_.slices() < 2 * slices;
  if (clean_will_do && find_locked(clean_, slices, alignment) != nullptr) return nullptr;
  const bool roomy = fit == Fit::roomy || fit == Fit::roomy_cold;
  return find_locked(dirty_, roomy ? with_room(slices) : slices, alignment);
}

// The smallest clean span that fits, or a new chunk. Giving free memory back is the last resort.
Span* Store::find_clean_locked(std::size_t slices, std::size_t alignment, Fit fit) noexcept {
  TARN_ASSERT(lock_.held_by_this_thread());
  if (fit == Fit::roomy) return nullptr;
  if (fit == Fit::roomy_cold) return clean_.find(with_room(slices), 1);
  Span* const span = find_locked(clean_, slices, alignment);
  if (span != nullptr || !grow_or_release_locked(slices + alignment - 1)) return span;
  return find_locked(clean_, slices, alignment);
}

// How large the process may become without giving dirty memory back: as large as it was already,
// and somewhat larger than it ever needed where dirty memory was missed after it had made room.
std::size_t Store::bound_locked() const noexcept {
  const std::size_t most = in_use_slices_peak_ / 2;
  const std::size_t missed = room_.missed() < most ? room_.missed() : most;
  const std::size_t bound = in_use_slices_peak_ + missed;
  const std::size_t peak = committed_slices_peak();
  TARN_ASSERT(bound >= in_use_slices_peak_);
  return bound > peak ? bound : peak;
}

// How many slices are to be purged before so many clean ones are taken, so that dirty memory does
// not make the process larger than it was at its peak. They are some more than that, so that not
// each take of a few slices purges.
std::size_t Store::excess_locked(std::size_t slices) const noexcept {
  constexpr std::size_t least = (std::size_t{1} << 20) >> slice_shift;
  TARN_ASSERT(slices != 0 && clean_.slices() <= reserved_slices_);
  const std::size_t wanted = reserved_slices_ - clean_.slices() + slices;
  const std::size_t keep = policy.keep_slices.load(std::memory_order_relaxed);
  const std::size_t bound = bound_locked();
  if (wanted <= bound || dirty_.slices() <= keep || purge_refused_) return 0;
  const std::size_t most = dirty_.slices() - keep;
  const std::size_t excess = wanted - bound;
  return excess < least ? (least < most ? least : most) : (excess < most ? excess : most);
}

// Null, with nothing done and *excess set, when so many slices have to be purged first.
Store::Taken Store::take_locked(std::size_t slices, std::size_t alignment, Fit fit,
                                std::size_t* excess) noexcept {
  TARN_ASSERT(lock_.held_by_this_thread() && change_start_ == nullptr);
  // Two to cut, one for a new chunk or for what is left of a window. Giving free memory back makes
  // spares where none can be had.
  if (!descriptors_.provide(3) && !(release_free_locked() && descriptors_.provide(3))) return {};
  Span* span = find_dirty_locked(slices, alignment, fit);
  if (span == nullptr) {
    if (excess != nullptr && fit != Fit::roomy) {
      *excess = excess_locked(slices);
      if (*excess != 0) return {};
    }
    span = find_clean_locked(slices, alignment, fit);
  }
  if (span == nullptr || !descriptors_.provide(3)) return {};
  // Not after room was made for it: dirty memory could not have served.
  const bool could_be_warm = fit != Fit::zero && excess != nullptr;
  if (span->kind_now() == SpanKind::clean && could_be_warm) note_taken_clean_locked(slices);
  const std::byte* const end = span->end();
  remove_locked(span);
  Span* const taken = cut_locked(span, slices, alignment);
  const std::size_t from = policy.huge_from_slices.load(std::memory_order_relaxed);
  const bool grows_large = huge_pages_ == HugePages::asked && from != 0 && taken->zeroed &&
                           reserved_slices_ - clean_.slices() >= from;
  const Windows windows = TARN_UNLIKELY(grows_large) ? windows_locked(taken, fit, end) : Windows{};
  settle_locked();
  TARN_ASSERT(page_map.is_clear(taken->base, slices));
  note_committed_locked();
  return {taken, windows};
}

void Store::note_committed_locked() noexcept {
  TARN_ASSERT(clean_.slices() + dirty_.slices() + purging_slices_ <= reserved_slices_);
  const std::size_t committed = reserved_slices_ - clean_.slices();
  if (committed > committed_slices_peak()) {
    committed_slices_peak_.store(committed, std::memory_order_relaxed);
  }
  const std::size_t in_use = in_use_locked();
  if (in_use > in_use_slices_peak_) in_use_slices_peak_ = in_use;
  TARN_ASSERT(in_use <= committed && committed <= committed_slices_peak());
}

// How long a page is to be: as long as a shorter dirty span, unless one is there that is as long as
// wanted, or not much longer.
std::size_t Store::page_slices_locked(std::size_t least, std::size_t most) const noexcept {
  TARN_ASSERT(lock_.held_by_this_thread() && least != 0 && least < most);
  const Span* const longer = dirty_.find(most, 1);
  if (longer != nullptr && longer->slices <= 2 * most) return most;
  const Span* const shorter = dirty_.find_less(most, least);
  return shorter != nullptr ? shorter->slices : most;
}

Span* Store::take_between(std::size_t least, std::size_t most, std::size_t alignment,
                          Fit fit) noexcept {
  if (most > span_slices_max || alignment > span_slices_max - most) return nullptr;
  TARN_ASSERT(least != 0 && least <= most && is_power_of_two(alignment));
  std::size_t slices = most;
  std::size_t excess = 0;
  Taken taken{};
  {
    os::Locked locked(lock_);
    if (least != most) slices = page_slices_locked(least, most);
    taken = take_locked(slices, alignment, fit, &excess);
  }
  if (TARN_UNLIKELY(excess != 0)) {
    make_room(excess);
    os::Locked locked(lock_);
    taken = take_locked(slices, alignment, fit, nullptr);
  }
  if (TARN_UNLIKELY(taken.windows.bytes != 0)) fill(taken.windows);
  return taken.span;
}

void Store::give(Span* span) noexcept {
  TARN_ASSERT(span->slices != 0 && is_in_use(span));
  TARN_ASSERT(page_map.is_clear(span->base, span->slices));
  const std::uint64_t now = os::clock_coarse_ms();
  Purge surplus{};
  {
    const std::size_t slices = span->slices;
    os::Locked locked(lock_);
    change_locked(span);
    span = join_locked(span, SpanKind::dirty);
    span->stamp_ms = now;
    insert_locked(span, SpanKind::dirty);
    settle_locked();
    surplus = surplus_locked(now, slices);
    TARN_ASSERT_EVERY(256, check_locked());
  }
  if (TARN_UNLIKELY(surplus.most_slices != 0)) purge_surplus(surplus);
  purge_when_due(now);
  purger.ring();
}

void* Store::allocate_record(std::size_t bytes) noexcept {
  TARN_ASSERT(bytes != 0);
  os::Locked locked(lock_);
  void* const record = records_.allocate(bytes);
  if (record != nullptr || !release_free_locked()) return record;
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
  TARN_ASSERT(is_in_use(span) && page_map.span_of(span->base) != span);
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

StoreTotals Store::totals() noexcept {
  os::LockedUnlessHeld locked(lock_);
  StoreTotals t;
  const auto elsewhere = static_cast<std::size_t>(elsewhere_bytes_.load(std::memory_order_relaxed));
  t.reserved_bytes = (reserved_slices_ << slice_shift) + descriptors_.bytes_reserved() +
                     records_.bytes_reserved() + elsewhere;
  t.committed_bytes = ((reserved_slices_ - clean_.slices()) << slice_shift) + elsewhere;
  t.committed_bytes_peak = (committed_slices_peak() << slice_shift) + elsewhere;
  t.map_calls = map_calls_.load(std::memory_order_relaxed);
  t.purge_calls = purge_calls_;
  t.purged_bytes = purged_slices_ << slice_shift;
  return t;
}

bool Store::check_locked() const noexcept {
  if (!dirty_.check(SpanKind::dirty) || !clean_.check(SpanKind::clean)) return false;
  if (!descriptors_.check() || change_start_ != nullptr) return false;
  if (!by_age_.check() || !purging_.check()) return false;
  std::size_t ordered = 0;
  for (const Span* s = by_age_.head(); s != nullptr; s = s->newer) {
    if (s->kind_now() != SpanKind::dirty || !leads_to(s)) return false;
    ordered += s->slices;
  }
  std::size_t purging = 0;
  for (const Span* s = purging_.head(); s != nullptr; s = s->newer) {
    if (s->kind_now() != SpanKind::purging && s->kind_now() != SpanKind::unmapping) return false;
    if (leads_to(s) || s->remote.load(std::memory_order_relaxed) == 0) return false;
    purging += s->slices;
  }
  return ordered == dirty_.slices() && purging == purging_slices_ &&
         dirty_.slices() + clean_.slices() + purging_slices_ <= reserved_slices_;
}

}  // namespace tarn
