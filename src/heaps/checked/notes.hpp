// notes: what is known of a block that is checked: how much was asked for, whether it is live, and
// where it came from and went. Notes of blocks that share a span lie in a span of their own; those
// of lone blocks are records, never freed, only reused.
//
//   word   | state 8 | flags 8 | requested bytes 48 |     32 bytes a note, 64 a lone one
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
#include "platform/os/thread.hpp"

namespace tarn {

struct HeapRecord;

enum class NoteState : std::uint8_t {
  spare,  // No block; also what zero memory says.
  taken,  // Its block is about to begin or to end.
  live,
  kept_back,  // Freed, and not yet to be used again.
  freed,      // The place may be used again.
};

struct Note {
  std::atomic<std::uint64_t> word{0};  // Written under the record's lock.
  const void* allocated_at = nullptr;  // Return addresses of the public functions.
  const void* freed_at = nullptr;
  std::byte* next = nullptr;  // A block: the next one that is kept back, or place that is free.

  static constexpr unsigned state_shift = 56;
  static constexpr unsigned flag_shift = 48;
  static constexpr std::uint64_t requested_mask = (std::uint64_t{1} << flag_shift) - 1;
  static constexpr unsigned guarded = 1;  // An inaccessible page follows.
  static constexpr unsigned rounded = 2;  // Of one size: what was asked for may have been less.
  static constexpr unsigned passed = 4;   // A block of the system's malloc.

  NoteState state() const noexcept {
    return static_cast<NoteState>(word.load(std::memory_order_relaxed) >> state_shift);
  }
  std::size_t requested() const noexcept {
    return word.load(std::memory_order_relaxed) & requested_mask;
  }
  bool has(unsigned flag) const noexcept {
    return (word.load(std::memory_order_relaxed) >> flag_shift & flag) != 0;
  }
  void set(NoteState state, unsigned flags, std::size_t requested) noexcept {
    word.store(static_cast<std::uint64_t>(state) << state_shift |
                   std::uint64_t{flags} << flag_shift | requested,
               std::memory_order_relaxed);
  }
  void set_state(NoteState state) noexcept {
    const std::uint64_t rest = word.load(std::memory_order_relaxed) << 8 >> 8;
    word.store(static_cast<std::uint64_t>(state) << state_shift | rest, std::memory_order_relaxed);
  }
};
static_assert(sizeof(Note) == 32);

// More is nowhere to be had, and no note could say it.
inline constexpr std::size_t noted_bytes_max = std::size_t{1} << (Note::flag_shift - 1);
static_assert(noted_bytes_max >> (address_bits - 1) != 0);

// Of a block that shares its span with none, or of one of the system's malloc. The list is the
// notes' when spare (newer only), else the heap's; `next` of a block of malloc's: see Passed.
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
  void give(LoneNote& note) noexcept;

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

 private:
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
