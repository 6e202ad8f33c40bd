// arena: how arenas are made and end, and the slow paths of blocks. See tarn/arena/arena.h.
//
// SPDX-License-Identifier: MIT
#include <new>

#include "kinds/arenas/check.hpp"
#include "kinds/arenas/checked.hpp"
#include "kinds/arenas/chunk.hpp"
#include "kinds/arenas/chunks.hpp"
#include "kinds/sources/checked_blocks.hpp"
#include "kinds/sources/source_contract.hpp"
#include "platform/base/config.hpp"
#include "platform/base/fill.hpp"
#include "platform/os/process.hpp"
#include "platform/os/watchers.hpp"
#include "platform/report/options.hpp"

namespace tarn {

namespace {

constexpr std::size_t chunk_bytes_default = 16 * 1024;
constexpr std::size_t chunk_bytes_max_default = 4 * 1024 * 1024;
constexpr std::size_t options_bytes_max = PTRDIFF_MAX / 4;

void* fail_null(os::Error error) noexcept {
  os::set_error(error);
  return nullptr;
}

bool are_sound(const tarn_arena_options& options) noexcept {
  return is_sized(options, "tarn_arena_init", "TARN_ARENA_OPTIONS") &&
         is_mode(options.mode, "tarn_arena_init") && options.chunk_bytes <= options_bytes_max &&
         options.chunk_bytes_max <= options_bytes_max &&
         (options.chunk_bytes_max == 0 || options.chunk_bytes_max >= options.chunk_bytes);
}

// The place for a block behind the cursor; null: it does not fit.
char* fit(const tarn_arena& arena, std::size_t bytes, std::size_t alignment) noexcept {
  TARN_ASSERT(is_power_of_two(alignment) && is_aligned(arena.cursor, arena_grain));
  const std::size_t room = distance(arena.cursor, room_end(arena));
  const std::size_t padding = (0 - address_of(arena.cursor)) & (alignment - 1);
  if (padding > room || bytes > room - padding) return nullptr;
  return arena.cursor + padding;
}

// pre: 0 < bytes <= arena_bytes_max; alignment is a power of two, at least the grain
void* place(tarn_arena& arena, std::size_t bytes, std::size_t alignment,
            const void* here) noexcept {
  TARN_ASSERT(!is_lone(arena) && bytes != 0 && alignment >= arena_grain);
  if (is_checked(arena)) {
    const std::size_t most = rounded(bytes) + overhead_of_checks(alignment);
    return fit(arena, most, arena_grain) == nullptr ? nullptr
                                                    : place_checked(arena, bytes, alignment, here);
  }
  char* const block = fit(arena, rounded(bytes), alignment);
  if (block != nullptr) set_cursor(arena, block + rounded(bytes));
  return block;
}

void* allocate(tarn_arena& arena, std::size_t bytes, std::size_t alignment,
               const void* here) noexcept {
  if (alignment != 0 && alignment < arena_grain) alignment = arena_grain;
  if (!is_power_of_two(alignment)) return fail_null(os::Error::invalid);
  constexpr std::size_t most = arena_bytes_max;
  if (!is_sound(arena) || bytes > most - 4096 || alignment > most / 4) {
    return fail_null(os::Error::no_memory);
  }
  if (bytes == 0) bytes = 1;
  void* block = nullptr;
  if (!is_lone(arena)) {
    block = place(arena, bytes, alignment, here);
    if (block != nullptr) return block;
    const std::size_t overhead = is_checked(arena) ? overhead_of_checks(alignment) : alignment;
    const std::size_t wanted = rounded(bytes) + overhead;
    if (wanted <= next_chunk_bytes(arena) / 4 || wanted <= arena.chunk_bytes / 2) {
      const bool is_open = open_chunk(arena, wanted);
      if (is_open) block = place(arena, bytes, alignment, here);
      TARN_ASSERT(is_open == (block != nullptr));
      TARN_ASSERT(!is_check_due(arena.acquired) || check_if_whole(arena));
      return block != nullptr ? block : fail_null(os::Error::no_memory);
    }
  }
  block = allocate_large(arena, bytes, alignment, here);
  TARN_ASSERT(!is_check_due(arena.acquired) || check_if_whole(arena));
  return block != nullptr ? block : fail_null(os::Error::no_memory);
}

bool is_newest(const tarn_arena& arena, const char* p, std::size_t bytes) noexcept {
  if (is_checked(arena)) {
    const auto* const note = static_cast<const ArenaNote*>(arena.notes);
    const bool in_current =
        arena.current != nullptr && p >= first_in(arena.current) && p < end_of(arena.current);
    return note != nullptr && note->block == p && in_current;
  }
  return p + rounded(bytes) == arena.cursor;
}

// Resizes the newest block where it is. False: there is no room.
bool resize_newest(tarn_arena& arena, char* p, std::size_t bytes) noexcept {
  TARN_ASSERT(p <= room_end(arena));
  const std::size_t room = distance(p, room_end(arena));
  if (is_checked(arena)) {
    if (rounded(bytes + canary_bytes) > room) return false;
    resize_checked(arena, bytes);
    return true;
  }
  if (rounded(bytes) > room) return false;
  set_cursor(arena, p + rounded(bytes));
  return true;
}

bool is_newest_large(const tarn_arena& arena, const void* p) noexcept {
  return arena.large != nullptr && arena.large->last == p;
}

// Releases the chunk of a large block that a newer one has replaced.
void release_replaced(tarn_arena& arena, tarn_arena_chunk* old) noexcept {
  tarn_arena_chunk** link = &arena.large;
  while (*link != old) link = &(*link)->older;
  TARN_ASSERT(is_torn(arena) || old->before <= arena.large_bytes);
  *link = old->older;
  arena.large_bytes -= old->before;
  release_chunk(arena, old);
}

bool try_expand(tarn_arena& arena, char* p, std::size_t old_bytes, std::size_t bytes) noexcept {
  if (bytes > arena_bytes_max - 4096) return false;  // Rounding it would wrap.
  // A checked block has exactly what was asked for, and so has one that ends with its chunk.
  const bool exact = is_checked(arena) || is_lone(arena);
  const bool fits = exact ? bytes <= old_bytes : rounded(bytes) <= rounded(old_bytes);
  if (fits) return true;
  if (is_newest(arena, p, old_bytes)) return resize_newest(arena, p, bytes);
  if (is_checked(arena) || is_lone(arena) || !is_newest_large(arena, p)) return false;
  tarn_arena_chunk* const chunk = arena.large;
  TARN_ASSERT(is_torn(arena) || chunk->before <= arena.large_bytes);
  if (rounded(bytes) > distance(p, end_of(chunk))) return false;
  arena.large_bytes += rounded(bytes) - chunk->before;
  chunk->before = rounded(bytes);
  return true;
}

void* resize(tarn_arena& arena, char* p, std::size_t old_bytes, std::size_t bytes,
             std::size_t alignment, const void* here) noexcept {
  if (old_bytes == 0) old_bytes = 1;
  if (bytes == 0) bytes = 1;
  if (alignment != 0 && alignment < arena_grain) alignment = arena_grain;
  if (!is_power_of_two(alignment)) return fail_null(os::Error::invalid);
  const bool stays = is_aligned(p, alignment);
  if (stays && bytes < old_bytes && is_newest(arena, p, old_bytes)) {
    resize_newest(arena, p, bytes);
    return p;
  }
  if (stays && try_expand(arena, p, old_bytes, bytes)) return p;
  // When the newest large block moves, its chunk goes back. In a checked arena it stays, since
  // notes end in the order of their numbers.
  tarn_arena_chunk* const old =
      is_newest_large(arena, p) && !is_checked(arena) ? arena.large : nullptr;
  void* const moved = allocate(arena, bytes, alignment, here);
  if (moved == nullptr) return nullptr;
  TARN_ASSERT(moved != p && is_aligned(moved, alignment));
  __builtin_memcpy(moved, p, bytes < old_bytes ? bytes : old_bytes);
  if (old != nullptr) release_replaced(arena, old);
  return moved;
}

void deallocate(tarn_arena& arena, char* p, std::size_t bytes, const void* here) noexcept {
  if (bytes == 0) bytes = 1;
  if (is_newest(arena, p, bytes)) {
    note_peak(arena);
    char* const before = arena.cursor;
    char* start = p;
    if (is_checked(arena)) {
      start = static_cast<char*>(arena.notes);
      forget_block(arena, "tarn_arena_deallocate", here);
    }
    TARN_ASSERT(start <= p && p < before);
    set_cursor(arena, start);
    close_range(arena, start, before);
  } else if (is_newest_large(arena, p) && !is_checked(arena)) {
    note_peak(arena);
    release_large(arena);
  }
}

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

int tarn_arena_init(tarn_arena* arena, const tarn_arena_options* options) {
  tarn_arena_options defaults = TARN_ARENA_OPTIONS();
  defaults.keep_bytes = TARN_ARENA_KEEP_TYPICAL;
  if (options == nullptr) options = &defaults;
  *arena = {};
  if (!are_sound(*options)) return os::fail(os::Error::invalid);
  const Mode mode = mode_in_force(options->mode);
  arena->source = source_for(mode, options->source, "tarn_arena_init");
  if (arena->source.acquire == nullptr) return fail_without_source(mode, "tarn_arena_init");
  constexpr std::size_t least = sizeof(tarn_arena_chunk) + 4 * arena_grain;
  std::size_t bytes = options->chunk_bytes;
  if (bytes == 0) bytes = arena->source.chunk_bytes;
  if (bytes == 0) bytes = chunk_bytes_default;
  arena->chunk_bytes = align_up(bytes < least ? least : bytes, arena_grain);
  bytes = options->chunk_bytes_max == 0 ? chunk_bytes_max_default : options->chunk_bytes_max;
  bytes &= ~(arena_grain - 1);
  arena->chunk_bytes_max = bytes < arena->chunk_bytes ? arena->chunk_bytes : bytes;
  arena->limit_bytes = options->limit_bytes;
  arena->keep_bytes = options->keep_bytes;
  arena->name = options->name;
  arena->state = static_cast<unsigned>(mode) | owner_is_sound;
  if (mode == Mode::checked && os::watched()) watch_arena(*arena);
  TARN_ASSERT(arena->chunk_bytes >= least && arena->chunk_bytes % arena_grain == 0);
  TARN_ASSERT(arena->chunk_bytes <= arena->chunk_bytes_max && check_arena(*arena));
  return 0;
}

void tarn_arena_destroy(tarn_arena* arena) {
  if (!is_sound(*arena)) return;
  arena->state |= arena_is_ending;
  tarn_arena_reset_keeping(arena, TARN_ARENA_KEEP_NOTHING);
  TARN_ASSERT(is_torn(*arena) || (arena->held_bytes == 0 && arena->acquired == arena->released));
  unwatch_owner(*arena);
  *arena = {};
}

void tarn_arena_move(tarn_arena* to, tarn_arena* from) {
  const bool watched = is_watched(*from);
  unwatch_owner(*from);
  *to = *from;
  *from = {};
  if (watched) watch_arena(*to);
  TARN_ASSERT(check_if_whole(*to));
}

void* tarn_arena_allocate_slow(tarn_arena* arena, std::size_t bytes, std::size_t alignment) {
  return allocate(*arena, bytes, alignment, __builtin_return_address(0));
}

void* tarn_arena_allocate_zeroed(tarn_arena* arena, std::size_t count, std::size_t bytes) {
  std::size_t product = 0;
  if (!checked_multiply(count, bytes, &product)) return fail_null(os::Error::no_memory);
  void* const p = allocate(*arena, product, 16, __builtin_return_address(0));
  if (p != nullptr) __builtin_memset(p, 0, product);
  return p;
}

void* tarn_arena_resize(tarn_arena* arena, void* p, std::size_t old_bytes, std::size_t bytes,
                        std::size_t alignment) {
  const void* const here = __builtin_return_address(0);
  if (p == nullptr) return allocate(*arena, bytes, alignment, here);
  return resize(*arena, static_cast<char*>(p), old_bytes, bytes, alignment, here);
}

int tarn_arena_try_expand(tarn_arena* arena, void* p, std::size_t old_bytes, std::size_t bytes) {
  if (old_bytes == 0) old_bytes = 1;
  return p != nullptr && try_expand(*arena, static_cast<char*>(p), old_bytes, bytes) ? 1 : 0;
}

void tarn_arena_deallocate(tarn_arena* arena, void* p, std::size_t bytes) {
  if (p != nullptr) {
    deallocate(*arena, static_cast<char*>(p), bytes, __builtin_return_address(0));
  }
}

int tarn_arena_on_release(tarn_arena* arena, void (*run)(void* context), void* context) {
  void* const memory = tarn_arena_allocate_aligned(arena, sizeof(tarn_arena_release), arena_grain);
  if (memory == nullptr) return -1;
  tarn_arena_add_release(arena, new (memory) tarn_arena_release{nullptr, run, context});
  return 0;
}

}  // extern "C"
