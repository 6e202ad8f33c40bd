// chunks: see chunks.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/arenas/chunks.hpp"

#include <new>

#include "kinds/arenas/checked.hpp"
#include "kinds/sources/source_contract.hpp"
#include "platform/os/watchers.hpp"

namespace tarn {

std::size_t next_chunk_bytes(const tarn_arena& arena) noexcept {
  TARN_ASSERT(arena.chunk_bytes <= arena.chunk_bytes_max);
  const std::size_t quarter = arena.held_bytes / 4;
  if (quarter <= arena.chunk_bytes) return arena.chunk_bytes;
  return quarter < arena.chunk_bytes_max ? align_up(quarter, 4096) : arena.chunk_bytes_max;
}

namespace {

std::size_t room_below_limit(const tarn_arena& arena) noexcept {
  if (arena.limit_bytes == 0) return SIZE_MAX;
  return arena.limit_bytes > arena.held_bytes ? arena.limit_bytes - arena.held_bytes : 0;
}

// A source may grant more than it was asked for. If that exceeds the limit, the chunk goes back.
tarn_chunk ask(const tarn_arena& arena, std::size_t bytes, std::size_t alignment) noexcept {
  const tarn_chunk memory = acquire_from(arena.source, bytes, alignment);
  if (memory.bytes <= room_below_limit(arena)) return memory;
  release_to(arena.source, memory);
  return {};
}

tarn_chunk ask_for_least(const tarn_arena& arena, std::size_t bytes, std::size_t least_bytes,
                         std::size_t alignment) noexcept {
  const std::size_t room = room_below_limit(arena);
  if (room < least_bytes) return {};
  if (bytes > room) bytes = room & ~(arena_grain - 1);
  if (bytes < least_bytes) bytes = least_bytes;
  tarn_chunk memory = ask(arena, bytes, alignment);
  while (memory.data == nullptr && bytes > least_bytes) {
    bytes = bytes / 2 > least_bytes ? align_up(bytes / 2, arena_grain) : least_bytes;
    memory = ask(arena, bytes, alignment);
  }
  TARN_ASSERT(memory.data == nullptr || memory.bytes >= least_bytes);
  return memory;
}

// Releases all retained chunks to make room. False: that cannot help.
bool give_retained_back(tarn_arena& arena, std::size_t least_bytes) noexcept {
  const bool fits = arena.limit_bytes == 0 || least_bytes <= arena.limit_bytes;
  if (arena.retained == nullptr || arena.source.release == nullptr || !fits) return false;
  while (arena.retained != nullptr) {
    tarn_arena_chunk* const chunk = arena.retained;
    arena.retained = chunk->older;
    release_chunk(arena, chunk);
  }
  return true;
}

}  // namespace

tarn_arena_chunk* acquire_chunk(tarn_arena& arena, std::size_t bytes, std::size_t least_bytes,
                                std::size_t alignment) noexcept {
  tarn_chunk memory = ask_for_least(arena, bytes, least_bytes, alignment);
  if (memory.data == nullptr && give_retained_back(arena, least_bytes)) {
    memory = ask_for_least(arena, bytes, least_bytes, alignment);
  }
  if (memory.data == nullptr) return nullptr;
  auto* const chunk = new (memory.data) tarn_arena_chunk{};
  chunk->bytes = memory.bytes;
  chunk->number = ++arena.acquired;
  arena.held_bytes += memory.bytes;
  TARN_ASSERT(is_aligned(chunk, arena_grain) && memory.bytes > sizeof(tarn_arena_chunk));
  TARN_ASSERT(arena.limit_bytes == 0 || arena.held_bytes <= arena.limit_bytes);
  if (is_watched(arena)) {
    os::watch_close(first_in(chunk), chunk->bytes - sizeof *chunk);
    name_chunk(arena, chunk);
  }
  return chunk;
}

void release_chunk(tarn_arena& arena, tarn_arena_chunk* chunk) noexcept {
  TARN_ASSERT(is_torn(arena) || arena.released < arena.acquired);
  TARN_ASSERT(is_torn(arena) || chunk->bytes <= arena.held_bytes);
  ++arena.released;
  arena.held_bytes -= chunk->bytes;
  if (is_watched(arena)) {
    os::watch_forget(chunk->name);
    // If the source takes nothing back, the blocks stay accessible.
    const bool stays = arena.source.release == nullptr;
    (stays ? os::watch_leave : os::watch_open)(first_in(chunk), chunk->bytes - sizeof *chunk);
  }
  release_to(arena.source, {chunk, chunk->bytes});
}

bool open_chunk(tarn_arena& arena, std::size_t wanted) noexcept {
  tarn_arena_chunk** link = &arena.retained;
  while (*link != nullptr && distance(first_in(*link), end_of(*link)) < wanted) {
    link = &(*link)->older;
  }
  tarn_arena_chunk* chunk = *link;
  if (chunk != nullptr) {
    *link = chunk->older;
  } else {
    const std::size_t least = sizeof(tarn_arena_chunk) + wanted;
    const std::size_t next = next_chunk_bytes(arena);
    chunk = acquire_chunk(arena, next > least ? next : least, least, 16);
    if (chunk == nullptr) return false;
  }
  TARN_ASSERT(wanted <= distance(first_in(chunk), end_of(chunk)));
  note_peak(arena);
  chunk->before = used_bytes(arena) - arena.large_bytes;
  chunk->older = arena.current;
  if (arena.current != nullptr) arena.current->last = arena.cursor;
  arena.current = chunk;
  set_cursor(arena, first_in(chunk));
  return true;
}

void* allocate_large(tarn_arena& arena, std::size_t bytes, std::size_t alignment,
                     const void* here) noexcept {
  const bool checked = is_checked(arena);
  const std::size_t overhead =
      sizeof(tarn_arena_chunk) + (checked ? overhead_of_checks(alignment) : alignment);
  if (bytes > arena_bytes_max - overhead - arena_grain) return nullptr;
  // A lone block ends with its chunk, so that the source can guard what lies behind it.
  const std::size_t first = align_up(sizeof(tarn_arena_chunk), alignment);
  const std::size_t wanted = is_lone(arena) ? first + bytes : rounded(bytes) + overhead;
  const std::size_t chunk_alignment = is_lone(arena) && alignment > 16 ? alignment : 16;
  tarn_arena_chunk* const chunk = acquire_chunk(arena, wanted, wanted, chunk_alignment);
  if (chunk == nullptr) return nullptr;

  char* const start = first_in(chunk);
  char* block = start + ((0 - address_of(start)) & (alignment - 1));
  chunk->before = rounded(bytes);
  chunk->older = arena.large;
  arena.large = chunk;
  arena.large_bytes += chunk->before;
  if (checked) {
    // The cursor is moved into this chunk for a moment, so that the block is placed as in others.
    tarn_arena_chunk* const current = arena.current;
    char* const cursor = arena.cursor;
    arena.current = chunk;
    arena.cursor = start;
    block = static_cast<char*>(place_checked(arena, bytes, alignment, here));
    TARN_ASSERT(arena.cursor <= end_of(chunk));
    arena.current = current;
    set_cursor(arena, cursor);
  }
  TARN_ASSERT(is_aligned(block, alignment));
  TARN_ASSERT(block + bytes <= reinterpret_cast<char*>(chunk) + chunk->bytes);
  chunk->last = block;
  note_peak(arena);
  return block;
}

void release_large(tarn_arena& arena) noexcept {
  tarn_arena_chunk* const chunk = arena.large;
  TARN_ASSERT(is_torn(arena) || chunk->before <= arena.large_bytes);
  arena.large = chunk->older;
  arena.large_bytes -= chunk->before;
  release_chunk(arena, chunk);
}

}  // namespace tarn
