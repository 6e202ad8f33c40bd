// store_purge: giving memory back. Dirty spans, the oldest first or only long ones, leave the bins
// under the lock, lose their pages outside it, and come back clean; meanwhile their kind is
// `purging`, so that no neighbour joins them, and they are on a list for the child of a fork.
//
// SPDX-License-Identifier: MIT
#include "engine/store/store.hpp"
#include "platform/base/check.hpp"
#include "platform/os/process.hpp"
#include "platform/os/vm.hpp"

namespace tarn {

namespace {

constexpr int batch_spans = 32;  // How many spans one pass takes off the lists.

// From this size on address space goes back too: it costs one call, and limits may count it.
constexpr std::size_t release_slices_min = (std::size_t{128} << 20) >> slice_shift;

// What is due goes in steps of a quarter of all that is dirty, within these bounds: some ten
// milliseconds of the OS at most, and the next not at once.
constexpr std::size_t step_slices_min = (std::size_t{32} << 20) >> slice_shift;
constexpr std::size_t step_slices_max = (std::size_t{256} << 20) >> slice_shift;
constexpr std::uint64_t step_pause_ms = 10;

// Dirty memory that is never too much, and what is too little for a purge of its own.
constexpr std::size_t warm_slices_least = (std::size_t{48} << 20) >> slice_shift;
constexpr std::size_t surplus_slices_least = (std::size_t{1} << 20) >> slice_shift;

// A call for each shorter span costs time, and takes a part out of a huge page.
constexpr std::size_t long_slices_least = (std::size_t{8} << 20) >> slice_shift;

// After so many delays without a give the program sleeps.
constexpr std::uint64_t rest_delays = 4;

// So many more slices stay for each that was missed, so that there are few mistakes.
constexpr std::size_t missed_factor = 8;

// The smallest part of a span that goes alone.
constexpr std::size_t part_slices_least = (std::size_t{1} << 20) >> slice_shift;

std::size_t step_slices(std::size_t dirty) noexcept {
  const std::size_t part = dirty / 4;
  return part < step_slices_min ? step_slices_min : part > step_slices_max ? step_slices_max : part;
}

}  // namespace

void Store::configure(std::uint64_t purge_delay_ms, std::size_t purge_keep_bytes) noexcept {
  policy.delay_ms.store(purge_delay_ms, std::memory_order_relaxed);
  policy.keep_slices.store(purge_keep_bytes >> slice_shift, std::memory_order_relaxed);
  // What is free may be older than a shorter delay already.
  purge_due_ms_.store(0, std::memory_order_relaxed);
  os::Locked locked(lock_);
  surplus_ = {};
  room_ = {};
}

// How many slices of a dirty span can go, if so many are to stay: all of it, or a part that is
// worth a call. 0: none.
std::size_t Store::spare_locked(const Span* span, std::size_t keep_slices) const noexcept {
  if (span == nullptr || dirty_.slices() <= keep_slices) return 0;
  const std::size_t spare = dirty_.slices() - keep_slices;
  TARN_ASSERT(span->kind_now() == SpanKind::dirty && span->slices <= dirty_.slices());
  if (span->slices <= spare) return span->slices;
  return spare >= part_slices_least ? spare : 0;
}

// The last slices of a span, and as many more as make the first window of them a whole one, if as
// many stay as are to be kept: of a huge page that loses a part the OS takes nothing back before it
// is short of memory, and the part comes back as small pages. pre: slices <= span->slices
std::size_t Store::with_whole_window_locked(const Span* span, std::size_t slices) const noexcept {
  const std::uintptr_t end = address_of(span->end());
  const std::uintptr_t start = align_down(end - (slices << slice_shift), os::huge_page_bytes);
  if (start < address_of(span->base)) return slices;
  const std::size_t whole = (end - start) >> slice_shift;
  const std::size_t keep = policy.keep_slices.load(std::memory_order_relaxed);
  return dirty_.slices() - whole < keep ? slices : whole;
}

void Store::begin_purge_locked(Span* span) noexcept {
  TARN_ASSERT(lock_.held_by_this_thread());
  TARN_ASSERT(span->kind_now() != SpanKind::purging && span->kind_now() != SpanKind::unmapping);
  TARN_ASSERT(page_map.span_of(span->base) != span && page_map.span_of(span->end() - 1) != span);
  span->remote.store(os::thread_id(), std::memory_order_relaxed);
  span->set_kind(SpanKind::purging);
  purging_.push_back(span);
  purging_slices_ += span->slices;
}

// The span is in nobody's hands but the caller's.
void Store::end_purge_locked(Span* span) noexcept {
  TARN_ASSERT(span->kind_now() == SpanKind::purging || span->kind_now() == SpanKind::unmapping);
  TARN_ASSERT(purging_slices_ >= span->slices);
  purging_.remove(span);
  purging_slices_ -= span->slices;
  span->remote.store(0, std::memory_order_relaxed);
  span->set_kind(SpanKind::large);
}

// Cuts the last slices off a dirty span, if there is a descriptor for them; the rest keeps its
// place and its age. Else takes all of it.
Span* Store::cut_for_purge_locked(Span* span, std::size_t slices) noexcept {
  TARN_ASSERT(lock_.held_by_this_thread());
  TARN_ASSERT(slices != 0 && span->kind_now() == SpanKind::dirty);
  if (span->slices <= slices || !descriptors_.provide(1)) {
    remove_locked(span);
    return span;
  }
  change_locked(span);
  page_map.clear_ends(span->base, span->slices);
  TARN_FORK_FENCE();
  dirty_.remove(span);
  Span* const tail = make_span_locked(span->end() - (slices << slice_shift), slices);
  tail->stamp_ms = span->stamp_ms;
  span->slices -= static_cast<std::uint32_t>(slices);
  insert_free_locked(span, SpanKind::dirty);
  TARN_ASSERT(tail->slices == slices && span->end() == tail->base);
  return tail;
}

void Store::count_purged(std::size_t bytes) noexcept {
  TARN_ASSERT(bytes != 0 && bytes % slice_bytes == 0);
  os::Locked locked(lock_);
  ++purge_calls_;
  purged_slices_ += bytes >> slice_shift;
}

// Takes spans off the lists for the caller to drop. Null when there is nothing to purge.
Span* Store::collect_locked(Purge& purge) noexcept {
  TARN_ASSERT(lock_.held_by_this_thread() && change_start_ == nullptr);
  Span* batch = nullptr;
  for (int i = 0; i < batch_spans && purge.most_slices != 0; ++i) {
    Span* const next = purge.only_long ? dirty_.find(long_slices_least, 1) : by_age_.head();
    std::size_t going = spare_locked(next, purge.keep_slices);
    if (going == 0) break;
    // A stamp may be younger than now_ms.
    if (purge.delay_ms != 0 && purge.now_ms < next->stamp_ms + purge.delay_ms) break;
    if (going > purge.most_slices) going = purge.most_slices;
    if (purge.only_long) going = with_whole_window_locked(next, going);
    Span* const span = cut_for_purge_locked(next, going);
    begin_purge_locked(span);
    settle_locked();
    purge.most_slices -= span->slices < purge.most_slices ? span->slices : purge.most_slices;
    span->next = batch;
    batch = span;
  }
  return batch;
}

// Gives back the addresses of a span without contents; false when the OS refuses. pre: the span is
// being purged
bool Store::unmap(Span* span) noexcept {
  {
    os::Locked locked(lock_);
    TARN_ASSERT(span->remote.load(std::memory_order_relaxed) == os::thread_id());
    span->set_kind(SpanKind::unmapping);
  }
  const bool released = os::vm_release(span->base, span->bytes());
  count_map_call();
  os::Locked locked(lock_);
  if (!released) {
    span->set_kind(SpanKind::purging);
    return false;
  }
  end_purge_locked(span);
  TARN_ASSERT(reserved_slices_ >= span->slices);
  reserved_slices_ -= span->slices;
  descriptors_.give(span);
  return true;
}

// Drops the contents of a span that is being purged, and gives back its addresses if they are many.
// The contents go first: the child of a fork cannot tell whether addresses are still its own, so it
// must be able to leave them alone. False when the OS refuses; the span is dirty then.
bool Store::drop(Span* span, std::uint64_t now_ms) noexcept {
  TARN_ASSERT(span->kind_now() == SpanKind::purging);
  TARN_ASSERT(page_map.is_clear(span->base, span->slices));
  const bool purged = os::vm_purge(span->base, span->bytes());
  if (span->slices >= release_slices_min && unmap(span)) return true;
  os::Locked locked(lock_);
  change_locked(span);
  end_purge_locked(span);
  purge_refused_ = !purged;
  if (purged) {
    ++purge_calls_;
    purged_slices_ += span->slices;
    insert_locked(join_locked(span, SpanKind::clean), SpanKind::clean);
  } else {
    span->stamp_ms = now_ms;
    insert_locked(span, SpanKind::dirty);
  }
  settle_locked();
  TARN_ASSERT_EVERY(64, check_locked());
  return purged;
}

std::size_t Store::purge(Purge purge) noexcept {
  std::size_t given = 0;
  for (bool refused = false; !refused;) {
    Span* batch = nullptr;
    {
      os::Locked locked(lock_);
      batch = collect_locked(purge);
    }
    if (batch == nullptr) return given;
    while (batch != nullptr) {
      Span* const span = batch;
      batch = span->next;
      span->next = nullptr;
      const std::size_t bytes = span->bytes();
      const bool dropped = drop(span, purge.now_ms);
      if (dropped) given += bytes;
      refused = refused || !dropped;
    }
  }
  return given;
}

std::size_t Store::purge(std::uint64_t now_ms, std::uint64_t delay_ms,
                         std::size_t keep_bytes) noexcept {
  return purge(Purge{now_ms, delay_ms, keep_bytes >> slice_shift, SIZE_MAX});
}

std::size_t Store::purge_some(std::uint64_t now_ms, std::size_t wanted) noexcept {
  return purge(Purge{now_ms, 0, 0, slices_for(wanted)});
}

// Purges dirty memory, whatever its age, before clean memory is taken in place of it.
void Store::make_room(std::size_t slices) noexcept {
  TARN_ASSERT(slices != 0);
  const std::size_t keep = policy.keep_slices.load(std::memory_order_relaxed);
  const std::uint64_t now = os::clock_coarse_ms();
  std::size_t dirty = 0;
  {
    os::Locked locked(lock_);
    dirty = dirty_.slices();
  }
  const std::size_t purged = purge(Purge{now, 0, keep, slices}) >> slice_shift;
  os::Locked locked(lock_);
  room_.note_again(purged, now, policy.delay_ms.load(std::memory_order_relaxed), dirty);
}

// A program that changes what it does purges once what was dirty when it began. A program that
// purges more than that in a row goes to and fro, and should rather stay warm.
void EarlyPurges::note_again(std::size_t slices, std::uint64_t now_ms, std::uint64_t delay_ms,
                             std::size_t dirty) noexcept {
  if (is_over(now_ms, delay_ms)) in_a_row_ = 0;
  if (in_a_row_ == 0) dirty_first_ = dirty;
  in_a_row_ += slices;
  purged_ms_ = now_ms;
  if (in_a_row_ > dirty_first_) missed_ += missed_factor * slices;
}

void EarlyPurges::note_purged(std::size_t slices, std::uint64_t now_ms,
                              std::uint64_t delay_ms) noexcept {
  purged_ = is_over(now_ms, delay_ms) ? slices : purged_ + slices;
  purged_ms_ = now_ms;
}

void EarlyPurges::note_taken_clean(std::size_t slices, std::uint64_t delay_ms) noexcept {
  if (TARN_LIKELY(purged_ == 0)) return;
  if (is_over(os::clock_coarse_ms(), delay_ms)) {
    purged_ = 0;
    return;
  }
  const std::size_t missed = slices < purged_ ? slices : purged_;
  TARN_ASSERT(slices != 0 && missed <= purged_);
  purged_ -= missed;
  missed_ += missed_factor * missed;
}

// Notes slices that were kept warm for nothing.
void EarlyPurges::note_grown_old(std::size_t slices) noexcept {
  missed_ -= slices < missed_ ? slices : missed_;
}

void Store::note_taken_clean_locked(std::size_t slices) noexcept {
  const std::uint64_t delay = policy.delay_ms.load(std::memory_order_relaxed);
  surplus_.note_taken_clean(slices, delay);
}

// How many slices a program may free and want again, by what it has.
std::size_t Store::warm_part_locked() const noexcept {
  const std::size_t half = in_use_locked() / 2;
  return half < warm_slices_least ? warm_slices_least : half;
}

// How many dirty slices are likely to be wanted again, by what it has or by what was missed.
std::size_t Store::warm_enough_locked() const noexcept {
  std::size_t enough = policy.keep_slices.load(std::memory_order_relaxed);
  for (const std::size_t other : {warm_part_locked(), surplus_.missed()}) {
    if (enough < other) enough = other;
  }
  TARN_ASSERT(in_use_locked() <= reserved_slices_ && enough >= warm_slices_least);
  return enough;
}

// While the surplus is not much, and what lies between short spans is in use and may be given next,
// these may grow together yet.
bool Store::may_grow_together_locked(std::size_t surplus) const noexcept {
  return surplus < warm_part_locked() && dirty_.slices() / 8 < in_use_locked();
}

// What is to be purged, whatever its age, now that so many slices have been given: a program that
// has freed most of what it had may not call again in time. Nothing: most_slices is 0.
Store::Purge Store::surplus_locked(std::uint64_t now_ms, std::size_t given) const noexcept {
  TARN_ASSERT(given != 0);
  const std::size_t enough = warm_enough_locked();
  if (dirty_.slices() < enough || purge_refused_) return {};
  const std::size_t surplus = dirty_.slices() - enough;
  if (surplus < surplus_slices_least) return {};
  const bool only_long = may_grow_together_locked(surplus);
  if (only_long && dirty_.find(long_slices_least, 1) == nullptr) return {};
  const std::size_t most = given > step_slices_min ? given : step_slices_min;
  return {now_ms, 0, enough, surplus < most ? surplus : most, only_long};
}

void Store::purge_surplus(const Purge& surplus) noexcept {
  const std::size_t purged = purge(surplus) >> slice_shift;
  os::Locked locked(lock_);
  surplus_.note_purged(purged, surplus.now_ms, policy.delay_ms.load(std::memory_order_relaxed));
}

// The time at which the next purge is due. What is given from now on is due later.
std::uint64_t Store::due_locked(std::uint64_t now_ms) const noexcept {
  const std::uint64_t delay = policy.delay_ms.load(std::memory_order_relaxed);
  const std::size_t keep = policy.keep_slices.load(std::memory_order_relaxed);
  if (spare_locked(by_age_.head(), keep) == 0) return now_ms + delay;
  const std::uint64_t due = by_age_.head()->stamp_ms + delay;
  const std::uint64_t pause = delay < step_pause_ms ? delay : step_pause_ms;
  TARN_ASSERT(by_age_.head()->kind_now() == SpanKind::dirty);
  return due > now_ms + pause ? due : now_ms + pause;
}

void Store::purge_step(std::uint64_t now_ms) noexcept {
  Purge step{now_ms, policy.delay_ms.load(std::memory_order_relaxed),
             policy.keep_slices.load(std::memory_order_relaxed), SIZE_MAX};
  {
    os::Locked locked(lock_);
    if (step.delay_ms != 0) step.most_slices = step_slices(dirty_.slices());
    purge_due_ms_.store(now_ms + step_pause_ms, std::memory_order_relaxed);  // For others.
  }
  const std::size_t purged = purge(step) >> slice_shift;
  os::Locked locked(lock_);
  surplus_.note_grown_old(purged);
  room_.note_grown_old(purged);
  purge_due_ms_.store(due_locked(now_ms), std::memory_order_relaxed);
}

std::uint64_t Store::purge_due_ms() noexcept {
  os::Locked locked(lock_);
  const std::size_t keep = policy.keep_slices.load(std::memory_order_relaxed);
  if (spare_locked(by_age_.head(), keep) == 0) return UINT64_MAX;
  return by_age_.head()->stamp_ms + policy.delay_ms.load(std::memory_order_relaxed);
}

std::uint64_t Store::rest_due_ms() noexcept {
  os::Locked locked(lock_);
  const Span* const youngest = by_age_.tail();
  if (youngest == nullptr) return UINT64_MAX;
  return youngest->stamp_ms + rest_delays * policy.delay_ms.load(std::memory_order_relaxed);
}

}  // namespace tarn
