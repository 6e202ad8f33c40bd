// shared_arena.hpp: one arena for several threads, and temporary arenas for a thread's functions,
// in C++ (C++17). Header only over tarn/arena/shared_arena.h, which says what each function
// promises.
//
//   tarn::SharedArena shared;
//   std::thread worker([&] {
//     tarn::ArenaFront arena(shared);      // this thread's; its blocks end with `shared`
//     results[0] = arena->format("%d", 1);
//   });
//
//   tarn::ScratchArena scratch;            // temporary, of this thread
//   char* path = scratch->format("%s/%s", folder, name);
//
// SPDX-License-Identifier: MIT
#ifndef TARN_SHARED_ARENA_HPP
#define TARN_SHARED_ARENA_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cstddef>

#include "../detail/errors.hpp"
#include "arena.hpp"
#include "shared_arena.h"

namespace tarn {

class SharedArena {
 public:
  explicit SharedArena(const ArenaOptions& options = {}) { make(nullptr, options); }
  explicit SharedArena(SourceRef source, const ArenaOptions& options = {}) {
    make(&source.get(), options);
  }
  ~SharedArena() { tarn_shared_arena_destroy(&shared_); }
  SharedArena(const SharedArena&) = delete;
  SharedArena& operator=(const SharedArena&) = delete;

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = 16) {
    return or_bad_alloc(tarn_shared_arena_allocate(&shared_, bytes, alignment));
  }
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment = 16) noexcept {
    return tarn_shared_arena_allocate(&shared_, bytes, alignment);
  }
  void reset() noexcept { tarn_shared_arena_reset(&shared_); }
  tarn_arena_stats stats() noexcept {
    tarn_arena_stats stats = TARN_ARENA_STATS();
    tarn_shared_arena_get_stats(&shared_, &stats);
    return stats;
  }
  tarn_shared_arena* get() noexcept { return &shared_; }

 private:
  void make(const tarn_source* source, const ArenaOptions& from) {
    const tarn_arena_options options = c_options(source, from);
    if (tarn_shared_arena_init(&shared_, &options) == 0) return;
#if defined(__cpp_exceptions)
    throw InvalidOptions("tarn::SharedArena: see tarn::Arena for what its options must be");
#endif
  }

  tarn_shared_arena shared_;
};

// A thread's own arena over a shared one.
class ArenaFront {
 public:
  explicit ArenaFront(SharedArena& shared, std::size_t slab_bytes = 0) {
    tarn_shared_arena_front(shared.get(), &arena_, slab_bytes);
  }
  ~ArenaFront() { tarn_arena_destroy(&arena_); }
  ArenaFront(const ArenaFront&) = delete;
  ArenaFront& operator=(const ArenaFront&) = delete;

  class Pointer {
   public:
    explicit Pointer(tarn_arena* arena) noexcept : ref_(arena) {}
    ArenaRef* operator->() noexcept { return &ref_; }

   private:
    ArenaRef ref_;
  };
  Pointer operator->() noexcept { return Pointer(&arena_); }
  ArenaRef operator*() noexcept { return ArenaRef(&arena_); }

 private:
  tarn_arena arena_;
};

// A use of a temporary arena of this thread, for as long as the object lives. Uses nest. If results
// go into an arena that the caller has passed, name that arena, so that another one is taken.
class ScratchArena {
 public:
  ScratchArena() : scratch_(tarn_scratch_arena_begin(nullptr, 0)) { or_bad_alloc(scratch_.arena); }
  explicit ScratchArena(ArenaRef conflict) {
    const tarn_arena* const other = conflict.get();
    scratch_ = tarn_scratch_arena_begin(&other, 1);
    or_bad_alloc(scratch_.arena);
  }
  ~ScratchArena() { tarn_scratch_arena_end(&scratch_); }
  ScratchArena(const ScratchArena&) = delete;
  ScratchArena& operator=(const ScratchArena&) = delete;

  ArenaFront::Pointer operator->() noexcept { return ArenaFront::Pointer(scratch_.arena); }
  ArenaRef operator*() noexcept { return ArenaRef(scratch_.arena); }

 private:
  tarn_scratch_arena scratch_;
};

}  // namespace tarn

#endif
#endif
