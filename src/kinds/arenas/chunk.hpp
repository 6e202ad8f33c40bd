// chunk: the chunks, notes and state of an arena. tarn/arena/arena.h has the hit path,
// docs/design/arena.md has the picture and the invariants.
//
//   chunk:  | tarn_arena_chunk | (note | ) block | (canary |) ... up to the cursor | room |
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "kinds/sources/checked_blocks.hpp"
#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"
#include "tarn/arena/arena.h"

struct alignas(TARN_ARENA_GRAIN) tarn_arena_chunk {
  tarn_arena_chunk* older;
  std::size_t bytes;     // As granted.
  std::size_t before;    // Bytes in use in older chunks. In a large chunk: in use in itself.
  char* last;            // The cursor when the next chunk was opened. In a large chunk: its block.
  std::uint64_t number;  // 1 for the first chunk that the arena acquired, 2 for the next one.
  std::uintptr_t name;   // By this a tool knows the chunk.
};

namespace tarn {

inline constexpr std::size_t arena_grain = TARN_ARENA_GRAIN;
inline constexpr std::size_t arena_bytes_max = PTRDIFF_MAX;

// Lies in front of each block of a checked arena.
struct alignas(TARN_ARENA_GRAIN) ArenaNote {
  ArenaNote* before;  // The note of the block that was allocated before, in whatever chunk.
  char* block;
  std::size_t bytes;
  const void* site;
  std::uint64_t number;  // From 1 on, in the order of allocation.
};

static_assert(sizeof(tarn_arena_chunk) % arena_grain == 0 && sizeof(ArenaNote) % arena_grain == 0);

// What `state` holds beside the bits of OwnerState.
enum ArenaState : std::uint32_t {
  arena_is_ending = owner_own_bit,
  // A fork came in the middle of a change by another thread, so the counts may be wrong.
  arena_is_torn = owner_own_bit << 1,
};

inline bool is_checked(const tarn_arena& arena) noexcept {
  return mode_of(arena) == TARN_MODE_CHECKED;
}
inline bool is_torn(const tarn_arena& arena) noexcept { return (arena.state & arena_is_torn) != 0; }

inline char* first_in(tarn_arena_chunk* chunk) noexcept {
  return reinterpret_cast<char*>(chunk) + sizeof(tarn_arena_chunk);
}
inline char* end_of(tarn_arena_chunk* chunk) noexcept {
  return reinterpret_cast<char*>(chunk) + (chunk->bytes & ~(arena_grain - 1));
}
inline bool lies_in(const void* p, tarn_arena_chunk* chunk) noexcept {
  return p >= first_in(chunk) && p < end_of(chunk);
}

// The number of chunks in a list, and the bytes that they were granted.
struct ChunkCount {
  std::uint64_t chunks = 0;
  std::uint64_t bytes = 0;
};

inline ChunkCount count_of(const tarn_arena_chunk* list) noexcept {
  ChunkCount count;
  for (; list != nullptr; list = list->older) {
    ++count.chunks;
    count.bytes += list->bytes;
  }
  return count;
}

inline std::size_t rounded(std::size_t bytes) noexcept { return align_up(bytes, arena_grain); }
inline std::size_t distance(const char* from, const char* to) noexcept {
  return static_cast<std::size_t>(to - from);
}

inline std::size_t used_bytes(const tarn_arena& arena) noexcept {
  const std::size_t in_chunks =
      arena.current == nullptr
          ? 0
          : arena.current->before + distance(first_in(arena.current), arena.cursor);
  return in_chunks + arena.large_bytes;
}

// Moves the cursor. In a checked arena the hit path must find no room, so `end` is the cursor.
inline void set_cursor(tarn_arena& arena, char* cursor) noexcept {
  TARN_ASSERT(arena.current == nullptr
                  ? cursor == nullptr
                  : cursor >= first_in(arena.current) && cursor <= end_of(arena.current));
  arena.cursor = cursor;
  arena.end = is_checked(arena) || arena.current == nullptr ? cursor : end_of(arena.current);
}
inline char* room_end(const tarn_arena& arena) noexcept {
  return arena.current == nullptr ? arena.cursor : end_of(arena.current);
}

inline void note_peak(tarn_arena& arena) noexcept {
  const std::size_t used = used_bytes(arena);
  if (used > arena.cycle_peak) arena.cycle_peak = used;
  if (used > arena.used_peak) arena.used_peak = used;
}

}  // namespace tarn
