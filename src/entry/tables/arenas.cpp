// arenas: tables over arenas and shared arenas. See tarn/heap/malloc_table.h.
//
// SPDX-License-Identifier: MIT
#include "tarn/arena/shared_arena.h"
#include "tarn/heap/malloc_table.hpp"

namespace tarn {

namespace {

struct ArenaUse {
  static constexpr bool keeps_size = true;
  static void* take(tarn_arena& a, std::size_t bytes, std::size_t alignment) noexcept {
    return tarn_arena_allocate_aligned(&a, bytes, alignment);
  }
  static void give(tarn_arena& a, void* p, std::size_t bytes, std::size_t) noexcept {
    tarn_arena_deallocate(&a, p, bytes);
  }
  static void* resize(tarn_arena& a, void* p, std::size_t old_bytes, std::size_t bytes,
                      std::size_t alignment) noexcept {
    return tarn_arena_resize(&a, p, old_bytes, bytes, alignment);
  }
};

struct SharedArenaUse {
  static constexpr bool keeps_size = true;
  static void* take(tarn_shared_arena& a, std::size_t bytes, std::size_t alignment) noexcept {
    return tarn_shared_arena_allocate(&a, bytes, alignment);
  }
  static void give(tarn_shared_arena&, void*, std::size_t, std::size_t) noexcept {}
  // Smaller ones stay: nothing would come back.
  static void* resize(tarn_shared_arena& a, void* p, std::size_t old_bytes, std::size_t bytes,
                      std::size_t alignment) noexcept {
    if (bytes <= old_bytes) return p;
    void* const other = tarn_shared_arena_allocate(&a, bytes, alignment);
    return other == nullptr ? nullptr : __builtin_memcpy(other, p, old_bytes);
  }
};

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

tarn_malloc_table tarn_arena_malloc_table(tarn_arena* arena) {
  if (arena == nullptr) return {};
  return MallocTableOf<tarn_arena, ArenaUse>::table(arena);
}

tarn_malloc_table tarn_shared_arena_malloc_table(tarn_shared_arena* shared) {
  if (shared == nullptr) return {};
  return MallocTableOf<tarn_shared_arena, SharedArenaUse>::table(shared);
}

}  // extern "C"
