// unreachable_objects: what the body of unreachable.cpp makes, and its model of each.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstring>
#include <sys/mman.h>
#include <vector>

#include "../tests/unreachable/apart.hpp"
#include "input.hpp"
#include "tarn/source/source.h"
#include "tarn/tarn.h"

namespace tarn::fuzz {

inline constexpr std::size_t objects_max = 300;
inline constexpr std::size_t rooms_max = 4;    // Pools and arenas at a time.
inline constexpr std::size_t cell_bytes = 96;  // What they hand out.
inline constexpr std::size_t block_align = 16;
inline constexpr std::size_t region_bytes = 4096;
inline constexpr std::size_t header_bytes = 16;  // In front of a node's bytes.

using Id = std::size_t;
inline constexpr Id none = SIZE_MAX;
inline constexpr std::size_t no_cell = SIZE_MAX;

// Memory that is a root only where it is registered. What lies behind the data of a module and has
// no name counts as the module's: shared memory has one.
inline Hidden make_region() {
  void* const start =
      mmap(nullptr, region_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  TARN_REQUIRE(start != MAP_FAILED);
  return Hidden(start);
}

// Chunks without anything of before, from a heap of the room's own. Each ends within its block:
// else its end, which the room knows, would be an address in the next one.
struct Room {
  tarn_heap heap;
  tarn_source source;
  bool is_used;
};
inline std::array<Room, rooms_max> rooms;

inline tarn_chunk acquire(void* context, std::size_t bytes, std::size_t alignment) {
  const auto* const room = static_cast<const Room*>(context);
  void* const p = tarn_heap_allocate_aligned(room->heap, alignment, bytes + block_align);
  if (p != nullptr) std::memset(p, 0, tarn_malloc_usable_size(p));
  return {p, p == nullptr ? 0 : bytes};
}
inline void release(void*, tarn_chunk chunk) { tarn_free(chunk.data); }

enum class Kind { gone, region, block, node, pool, arena };

struct Object {
  Kind kind = Kind::gone;
  Hidden p{};
  std::size_t bytes = 0;
  std::size_t room = 0;         // Of a pool or an arena: its number,
  std::vector<Hidden> cells{};  // and what it has handed out.
  Id parent = none;             // Of a node.
};

struct Edge {
  Id from;
  std::size_t cell;
  std::size_t word;
  Id to;
};

struct Listed {
  Hidden start;
  std::size_t bytes;
  std::uint64_t heap;
  bool is_direct;
};

}  // namespace tarn::fuzz
