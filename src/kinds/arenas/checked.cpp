// checked: see checked.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/arenas/checked.hpp"

#include <cstring>
#include <new>

#include "platform/base/fill.hpp"
#include "platform/os/watchers.hpp"

namespace tarn {

namespace {

// From the end of the block to the next multiple of the grain, and 8 bytes at least.
std::size_t canary_bytes_of(const ArenaNote& note) noexcept {
  return rounded(note.bytes + arena_canary_bytes) - note.bytes;
}

void write_canary(const tarn_arena& arena, const ArenaNote& note) noexcept {
  if (is_watched(arena)) return;
  std::memset(note.block + note.bytes, canary_byte, canary_bytes_of(note));
}

void check_canary(const tarn_arena& arena, const ArenaNote& note, const char* function,
                  const void* here) noexcept {
  if (is_watched(arena)) return;
  const char* const canary = note.block + note.bytes;
  const char* const end = canary + canary_bytes_of(note);
  const char* const wrong = first_other(canary, end, canary_byte);
  if (wrong == end) return;
  OwnerReport report = report_about(arena, wrong, &note);
  report.kind = Misuse::overrun;
  report.function = function;
  report.here = here;
  report_owner_misuse(report);
}

ArenaNote* newest_note(const tarn_arena& arena) noexcept {
  return static_cast<ArenaNote*>(arena.notes);
}

bool lies_in(const void* p, tarn_arena_chunk* chunks) noexcept {
  for (tarn_arena_chunk* c = chunks; c != nullptr; c = c->older) {
    if (p >= first_in(c) && p < end_of(c)) return true;
  }
  return false;
}

bool explain(const void* owner, const void* address) {
  const auto& arena = *static_cast<const tarn_arena*>(owner);
  if (!lies_in(address, arena.current) && !lies_in(address, arena.large) &&
      !lies_in(address, arena.retained)) {
    return false;
  }
  const ArenaNote* found = nullptr;
  for (const ArenaNote* note = newest_note(arena); note != nullptr; note = note->before) {
    const char* const end = note->block + note->bytes + canary_bytes_of(*note);
    if (address >= note->block && address < end) found = note;
  }
  explain_owner_address(report_about(arena, address, found), true);
  return true;
}

static_assert(sizeof(os::Watched) <= sizeof(tarn_arena::watched));

}  // namespace

OwnerReport report_about(const tarn_arena& arena, const void* p, const ArenaNote* note) noexcept {
  OwnerReport report{};
  report.p = p;
  report.owner_kind = "arena";
  report.owner_name = arena.name;
  report.owner = &arena;
  if (note == nullptr) return report;
  report.start = note->block;
  report.bytes = note->bytes;
  report.allocated_at = note->site;
  return report;
}

std::size_t overhead_of_checks(std::size_t alignment) noexcept {
  return sizeof(ArenaNote) + alignment + arena_canary_bytes;
}

void* place_checked(tarn_arena& arena, std::size_t bytes, std::size_t alignment,
                    const void* here) noexcept {
  char* const at = arena.cursor;
  char* const after = at + sizeof(ArenaNote);
  char* const block = after + ((0 - address_of(after)) & (alignment - 1));
  if (is_watched(arena)) {
    os::watch_open(at, sizeof(ArenaNote));
    os::watch_open(block, bytes);
  }
  auto* const note = new (at) ArenaNote{newest_note(arena), block, bytes, here, ++arena.noted};
  write_canary(arena, *note);
  arena.notes = note;
  set_cursor(arena, block + bytes + canary_bytes_of(*note));
  return block;
}

void end_notes(tarn_arena& arena, const tarn_arena_mark& mark, const char* function,
               const void* here) noexcept {
  // An older block that has grown beyond the mark ends as well, since it loses part of its place.
  const auto ends = [&mark](const ArenaNote& note) {
    if (note.number > mark.noted) return true;
    const bool beside = mark.current != nullptr && note.block >= first_in(mark.current) &&
                        note.block < end_of(mark.current);
    return beside && note.block + note.bytes + canary_bytes_of(note) > mark.cursor;
  };
  ArenaNote* note = newest_note(arena);
  for (; note != nullptr && ends(*note); note = note->before) {
    check_canary(arena, *note, function, here);
  }
  arena.notes = note;
}

void forget_block(tarn_arena& arena, const char* function, const void* here) noexcept {
  ArenaNote* const note = newest_note(arena);
  check_canary(arena, *note, function, here);
  arena.notes = note->before;
}

void resize_checked(tarn_arena& arena, std::size_t bytes) noexcept {
  ArenaNote& note = *newest_note(arena);
  check_canary(arena, note, "tarn_arena_resize", nullptr);
  if (is_watched(arena)) {
    if (bytes > note.bytes) {
      os::watch_open(note.block + note.bytes, bytes - note.bytes);
    } else {
      os::watch_close(note.block + bytes, note.bytes - bytes);
    }
  }
  note.bytes = bytes;
  write_canary(arena, note);
  set_cursor(arena, note.block + bytes + canary_bytes_of(note));
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

void watch_arena(tarn_arena& arena) noexcept {
  arena.state |= arena_is_watched;
  os::watch_add(new (arena.watched) os::Watched{nullptr, nullptr, &arena, explain});
}

void unwatch_arena(tarn_arena& arena) noexcept {
  if (!is_watched(arena)) return;
  os::watch_remove(std::launder(reinterpret_cast<os::Watched*>(arena.watched)));
  arena.state &= ~std::uint32_t{arena_is_watched};
}

}  // namespace tarn
