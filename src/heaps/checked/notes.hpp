// notes: what is known of a block that is checked: how much was asked for, whether it is live, and
// where it came from and went. Notes of blocks that share a span lie in a span of their own; those
// of lone blocks are records, never freed, only reused.
//
//   word   | state 4 | flags 12 | requested bytes 48 |    32 bytes a note, 64 a lone one
//
// Lock order: a heap's record, Passed, Notes, store.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/layout/geometry.hpp"
#include "heaps/heap/request.hpp"
#include "platform/base/check.hpp"
#include "platform/os/thread.hpp"

namespace tarn {

struct HeapRecord;

enum class NoteState : std::uint8_t {
  spare,  // There is no block. Memory that reads as zero says so.
  taken,  // Its block is about to begin or to end.
  live,
  kept_back,  // In quarantine: freed, and not yet to be used again.
  freed,      // The place may be used again.
};

// For assertions: a block comes into quarantine only from its life, and only a place that had a
// block becomes free.
constexpr bool may_become(NoteState from, NoteState to) noexcept {
  switch (to) {
    case NoteState::kept_back: return from == NoteState::live || from == NoteState::taken;
    case NoteState::freed: return from != NoteState::spare && from != NoteState::freed;
    default: return true;
  }
}

struct Note {
  std::atomic<std::uint64_t> word{0};  // Written under the record's lock.
  const void* allocated_at = nullptr;  // Return addresses of the public functions.
  const void* freed_at = nullptr;
  std::byte* next = nullptr;  // The next block in quarantine, or the next place that is free.

  static constexpr unsigned state_shift = 60;
  static constexpr unsigned flag_shift = 48;
  static constexpr std::uint64_t requested_mask = (std::uint64_t{1} << flag_shift) - 1;
  static constexpr unsigned guarded = 1;       // An inaccessible page follows.
  static constexpr unsigned rounded = 2;       // Of one size: the program may have asked for less.
  static constexpr unsigned passed = 4;        // A block of the system's malloc.
  static constexpr unsigned origin_shift = 3;  // Of the bits that say what it comes from.
  static constexpr unsigned flags_most = (1U << (origin_shift + Origin::bits_count)) - 1;

  static constexpr unsigned of_origin(Origin origin) noexcept {
    return unsigned{origin.bits()} << origin_shift;
  }

  NoteState state() const noexcept {
    return static_cast<NoteState>(word.load(std::memory_order_relaxed) >> state_shift);
  }
  std::size_t requested() const noexcept {
    return word.load(std::memory_order_relaxed) & requested_mask;
  }
  bool has(unsigned flag) const noexcept {
    return (word.load(std::memory_order_relaxed) >> flag_shift & flag) != 0;
  }
  Origin origin() const noexcept {
    return Origin::of_bits(word.load(std::memory_order_relaxed) >> (flag_shift + origin_shift));
  }
  void set(NoteState state, unsigned flags, std::size_t requested) noexcept {
    TARN_ASSERT(requested <= requested_mask && flags <= flags_most);
    TARN_ASSERT(may_become(this->state(), state));
    word.store(static_cast<std::uint64_t>(state) << state_shift |
                   std::uint64_t{flags} << flag_shift | requested,
               std::memory_order_relaxed);
  }
  void set_state(NoteState state) noexcept {
    TARN_ASSERT(may_become(this->state(), state));
    constexpr std::uint64_t rest_mask = (std::uint64_t{1} << state_shift) - 1;
    const std::uint64_t rest = word.load(std::memory_order_relaxed) & rest_mask;
    word.store(static_cast<std::uint64_t>(state) << state_shift | rest, std::memory_order_relaxed);
  }
};
static_assert(sizeof(Note) == 32);
static_assert(Note::flags_most >> (Note::state_shift - Note::flag_shift) == 0);

// No allocation can be larger, so the field of a note is wide enough.
inline constexpr std::size_t noted_bytes_max = std::size_t{1} << (Note::flag_shift - 1);
static_assert(noted_bytes_max >> (address_bits - 1) != 0);

// The note of a block that has its span to itself, or of a block of the system's malloc. A spare
// one is on the list of `notes` (newer only), any other on its heap's. For a block of the system's
// malloc, `next` is a link of the table in passthrough.cpp.
struct LoneNote : Note {
  std::byte* start = nullptr;
  HeapRecord* record = nullptr;
  LoneNote* newer = nullptr;
  LoneNote* older = nullptr;
};
static_assert(sizeof(LoneNote) == 64);

class Notes {
 public:
  // In state taken; null when out of memory. Takes the lock.
  LoneNote* take() noexcept;
  void give(LoneNote& note) noexcept;  // pre: it is not spare

  // Calls visit(note) for every note that is not spare. In the child of a fork.
  template <class Visit>
  void for_each(Visit visit) noexcept {
    for (Group* g = known_; g != nullptr; g = g->before) {
      for (LoneNote& note : g->notes) {
        if (note.state() != NoteState::spare) visit(note);
      }
    }
  }

  void recover_after_fork() noexcept;

  // For assertions, in debug builds alone: true when the spare list holds the spare notes, each
  // once. Takes the lock.
  bool check() noexcept;

 private:
  friend struct NotesAccess;  // Of the tests.

  static constexpr std::size_t group_notes_ = 63;
  struct Group {
    std::array<LoneNote, group_notes_> notes{};
    Group* before = nullptr;
  };

  os::Lock lock_;
  LoneNote* spare_ = nullptr;  // Linked by newer.
  Group* known_ = nullptr;
};

extern Notes notes;

}  // namespace tarn
