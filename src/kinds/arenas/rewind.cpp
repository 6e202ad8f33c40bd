// rewind: how blocks of an arena end (marks, resets, releases), and what an arena holds.
//
// SPDX-License-Identifier: MIT
#include "kinds/arenas/check.hpp"
#include "kinds/arenas/checked.hpp"
#include "kinds/arenas/chunk.hpp"
#include "kinds/arenas/chunks.hpp"
#include "platform/base/config.hpp"
#include "platform/os/process.hpp"
#include "platform/report/misuse.hpp"
#include "platform/report/options.hpp"

namespace tarn {

namespace {

void run_releases(tarn_arena& arena, const tarn_arena_release* until) noexcept {
  while (arena.releases != until && arena.releases != nullptr) {
    // It is taken off the list first, since the function may rewind the arena and register others.
    const tarn_arena_release release = *arena.releases;
    arena.releases = release.before;
    release.run(release.context);
  }
}

template <class T>
bool is_in(const T* wanted, const T* list, T* T::*next) noexcept {
  while (list != wanted && list != nullptr) list = list->*next;
  return list == wanted;
}

bool is_mark_of(const tarn_arena& arena, const tarn_arena_mark& mark) noexcept {
  if (!is_in(mark.current, arena.current, &tarn_arena_chunk::older) ||
      mark.acquired > arena.acquired || mark.noted > arena.noted ||
      !is_in(mark.releases, arena.releases, &tarn_arena_release::before)) {
    return false;
  }
  tarn_arena_chunk* const chunk = mark.current;
  return chunk == nullptr ? mark.cursor == nullptr
                          : mark.cursor >= first_in(chunk) && mark.cursor <= end_of(chunk);
}

// Moves the current chunk, whose blocks have all ended, to the retained ones.
void retain_current(tarn_arena& arena) noexcept {
  tarn_arena_chunk* const chunk = arena.current;
  TARN_ASSERT(is_torn(arena) || arena.cursor >= first_in(chunk));
  close_range(arena, first_in(chunk), arena.cursor);
  arena.current = chunk->older;
  chunk->older = arena.retained;
  arena.retained = chunk;
  arena.cursor = arena.current == nullptr ? nullptr : arena.current->last;
}

void rewind_to(tarn_arena& arena, const tarn_arena_mark& mark, const char* function,
               const void* here) noexcept {
  note_peak(arena);
  if (is_checked(arena)) end_notes(arena, mark, function, here);
  // A large chunk that was there at the mark may have gone, so the numbers tell which are younger.
  while (arena.large != nullptr && arena.large->number > mark.acquired) release_large(arena);
  while (arena.current != mark.current) retain_current(arena);
  TARN_ASSERT(mark.cursor == nullptr || is_aligned(mark.cursor, arena_grain));
  TARN_ASSERT(is_torn(arena) || arena.large != nullptr || arena.large_bytes == 0);
  // The cursor is below the mark if older blocks have been deallocated since.
  if (mark.cursor < arena.cursor) close_range(arena, mark.cursor, arena.cursor);
  set_cursor(arena, mark.cursor < arena.cursor ? mark.cursor : arena.cursor);
}

// Updates the estimate of what nine of ten uses need. See docs/design/arena.md.
void learn(tarn_arena& arena, std::size_t used) noexcept {
  std::size_t& typical = arena.typical_bytes;
  if (arena.resets++ == 0) {
    typical = used;
  } else if (used > typical) {
    const std::size_t raised = typical + typical / 40 * 9 + arena_grain;
    typical = raised < used ? raised : used;
  } else if (used < typical) {
    const std::size_t lowered = typical - typical / 40;
    typical = lowered > used ? lowered : used;
  }
  TARN_ASSERT(typical <= arena.used_peak);
}

// Keeps those retained chunks that would be used first, and releases the others. keep_bytes: chunks
// are kept as long as they fit into it; or, for TYPICAL, until the typical use fits into them.
void release_retained(tarn_arena& arena, std::size_t keep_bytes) noexcept {
  const bool typical = keep_bytes == TARN_ARENA_KEEP_TYPICAL;
  const std::size_t limit = typical ? arena.typical_bytes : keep_bytes;
  std::size_t kept = 0;
  tarn_arena_chunk** link = &arena.retained;
  while (*link != nullptr) {
    tarn_arena_chunk* const chunk = *link;
    const bool stays = typical ? kept < limit : chunk->bytes <= limit - kept;
    if (stays) {
      kept += typical ? distance(first_in(chunk), end_of(chunk)) : chunk->bytes;
      link = &chunk->older;
    } else {
      *link = chunk->older;
      release_chunk(arena, chunk);
    }
  }
}

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

void tarn_arena_rewind(tarn_arena* arena, const tarn_arena_mark* mark) {
  const void* const here = __builtin_return_address(0);
  const auto require = [&](bool is_of) {
    if (is_of) return;
    OwnerReport report = report_about(*arena, nullptr, nullptr);
    report.function = "tarn_arena_rewind";
    report.here = here;
    report_invalid_mark(report);
  };
  require(is_mark_of(*arena, *mark));
  run_releases(*arena, mark->releases);
  require(is_mark_of(*arena, *mark));  // The functions may have rewound the arena further.
  rewind_to(*arena, *mark, "tarn_arena_rewind", here);
}

void tarn_arena_reset_keeping(tarn_arena* arena, std::size_t keep_bytes) {
  run_releases(*arena, nullptr);
  rewind_to(*arena, {}, "tarn_arena_reset", __builtin_return_address(0));
  TARN_ASSERT(arena->releases == nullptr && arena->large == nullptr && arena->cursor == nullptr);
  learn(*arena, arena->cycle_peak);
  arena->cycle_peak = 0;
  release_retained(*arena, keep_bytes);
  TARN_ASSERT(check_if_whole(*arena));
}

void tarn_arena_reset(tarn_arena* arena) { tarn_arena_reset_keeping(arena, arena->keep_bytes); }

std::size_t tarn_arena_trim(tarn_arena* arena) {
  const std::size_t before = arena->held_bytes;
  release_retained(*arena, 0);
  TARN_ASSERT(check_if_whole(*arena));
  return before - arena->held_bytes;
}

int tarn_arena_owns(const tarn_arena* arena, const void* p) {
  if (arena->current != nullptr && p >= first_in(arena->current) && p < arena->cursor) return 1;
  for (tarn_arena_chunk* c = arena->current; c != nullptr; c = c->older) {
    if (c != arena->current && p >= first_in(c) && p < c->last) return 1;
  }
  for (tarn_arena_chunk* c = arena->large; c != nullptr; c = c->older) {
    if (p >= c->last && p < c->last + c->before) return 1;
  }
  return 0;
}

int tarn_arena_get_stats(const tarn_arena* arena, tarn_arena_stats* stats) {
  if (stats == nullptr || !is_sized(*stats, "tarn_arena_get_stats", "TARN_ARENA_STATS")) {
    return os::fail(os::Error::invalid);
  }
  *stats = {};
  stats->bytes = sizeof(tarn_arena_stats);
  stats->used_bytes = used_bytes(*arena);
  stats->used_peak = stats->used_bytes > arena->used_peak ? stats->used_bytes : arena->used_peak;
  TARN_ASSERT(is_torn(*arena) || stats->used_bytes <= arena->held_bytes);
  stats->held_bytes = arena->held_bytes;
  stats->retained_bytes = count_of(arena->retained).bytes;
  stats->typical_bytes = arena->typical_bytes;
  stats->chunks = arena->acquired - arena->released;
  stats->large_blocks = count_of(arena->large).chunks;
  stats->chunks_acquired = arena->acquired;
  stats->chunks_released = arena->released;
  stats->resets = arena->resets;
  return 0;
}

}  // extern "C"
