// checked: see checked.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/arenas/checked.hpp"

#include <cstring>
#include <new>

#include "kinds/sources/checked_blocks.hpp"
#include "platform/base/fill.hpp"
#include "platform/os/watchers.hpp"
#include "platform/stack/stacks.hpp"

namespace tarn {

namespace {

char* block_end_of(const ArenaNote& note) noexcept { return note.block + note.bytes; }
// The canary reaches to a multiple of the grain.
char* canary_end_of(const ArenaNote& note) noexcept {
  return note.block + rounded(note.bytes + canary_bytes);
}

void begin_canary(const tarn_arena& arena, const ArenaNote& note) noexcept {
  if (!is_watched(arena)) write_canary(block_end_of(note), canary_end_of(note));
}

void check_canary(const tarn_arena& arena, const ArenaNote& note, const char* function,
                  const void* here) noexcept {
  if (is_watched(arena)) return;
  const char* const wrong = first_changed(block_end_of(note), canary_end_of(note), canary_byte);
  if (wrong == nullptr) return;
  OwnerReport report = report_about(arena, wrong, &note);
  report.kind = Misuse::overrun;
  report.function = function;
  report.here = here;
  report_owner_misuse(report);
}

ArenaNote* newest_note(const tarn_arena& arena) noexcept {
  return static_cast<ArenaNote*>(arena.notes);
}

bool lies_in_any(const void* p, tarn_arena_chunk* chunks) noexcept {
  while (chunks != nullptr && !lies_in(p, chunks)) chunks = chunks->older;
  return chunks != nullptr;
}

bool explain(const void* owner, const void* address) {
  const auto& arena = *static_cast<const tarn_arena*>(owner);
  if (!lies_in_any(address, arena.current) && !lies_in_any(address, arena.large) &&
      !lies_in_any(address, arena.retained)) {
    return false;
  }
  const ArenaNote* found = nullptr;
  for (const ArenaNote* note = newest_note(arena); note != nullptr; note = note->before) {
    if (address >= note->block && address < canary_end_of(*note)) found = note;
  }
  explain_owner_address(report_about(arena, address, found), true);
  return true;
}

}  // namespace

OwnerReport report_about(const tarn_arena& arena, const void* p, const ArenaNote* note) noexcept {
  OwnerReport report = report_of(arena, p);
  report.owner_kind = "arena";
  if (note == nullptr) return report;
  report.start = note->block;
  report.bytes = note->bytes;
  report.allocated_at = note->site;
  return report;
}

std::size_t overhead_of_checks(std::size_t alignment) noexcept {
  return sizeof(ArenaNote) + alignment + canary_bytes;
}

void* place_checked(tarn_arena& arena, std::size_t bytes, std::size_t alignment,
                    const void* here) noexcept {
  char* const at = arena.cursor;
  char* const after = at + sizeof(ArenaNote);
  char* const block = after + ((0 - address_of(after)) & (alignment - 1));
  TARN_ASSERT(distance(at, block) <= overhead_of_checks(alignment) - canary_bytes);
  TARN_ASSERT(bytes <= distance(block, end_of(arena.current)));
  if (is_watched(arena)) {
    os::watch_open(at, sizeof(ArenaNote));
    os::watch_open(block, bytes);
  }
  auto* const note =
      new (at) ArenaNote{newest_note(arena), block, bytes, stacks.at(here), ++arena.noted};
  begin_canary(arena, *note);
  arena.notes = note;
  set_cursor(arena, canary_end_of(*note));
  return block;
}

void end_notes(tarn_arena& arena, const tarn_arena_mark& mark, const char* function,
               const void* here) noexcept {
  // An older block that has grown beyond the mark ends as well, since it loses part of its place.
  const auto ends = [&mark](const ArenaNote& note) {
    if (note.number > mark.noted) return true;
    const bool beside = mark.current != nullptr && note.block >= first_in(mark.current) &&
                        note.block < end_of(mark.current);
    return beside && canary_end_of(note) > mark.cursor;
  };
  ArenaNote* note = newest_note(arena);
  for (; note != nullptr && ends(*note); note = note->before) {
    check_canary(arena, *note, function, here);
  }
  arena.notes = note;
}

void forget_block(tarn_arena& arena, const char* function, const void* here) noexcept {
  ArenaNote* const note = newest_note(arena);
  TARN_ASSERT(note->before == nullptr || note->before->number < note->number);
  check_canary(arena, *note, function, here);
  arena.notes = note->before;
}

void resize_checked(tarn_arena& arena, std::size_t bytes) noexcept {
  ArenaNote& note = *newest_note(arena);
  TARN_ASSERT(note.block >= first_in(arena.current) && canary_end_of(note) <= arena.cursor);
  check_canary(arena, note, "tarn_arena_resize", nullptr);
  if (is_watched(arena)) {
    if (bytes > note.bytes) {
      os::watch_open(block_end_of(note), bytes - note.bytes);
    } else {
      os::watch_close(note.block + bytes, note.bytes - bytes);
    }
  }
  note.bytes = bytes;
  begin_canary(arena, note);
  set_cursor(arena, canary_end_of(note));
}

void close_range(tarn_arena& arena, char* from, char* to) noexcept {
  // If the source takes nothing back, blocks outlive the arena, and other threads may read them.
  const bool stays = arena.source.release == nullptr && (arena.state & arena_is_ending) != 0;
  if (from >= to || stays) return;
  if (is_watched(arena)) return os::watch_close(from, distance(from, to));
  if (is_checked(arena)) std::memset(from, freed_byte, distance(from, to));
}

void name_chunk(const tarn_arena& arena, tarn_arena_chunk* chunk) noexcept {
  chunk->name = os::watch_name(first_in(chunk), chunk->bytes - sizeof *chunk, "chunk of the arena",
                               arena.name);
}

void watch_arena(tarn_arena& arena) noexcept { watch_owner(arena, explain); }

}  // namespace tarn
