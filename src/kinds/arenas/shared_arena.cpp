// shared_arena: one arena for several threads, under a lock that the child of a fork can repair.
// Lock order: the list of all shared arenas, a shared arena, the lock of its source.
//
// SPDX-License-Identifier: MIT
#include <atomic>
#include <new>

#include "kinds/arenas/chunk.hpp"
#include "platform/base/check.hpp"
#include "platform/base/list.hpp"
#include "platform/os/process.hpp"
#include "platform/os/thread.hpp"
#include "tarn/arena/shared_arena.h"

namespace tarn {

namespace {

constinit os::Lock all_lock;
constinit List<tarn_shared_arena> all;
constinit std::atomic<bool> prepared{false};

static_assert(sizeof(os::Lock) == sizeof(std::uint32_t) &&
              alignof(os::Lock) == alignof(std::uint32_t));

os::Lock& lock_of(tarn_shared_arena& shared) noexcept {
  return *std::launder(reinterpret_cast<os::Lock*>(&shared.lock));
}

// A thread that vanished in the fork may have been opening a chunk, so no more blocks are put
// there.
void recover_after_fork() noexcept {
  all_lock.recover_after_fork();
  for (tarn_shared_arena* s = all.head(); s != nullptr; s = s->next) {
    if (!lock_of(*s).recover_after_fork()) continue;
    tarn_arena& arena = s->arena;
    arena.state |= arena_is_torn;
    TARN_ASSERT(is_sound(arena));
    if (arena.current != nullptr) set_cursor(arena, end_of(arena.current));
  }
}

tarn_chunk acquire_slab(void* context, std::size_t bytes, std::size_t alignment) {
  void* const slab =
      tarn_shared_arena_allocate(static_cast<tarn_shared_arena*>(context), bytes, alignment);
  return {slab, slab == nullptr ? 0 : bytes};
}

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

int tarn_shared_arena_init(tarn_shared_arena* shared, const tarn_arena_options* options) {
  *shared = {};
  new (&shared->lock) os::Lock;
  // An arena that could not be made is not on the list, so it need not be destroyed.
  if (tarn_arena_init(&shared->arena, options) != 0) return -1;
  os::process_on_fork_once(prepared, recover_after_fork);
  os::Locked locked(all_lock);
  all.push_front(shared);
  return 0;
}

void tarn_shared_arena_destroy(tarn_shared_arena* shared) {
  if (!is_sound(shared->arena)) return;
  {
    os::Locked locked(all_lock);
    all.remove(shared);
  }
  tarn_arena_destroy(&shared->arena);
}

void* tarn_shared_arena_allocate(tarn_shared_arena* shared, std::size_t bytes,
                                 std::size_t alignment) {
  os::Locked locked(lock_of(*shared));
  return tarn_arena_allocate_slow(&shared->arena, bytes, alignment);
}

int tarn_shared_arena_front(tarn_shared_arena* shared, tarn_arena* front, std::size_t slab_bytes) {
  tarn_source source = TARN_SOURCE();
  source.acquire = acquire_slab;  // There is no release: slabs never go back.
  source.context = shared;
  tarn_arena_options options = TARN_ARENA_OPTIONS();
  options.name = shared->arena.name;
  options.source = &source;
  options.chunk_bytes = slab_bytes;
  options.chunk_bytes_max = slab_bytes;
  options.keep_bytes = TARN_ARENA_KEEP_ALL;
  return tarn_arena_init(front, &options);
}

void tarn_shared_arena_reset(tarn_shared_arena* shared) {
  os::Locked locked(lock_of(*shared));
  tarn_arena_reset(&shared->arena);
}

int tarn_shared_arena_get_stats(tarn_shared_arena* shared, tarn_arena_stats* stats) {
  os::Locked locked(lock_of(*shared));
  return tarn_arena_get_stats(&shared->arena, stats);
}

}  // extern "C"
