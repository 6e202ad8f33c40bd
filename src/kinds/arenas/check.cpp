// check: see check.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/arenas/check.hpp"

namespace tarn {

namespace {

// The notes of a checked arena are numbered in the order of allocation, and so are the chunks that
// they lie in: a large chunk has one of them.
bool check_notes(const tarn_arena& arena) noexcept {
  tarn_arena_chunk* open = arena.current;
  tarn_arena_chunk* large = arena.large;
  std::uint64_t number = arena.noted + 1;
  for (const auto* n = static_cast<const ArenaNote*>(arena.notes); n != nullptr; n = n->before) {
    if (large != nullptr && lies_in(n, large)) {
      large = large->older;
    } else {
      while (open != nullptr && !lies_in(n, open)) open = open->older;
      if (open == nullptr) return false;
    }
    if (n->number >= number || n->block < reinterpret_cast<const char*>(n + 1)) return false;
    number = n->number;
  }
  return true;
}

}  // namespace

bool check_arena(const tarn_arena& arena) noexcept {
  const ChunkCount open = count_of(arena.current);
  const ChunkCount large = count_of(arena.large);
  const ChunkCount retained = count_of(arena.retained);
  if (open.chunks + large.chunks + retained.chunks != arena.acquired - arena.released ||
      open.bytes + large.bytes + retained.bytes != arena.held_bytes ||
      (arena.limit_bytes != 0 && arena.held_bytes > arena.limit_bytes) ||
      arena.cycle_peak > arena.used_peak || !check_notes(arena)) {
    return false;
  }
  if (arena.current == nullptr) {
    if (arena.cursor != nullptr || arena.end != nullptr) return false;
  } else {
    char* const end = end_of(arena.current);
    if (arena.cursor < first_in(arena.current) || arena.cursor > end ||
        arena.end != (is_checked(arena) ? arena.cursor : end) ||
        !is_aligned(arena.cursor, arena_grain)) {
      return false;
    }
  }
  std::size_t before = arena.current == nullptr ? 0 : arena.current->before;
  for (tarn_arena_chunk* c = arena.current; c != nullptr; c = c->older) {
    if (c->before != before) return false;
    if (c->older == nullptr) return before == 0;
    before -= distance(first_in(c->older), c->older->last);
  }
  return true;
}

}  // namespace tarn

using namespace tarn;

extern "C" {

int tarn_arena_check(const tarn_arena* arena) { return check_arena(*arena) ? 1 : 0; }

}  // extern "C"
