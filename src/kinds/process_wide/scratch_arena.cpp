// scratch_arena: the two arenas that each thread has for temporary blocks. They are made at their
// first use, and end with the thread.
//
// SPDX-License-Identifier: MIT
#include "engine/records/thread_default.hpp"
#include "malloc/blocks/allocate.hpp"
#include "malloc/blocks/free.hpp"
#include "platform/base/check.hpp"
#include "platform/base/config.hpp"
#include "platform/os/process.hpp"
#include "platform/os/thread.hpp"
#include "tarn/arena/shared_arena.h"

namespace tarn {

namespace {

constexpr std::size_t arenas_per_thread = 2;

struct ScratchArenas {
  tarn_arena arenas[arenas_per_thread];
};

TARN_INITIAL_EXEC __thread ScratchArenas* scratch_arenas = nullptr;

void end(void* value) noexcept {
  auto* const own = static_cast<ScratchArenas*>(value);
  TARN_ASSERT(scratch_arenas == own);
  for (tarn_arena& arena : own->arenas) tarn_arena_destroy(&arena);
  scratch_arenas = nullptr;
  deallocate(own);
}

ScratchArenas* arenas_of_thread() noexcept {
  if (scratch_arenas != nullptr) return scratch_arenas;
  const WithoutDefaultHeap malloc_itself;  // They may outlive it.
  auto* const own = static_cast<ScratchArenas*>(allocate(sizeof(ScratchArenas)));
  if (own == nullptr) return nullptr;
  tarn_arena_options options = TARN_ARENA_OPTIONS();
  options.name = "scratch";
  options.keep_bytes = TARN_ARENA_KEEP_TYPICAL;
  for (tarn_arena& arena : own->arenas) tarn_arena_init(&arena, &options);
  // If the OS has no room for the callback, the arenas stay when the thread ends.
  os::thread_on_end(end, own, os::ThreadEndFor::scratch);
  scratch_arenas = own;
  return own;
}

bool conflicts_with(const tarn_arena& arena, const tarn_arena* const* conflicts,
                    std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    if (conflicts[i] == &arena) return true;
  }
  return false;
}

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

TARN_EXPORT tarn_scratch_arena tarn_scratch_arena_begin(const tarn_arena* const* conflicts,
                                                        std::size_t count) {
  if (ScratchArenas* const own = arenas_of_thread()) {
    for (tarn_arena& arena : own->arenas) {
      if (conflicts_with(arena, conflicts, count)) continue;
      return {&arena, tarn_arena_get_mark(&arena)};
    }
  }
  os::set_error(os::Error::no_memory);
  return {};
}

TARN_EXPORT void tarn_scratch_arena_end(tarn_scratch_arena* scratch) {
  if (scratch->arena == nullptr) return;
  tarn_arena* const arena = scratch->arena;
  TARN_ASSERT(scratch_arenas != nullptr && arena >= scratch_arenas->arenas &&
              arena < scratch_arenas->arenas + arenas_per_thread);
  tarn_arena_rewind(arena, &scratch->mark);
  // At its start it keeps what is typical; otherwise it keeps what this use had.
  if (arena->current == nullptr && arena->large == nullptr) tarn_arena_reset(arena);
  scratch->arena = nullptr;
}

}  // extern "C"
