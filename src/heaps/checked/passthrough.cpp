// passthrough: see passthrough.hpp. The table is a hash table with chains (by a note's next, which
// leads to notes here). It is made twice as large whenever it is full. Its lock comes after a
// record's.
//
// SPDX-License-Identifier: MIT
#include "heaps/checked/passthrough.hpp"

#include <cerrno>
#include <cstring>

#include "engine/records/gate.hpp"
#include "engine/records/limits.hpp"
#include "engine/store/store.hpp"
#include "heaps/checked/notes.hpp"
#include "heaps/heap/exclusive.hpp"
#include "heaps/heap/soft_marks.hpp"
#include "platform/base/check.hpp"
#include "platform/os/system_malloc.hpp"

namespace tarn {

namespace {

class Passed {
 public:
  // Makes room for one block more; false when there is no memory for a table.
  bool reserve() noexcept;
  void cancel() noexcept;
  void insert(LoneNote& note) noexcept;      // pre: there is room for it
  LoneNote* remove(const void* p) noexcept;  // Its room stays reserved.
  void give_if_unused() noexcept;
  LoneNote* find(const void* p, HeapRecord** record, std::size_t* bytes) noexcept;
  void recover_after_fork() noexcept;

 private:
  struct Table {
    std::size_t bits;
    LoneNote** chains() noexcept { return reinterpret_cast<LoneNote**>(this + 1); }  // 2^bits.
  };
  static std::byte* to_next(LoneNote* note) noexcept { return reinterpret_cast<std::byte*>(note); }
  static LoneNote* next_of(const LoneNote* note) noexcept {
    return reinterpret_cast<LoneNote*>(note->next);
  }
  static Table* make(std::size_t bits) noexcept;
  static LoneNote** chain_of(Table& table, const void* p) noexcept {
    return &table.chains()[hashed_place(address_of(p) >> 4, static_cast<unsigned>(table.bits))];
  }
  static void put(Table& table, LoneNote& note) noexcept {
    LoneNote** const chain = chain_of(table, note.start);
    TARN_ASSERT(note.start != nullptr && *chain != &note);
    note.next = to_next(*chain);
    *chain = &note;
  }
  void grow_locked() noexcept;
  static void give_table(Table* table) noexcept;

