// checks: see checks.hpp. What is asked of one block, and of all that a heap has.
//
// SPDX-License-Identifier: MIT
#include "heaps/checked/checks.hpp"

#include <new>

#include "engine/records/gate.hpp"
#include "engine/records/limits.hpp"
#include "engine/records/totals.hpp"
#include "engine/store/store.hpp"
#include "heaps/checked/checked.hpp"
#include "heaps/checked/checked_span.hpp"
#include "heaps/checked/guard.hpp"
#include "heaps/checked/guarded.hpp"
#include "heaps/checked/passthrough.hpp"
#include "heaps/checked/quarantine.hpp"
#include "heaps/heap/exclusive.hpp"
#include "heaps/heap/registry.hpp"
#include "platform/os/system_malloc.hpp"
#include "platform/report/options.hpp"
#include "platform/stack/stacks.hpp"

namespace tarn {

namespace {

// The objects that no heap has, linked by next_spare. The lock comes after all others.
os::Lock spare_lock;
Checks* spare_checks = nullptr;

// The record of a checked span, locked, while no other thread holds that heap exclusively. Null
// when the span is no checked one by now.
HeapRecord* lock_checked(Page* page) noexcept {
  for (;;) {
    HeapRecord* const record = page->record_now();
    if (!is_checked(page->kind_now()) || record == nullptr) return nullptr;
    record->lock.lock();
    const bool still = is_checked(page->kind_now()) && page->record_now() == record;
    const bool exclusive = still && exclusive_to_another(*record);
    if (still && !exclusive) return record;
    record->lock.unlock();
    if (exclusive) wait_at_gate(*record);
  }
}

// The lock of a record that lock_checked() has taken.
class Held {
 public:
  explicit Held(HeapRecord* record) noexcept : record_(record) {}
  ~Held() { record_->lock.unlock(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  HeapRecord* record_;
};

// Reports p unless a live block begins there. Lock held.
void require_live(const HeapRecord& record, const Place& around, const FreeCall& given,
                  const void* p) noexcept {
  if (around.note == nullptr) report_misuse(Misuse::invalid_free, given.function, p);
  if (around.start != p) report_block(Misuse::invalid_free, record, around, given, p);
  if (around.note->state() != NoteState::live) {
    report_block(Misuse::double_free, record, around, given, p);
  }
}

void give_if_empty(HeapRecord& record, Page* page) noexcept {
  TARN_ASSERT(record.lock.held_by_this_thread() && page->record_now() == &record);
  if (page->kind_now() != SpanKind::checked || page->countdown != 0) return;
  if (!empty_stays(record, page->bytes())) give_checked(record, page);
}

void give_all_empty(HeapRecord& record) noexcept {
  for (Span* s = record.checks->spans.head(); s != nullptr;) {
    auto* const page = static_cast<Page*>(s);
    s = s->next_of_heap;
    give_if_empty(record, page);
  }
}

bool has_ended(const HeapRecord& record) noexcept {
  return record.checks->deleted && record.checks->live_blocks == 0;
}

}  // namespace

Checks* checks_make(Mode mode) noexcept {
  void* memory = nullptr;
  {
    os::Locked locked(spare_lock);
    memory = spare_checks;
    if (spare_checks != nullptr) spare_checks = spare_checks->next_spare;
  }
  if (memory == nullptr) memory = store.allocate_record(sizeof(Checks));
  if (memory == nullptr) return nullptr;
  TARN_ASSERT(mode != Mode::fast);
  if (mode == Mode::guarded) explain_guarded();
  auto* const checks = new (memory) Checks;
  checks->mode = mode;
  return checks;
}

void checks_give(Checks* checks) noexcept {
  TARN_ASSERT(checks->spans.empty() && checks->passed.empty());
  if (checks->mode == Mode::passthrough) passthrough_give_table();
  os::Locked locked(spare_lock);
  checks->next_spare = spare_checks;
  spare_checks = checks;
}

void checks_end(HeapRecord& record) noexcept {
  TARN_ASSERT(record.checks != nullptr);
  os::Locked locked(record.lock);
  TARN_ASSERT(record.checks->live_blocks == 0 && record.checks->charged == 0);
  checks_give(record.checks);
  record.checks = nullptr;
}

void checks_repair_spare() noexcept {
  if (spare_lock.recover_after_fork()) spare_checks = nullptr;
}

bool mode_is_supported(const tarn_heap_options& options) noexcept {
  if (options.mode != TARN_MODE_PASSTHROUGH || system_malloc_known()) return true;
  report_refused_mode(options.mode, "tarn_heap_create", "the system's malloc is not known here");
  return false;
}

bool mode_is_sound(const tarn_heap_options& options) noexcept {
  if (!is_mode(options.mode, "tarn_heap_create")) return false;
  if (options.mode == TARN_MODE_FAST) return true;
  // Their memory is the store's, the operating system's, or of the system's malloc.
  if (options.region == nullptr && options.source == nullptr && options.flags == 0) return true;
  report_refused_mode(options.mode, "tarn_heap_create",
                      "a heap with a region, a source or flags is always fast");
  return false;
}

Attempt checks_allocate(HeapRecord& record, const Request& request) noexcept {
  if (request.bytes > noted_bytes_max || request.alignment > noted_bytes_max) {
    return {Outcome::out_of_memory, nullptr, nullptr};
  }
  require_thread(record, request.function, request.site);
  Request noted = request;
  noted.site = stacks.at(request.site);
  if (record.checks->mode == Mode::passthrough) return passthrough_allocate(record, noted);
  os::Locked locked(record.lock);
  return record.checks->mode == Mode::guarded ? guarded_allocate(record, noted)
                                              : checked_allocate(record, noted);
}

void checks_free(Page* page, void* p, const FreeCall& given) noexcept {
  const void* const freed_at = stacks.at(given.site);
  HeapRecord* const record = lock_checked(page);
  if (record == nullptr) report_misuse(Misuse::double_free, given.function, p);
  bool over = false;
  {
    const Held held(record);
    const Place place = place_around(page, p);
    require_live(*record, place, given, p);
    require_thread(*record, given.function, given.site);
    verify_live(*record, place, given);
    require_match(*record, place, given, p);
    TARN_ASSERT(page->live_seen != 0);
    count_gone(*record->checks, place.note->requested());
    if (page->kind_now() == SpanKind::lone) {
      totals.add_large(-static_cast<std::int64_t>(page->bytes()));
    }
    page->live_seen = page->live_seen - 1;
    place.note->freed_at = freed_at;
    keep_back(*record, page, place);
    over = has_ended(*record);
    if (over) {
      release_all(*record);
      give_all_empty(*record);
    }
  }
  if (!over) return;
  checks_end(*record);
  registry.give(*record);
}

bool checks_free_passed(void* p, const FreeCall& given) noexcept {
  HeapRecord* ended = nullptr;
  if (!passthrough_free(p, given, &ended)) return false;
  if (ended != nullptr) {
    checks_end(*ended);
    registry.give(*ended);
  }
  return true;
}

void* checks_resize_passed(void* p, std::size_t bytes, const FreeCall& given) noexcept {
  return passthrough_resize(p, bytes, given);
}

std::size_t checks_bytes(Page* page, const void* p, const FreeCall& given) noexcept {
  HeapRecord* const record = page->record_now();
  if (record == nullptr) report_misuse(Misuse::invalid_pointer, given.function, p);
  const os::LockedUnlessHeld locked(record->lock);
  if (!is_checked(page->kind_now()) || page->record_now() != record) {
    report_misuse(Misuse::invalid_pointer, given.function, p);
  }
  const Place place = place_around(page, p);
  require_live(*record, place, given, p);
  return place.note->requested();
}

bool checks_has(Page* page, const void* p) noexcept {
  HeapRecord* const record = page->record_now();
  if (record == nullptr) return false;
  const os::LockedUnlessHeld locked(record->lock);
  if (!is_checked(page->kind_now()) || page->record_now() != record) return false;
  const Place place = place_around(page, p);
  return place.note != nullptr && place.start == p && place.note->state() == NoteState::live;
}

bool checks_resize(Page* page, void* p, std::size_t bytes, const FreeCall& given,
                   Resize how) noexcept {
  HeapRecord* const record = lock_checked(page);
  if (record == nullptr) report_misuse(Misuse::invalid_pointer, given.function, p);
  const Held held(record);
  const Place place = place_around(page, p);
  require_live(*record, place, given, p);
  require_thread(*record, given.function, given.site);
  verify_live(*record, place, given);
  require_match(*record, place, given, p);
  Note& note = *place.note;
  const std::size_t before = note.requested();
  // A guarded block ends at its page: beyond a grain, it has to move.
  const bool is_guarded = note.has(Note::guarded);
  const std::size_t least = is_guarded ? place.bytes - (block_align - 1) : place.bytes / 4;
  if (bytes > place.most()) return false;
  if (bytes < least && how == Resize::if_near) return false;
  // Damage is looked for behind the requested bytes, also by the child of a fork in between.
  if (bytes < before) mark_canary(place, bytes);
  TARN_FORK_FENCE();
  const unsigned flags = Note::of_origin(note.origin()) | (is_guarded ? Note::guarded : 0);
  note.set(NoteState::live, flags, bytes);
  count_gone(*record->checks, before);
  count_born(*record->checks, bytes);
  return true;
}

Span* checks_take_all(HeapRecord& record) noexcept {
  os::Locked locked(record.lock);
  TARN_ASSERT(exclusive_to_this_thread(record));
  TARN_ASSERT_EVERY(4, places_check(record));
  Checks& checks = *record.checks;
  Span* chain = nullptr;
  while (Span* const span = checks.spans.pop_front()) {
    auto* const page = static_cast<Page*>(span);
    if (page->kind_now() == SpanKind::checked) {
      chain = chain_checked(page, chain);
      continue;
    }
    auto* const note = static_cast<LoneNote*>(page->notes);
    if (note->state() == NoteState::live) {
      totals.add_large(-static_cast<std::int64_t>(page->bytes()));
    }
    chain = note->has(Note::guarded) ? chain_guarded(page, chain) : chain_lone(page, chain);
  }
  // No longer the heap's for the child of a fork, either.
  for (LoneNote* n = checks.passed.head(); n != nullptr; n = n->newer) {
    n->set_state(NoteState::taken);
  }
  TARN_FORK_FENCE();
  TARN_ASSERT(!checks.deleted);
  if (checks.charged != 0) uncharge(record, checks.charged);
  auto passed = checks.passed;
  forget_all(checks);
  locked.release();
  while (LoneNote* const note = passed.pop_front()) passthrough_drop(*note);
  return chain;
}

void checks_collect(HeapRecord& record) noexcept {
  os::Locked locked(record.lock);
  if (record.walking || exclusive_to_another(record)) return;
  const Checks& checks = *record.checks;
  while (checks.oldest_kept != nullptr) {
    if (empty_stays(record, page_map.span_of(checks.oldest_kept)->bytes())) break;
    release_oldest(record);
  }
  give_all_empty(record);
  TARN_ASSERT_EVERY(16, places_check(record));
}

bool checks_disown(HeapRecord& record) noexcept {
  os::Locked locked(record.lock);
  TARN_ASSERT(exclusive_to_this_thread(record) && !record.checks->deleted);
  Checks& checks = *record.checks;
  release_all(record);
  give_all_empty(record);
  // In this order for the child of a fork: nothing is given back twice.
  checks.deleted = true;
  TARN_FORK_FENCE();
  if (checks.charged != 0) uncharge(record, checks.charged);
  return has_ended(record);
}

void checks_verify(HeapRecord& record, const char* function) noexcept {
  os::Locked locked(record.lock);
  TARN_ASSERT_EVERY(4, places_check(record));
  const FreeCall given{function, nullptr};
  for (Span* s = record.checks->spans.head(); s != nullptr; s = s->next_of_heap) {
    for_each_place(static_cast<Page*>(s), [&](const Place& place) noexcept {
      if (place.note->state() == NoteState::live) verify_live(record, place, given);
      if (place.note->state() == NoteState::kept_back) verify_freed(record, place, given);
    });
  }
}

void checks_fill_stats(HeapRecord& record, tarn_heap_stats* stats) noexcept {
  os::Locked locked(record.lock);
  const Checks& checks = *record.checks;
  for (const Span* s = checks.spans.head(); s != nullptr; s = s->next_of_heap) {
    const auto* const page = static_cast<const Page*>(s);
    if (page->kind_now() == SpanKind::checked) {
      ++stats->pages;
      stats->free_blocks += page->carved - page->live_seen;
    } else {
      stats->large_blocks += page->live_seen;
    }
  }
  for (const LoneNote* n = checks.passed.head(); n != nullptr; n = n->newer) ++stats->large_blocks;
  stats->live_blocks = checks.live_blocks;
  stats->live_bytes = stats->requested_bytes = checks.live_bytes;
  stats->live_bytes_peak = checks.live_bytes_peak;
  stats->requested_is_exact = 1;
}

void checks_finish_walk(HeapRecord& record) noexcept {
  os::Locked locked(record.lock);
  bound_kept(record);
}

}  // namespace tarn
