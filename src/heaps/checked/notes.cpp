// notes: see notes.hpp.
//
// SPDX-License-Identifier: MIT
#include "heaps/checked/notes.hpp"

#include <new>

#include "engine/store/store.hpp"
#include "platform/base/check.hpp"
#include "platform/base/config.hpp"

namespace tarn {

constinit Notes notes;

LoneNote* Notes::take() noexcept {
  os::Locked locked(lock_);
  if (spare_ == nullptr) {
    void* const memory = store.allocate_record(sizeof(Group));
    if (memory == nullptr) return nullptr;
    auto* const group = new (memory) Group;
    group->before = known_;
    TARN_FORK_FENCE();
    known_ = group;
    for (LoneNote& note : group->notes) {
      note.newer = spare_;
      spare_ = &note;
    }
  }
  // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a group has notes.
  LoneNote& note = *spare_;
  TARN_ASSERT(note.state() == NoteState::spare && note.record == nullptr);
  spare_ = note.newer;
  note.newer = note.older = nullptr;
  note.next = nullptr;
  note.allocated_at = note.freed_at = nullptr;
  note.set(NoteState::taken, 0, 0);
  return &note;
}

void Notes::give(LoneNote& note) noexcept {
  TARN_ASSERT_EVERY(256, check());
  os::Locked locked(lock_);
  TARN_ASSERT(note.state() != NoteState::spare && &note != spare_);
  note.record = nullptr;
  note.start = nullptr;
  note.set(NoteState::spare, 0, 0);
  note.newer = spare_;
  spare_ = &note;
}

// What a vanished thread had taken stays taken, a note or two.
void Notes::recover_after_fork() noexcept {
  if (!lock_.recover_after_fork()) return;
  spare_ = nullptr;
  for (Group* g = known_; g != nullptr; g = g->before) {
    for (LoneNote& note : g->notes) {
      if (note.state() != NoteState::spare) continue;
      note.newer = spare_;
      spare_ = &note;
    }
  }
}

#ifdef TARN_DEBUG
bool Notes::check() noexcept {
  os::Locked locked(lock_);
  std::size_t unused = 0;
  for (const Group* g = known_; g != nullptr; g = g->before) {
    for (const LoneNote& note : g->notes) unused += note.state() == NoteState::spare ? 1 : 0;
  }
  std::size_t listed = 0;
  for (const LoneNote* note = spare_; note != nullptr; note = note->newer) {
    if (note->state() != NoteState::spare || note->start != nullptr) return false;
    if (++listed > unused) return false;
  }
  return listed == unused;
}
#endif

}  // namespace tarn