  os::Lock lock_;
  std::atomic<Table*> table_{nullptr};
  std::atomic<std::size_t> reserved_{0};
};

constinit Passed passed;

Passed::Table* Passed::make(std::size_t bits) noexcept {
  const std::size_t bytes = sizeof(Table) + (sizeof(LoneNote*) << bits);
  Span* const span = store.take(slices_for(bytes), 1);
  if (span == nullptr) return nullptr;
  static_cast<Page*>(span)->set_record(nullptr);
  span->set_kind(SpanKind::notes);
  page_map.set_ends(span);
  memset(span->base, 0, span->bytes());
  auto* const table = reinterpret_cast<Table*>(span->base);
  table->bits = bits;
  return table;
}

bool Passed::reserve() noexcept {
  constexpr std::size_t first_bits = 8;
  os::Locked locked(lock_);
  const std::size_t reserved = reserved_.load(std::memory_order_relaxed);
  Table* const table = table_.load(std::memory_order_relaxed);
  if (table == nullptr) {
    table_.store(make(first_bits), std::memory_order_relaxed);
    if (table_.load(std::memory_order_relaxed) == nullptr) return false;
  } else if (reserved >> table->bits != 0) {
    grow_locked();
  }
  reserved_.store(reserved + 1, std::memory_order_relaxed);
  return true;
}

void Passed::cancel() noexcept {
  os::Locked locked(lock_);
  TARN_ASSERT(reserved_.load(std::memory_order_relaxed) != 0);
  reserved_.fetch_sub(1, std::memory_order_relaxed);
}

void Passed::give_table(Table* table) noexcept {
  Span* const span = page_map.span_of(table);
  TARN_ASSERT(span->kind_now() == SpanKind::notes);
  span->set_kind(SpanKind::large);  // In use by nobody until the store has it.
  page_map.clear_ends(span->base, span->slices);
  store.give(span);
}

void Passed::give_if_unused() noexcept {
  os::Locked locked(lock_);
  Table* const table = table_.load(std::memory_order_relaxed);
  if (table == nullptr || reserved_.load(std::memory_order_relaxed) != 0) return;
  table_.store(nullptr, std::memory_order_relaxed);
  give_table(table);
}

// When there is no memory, the chains get longer, and that is all.
void Passed::grow_locked() noexcept {
  TARN_ASSERT(lock_.held_by_this_thread());
  Table* const before = table_.load(std::memory_order_relaxed);
  Table* const table = make(before->bits + 1);
  if (table == nullptr) return;
  for (std::size_t i = 0; i < std::size_t{1} << before->bits; ++i) {
    for (LoneNote* note = before->chains()[i]; note != nullptr;) {
      LoneNote& moved = *note;
      note = next_of(note);
      put(*table, moved);
    }
  }
  TARN_FORK_FENCE();
  table_.store(table, std::memory_order_relaxed);
  give_table(before);
}

void Passed::insert(LoneNote& note) noexcept {
  os::Locked locked(lock_);
  TARN_ASSERT(table_.load(std::memory_order_relaxed) != nullptr);
  put(*table_.load(std::memory_order_relaxed), note);
}

LoneNote* Passed::remove(const void* p) noexcept {
  os::Locked locked(lock_);
  LoneNote* before = nullptr;
  LoneNote** const chain = chain_of(*table_.load(std::memory_order_relaxed), p);
  for (LoneNote* note = *chain; note != nullptr; note = next_of(note)) {
    if (note->start != p) {
      before = note;
      continue;
    }
    if (before == nullptr) {
      *chain = next_of(note);
    } else {
      before->next = note->next;
    }
    return note;
  }
  return nullptr;
}

LoneNote* Passed::find(const void* p, HeapRecord** record, std::size_t* bytes) noexcept {
  if (reserved_.load(std::memory_order_relaxed) == 0) return nullptr;
  const os::LockedUnlessHeld locked(lock_);
  Table* const table = table_.load(std::memory_order_relaxed);
  if (table == nullptr) return nullptr;  // The last block has gone meanwhile.
  LoneNote* note = *chain_of(*table, p);
  while (note != nullptr && note->start != p) note = next_of(note);
  if (note != nullptr) {
    *record = note->record;
    *bytes = note->requested();
  }
  return note;
}

void Passed::recover_after_fork() noexcept {
  Table* const table = table_.load(std::memory_order_relaxed);
  if (!lock_.recover_after_fork() || table == nullptr) return;
  memset(table->chains(), 0, sizeof(LoneNote*) << table->bits);
  notes.for_each([&](LoneNote& note) noexcept {
    if (note.state() != NoteState::live || !note.has(Note::passed)) return;
    put(*table, note);
  });
}

// The record of a block, locked, while no other thread holds that heap exclusively. Null when the
// block is no heap's (any more).
HeapRecord* lock_passed(const void* p) noexcept {
  for (;;) {
    HeapRecord* record = nullptr;
    std::size_t bytes = 0;
    if (passed.find(p, &record, &bytes) == nullptr) return nullptr;
    record->lock.lock();
    HeapRecord* still = nullptr;
    passed.find(p, &still, &bytes);
    const bool exclusive = still == record && exclusive_to_another(*record);
    if (still == record && !exclusive) return record;
    record->lock.unlock();
    if (exclusive) wait_at_gate(*record);
  }
}

std::size_t charged_for(std::size_t bytes) noexcept { return bytes == 0 ? 1 : bytes; }

// Makes the block the heap's. pre: the record's lock is held, and there is room in the table
void enter(HeapRecord& record, LoneNote& note, void* block, std::size_t bytes,
           unsigned flags) noexcept {
  TARN_ASSERT(record.lock.held_by_this_thread() && note.state() == NoteState::taken);
  note.start = static_cast<std::byte*>(block);
  note.record = &record;
  note.set(NoteState::live, Note::passed | flags, bytes);
  passed.insert(note);
  record.checks->passed.push_front(&note);
  record.checks->charged += charged_for(bytes);
  count_born(*record.checks, bytes);
}

// Takes the block off the heap. Until it enters again, the child of a fork does not take it for a
// block, since it may be none by then. pre: the record's lock is held
void withdraw(HeapRecord& record, LoneNote& note) noexcept {
  TARN_ASSERT(record.lock.held_by_this_thread() && note.record == &record);
  TARN_ASSERT(record.checks->charged >= charged_for(note.requested()));
  note.set_state(NoteState::taken);
  record.checks->passed.remove(&note);
  record.checks->charged -= charged_for(note.requested());
  count_gone(*record.checks, note.requested());
}

}  // namespace

Attempt passthrough_allocate(HeapRecord& record, const Request& request) noexcept {
  const std::size_t charged = charged_for(request.bytes);
  if (HeapRecord* const refused_by = charge(record, charged)) {
    return {Outcome::refused, nullptr, refused_by};
  }
  const bool has_room = passed.reserve();
  LoneNote* const note = has_room ? notes.take() : nullptr;
  void* const block = note == nullptr ? nullptr : system_allocate(request.bytes, request.alignment);
  if (block == nullptr) {
    if (note != nullptr) notes.give(*note);
    if (has_room) passed.cancel();
    cancel_charge(record, charged);
    return {Outcome::out_of_memory, nullptr, nullptr};
  }
  note->allocated_at = request.site;
  TARN_ASSERT(request.bytes <= noted_bytes_max);
  os::Locked locked(record.lock);
  enter(record, *note, block, request.bytes, flags_of(request));
  return {Outcome::done, block, nullptr};
}

HeapRecord* passthrough_record(const void* p, std::size_t* bytes) noexcept {
  HeapRecord* record = nullptr;
  return passed.find(p, &record, bytes) == nullptr ? nullptr : record;
}

bool passthrough_free(void* p, const FreeCall& given, HeapRecord** ended) noexcept {
  HeapRecord* const record = lock_passed(p);
  if (record == nullptr) return false;
  require_thread(*record, given.function, given.site);
  LoneNote& note = *passed.remove(p);
  require_match(*record, {&note, note.start, note.requested()}, given, p);
  withdraw(*record, note);
  if (record->checks->deleted && record->checks->live_blocks == 0) *ended = record;
  if (!record->checks->deleted) uncharge(*record, charged_for(note.requested()));
  record->lock.unlock();
  notes.give(note);
  passed.cancel();
  system_free(p);
  return true;
}

// Holds the record's lock throughout: meanwhile the block is nobody's, and the heap must not end.
void* passthrough_resize(void* p, std::size_t bytes, const FreeCall& given) noexcept {
  HeapRecord* const record = lock_passed(p);
  if (record == nullptr) report_misuse(Misuse::invalid_pointer, given.function, p);
  require_thread(*record, given.function, given.site);
  LoneNote& note = *passed.remove(p);
  require_match(*record, {&note, note.start, note.requested()}, given, p);
  const unsigned origin = Note::of_origin(note.origin());
  const std::size_t requested = note.requested();
  const std::size_t before = charged_for(requested);
  const std::size_t now = charged_for(bytes);
  const std::size_t more = now > before && !record->checks->deleted ? now - before : 0;
  withdraw(*record, note);
  void* moved = nullptr;
  if (bytes <= noted_bytes_max && (more == 0 || charge(*record, more) == nullptr)) {
    const int saved = errno;
    moved = system_reallocate(p, bytes);
    if (moved == nullptr && more != 0) cancel_charge(*record, more);
    if (moved == nullptr && bytes <= requested) moved = p;
    if (moved != nullptr) errno = saved;
  }
  if (moved != nullptr && now < before && !record->checks->deleted) uncharge(*record, before - now);
  enter(*record, note, moved == nullptr ? p : moved, moved == nullptr ? requested : bytes, origin);
  const std::uint64_t due_for = soft_marks_due(*record) ? record->handle().id : 0;
  record->lock.unlock();
  if (due_for != 0) call_due_soft_marks(*record, due_for);
  return moved;
}

void passthrough_drop(LoneNote& note) noexcept {
  void* const block = note.start;
  note.set_state(NoteState::taken);
  passed.remove(block);
  passed.cancel();
  notes.give(note);
  system_free(block);
}

void passthrough_give_table() noexcept { passed.give_if_unused(); }

void passthrough_recover_after_fork() noexcept { passed.recover_after_fork(); }

void passthrough_restore(LoneNote& note) noexcept {
  HeapRecord* record = nullptr;
  std::size_t bytes = 0;
  if (passed.find(note.start, &record, &bytes) == nullptr) passed.insert(note);
}

}  // namespace tarn
