/* shared_arena.h: one arena for several threads, and temporary arenas for a thread's functions, in
 * C. (C++: tarn/arena/shared_arena.hpp.)
 *
 * A shared arena is an arena with a lock. Each thread should have a front: an arena of its own that
 * takes slabs from the shared one, so that it locks once for many blocks. Fronts must be destroyed
 * before the shared arena; their blocks live as long as that does.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_SHARED_ARENA_H
#define TARN_SHARED_ARENA_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include "arena.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tarn_shared_arena {
  tarn_arena arena;
  uint32_t lock;
  struct tarn_shared_arena* next; /* In the list of all shared arenas of the process. */
  struct tarn_shared_arena* prev;
} tarn_shared_arena;

/* As tarn_arena_init and tarn_arena_destroy. When the shared arena is destroyed, no thread may be
 * using it, and no front may be left. */
TARN_API int tarn_shared_arena_init(tarn_shared_arena* shared, const tarn_arena_options* options);
TARN_API void tarn_shared_arena_destroy(tarn_shared_arena* shared);

/* Allocates a block from the shared arena itself, under the lock. Any thread. Null as
 * tarn_arena_allocate_aligned. */
TARN_API TARN_MUST_USE void* tarn_shared_arena_allocate(tarn_shared_arena* shared, size_t bytes,
                                                        size_t alignment);

/* Makes an arena for the calling thread over the shared one. It takes slabs of slab_bytes (0: 16
 * KiB), and larger ones for larger blocks. Returns 0, or -1 as tarn_arena_init. Resetting the front
 * keeps all its slabs. Destroying it runs the functions of tarn_arena_on_release and leaves its
 * blocks to the shared arena. */
TARN_API int tarn_shared_arena_front(tarn_shared_arena* shared, tarn_arena* front,
                                     size_t slab_bytes);

/* Ends all blocks of all threads. All fronts must have been destroyed. */
TARN_API void tarn_shared_arena_reset(tarn_shared_arena* shared);

/* As tarn_arena_get_stats. Slabs that fronts have taken count as used. */
TARN_API int tarn_shared_arena_get_stats(tarn_shared_arena* shared, tarn_arena_stats* stats);

/* One of the calling thread's two arenas for temporary blocks, and the mark to which it will be
 * wound back. arena null: there is no memory, or both arenas are among the conflicts. */
typedef struct tarn_scratch_arena {
  tarn_arena* arena;
  tarn_arena_mark mark;
} tarn_scratch_arena;

/* Begins a use of a scratch arena. conflicts: the arenas into which the caller puts its results, of
 * which at most one may be a scratch arena of this thread; temporary blocks must not lie between
 * results, so another arena is taken. Null and 0: there are none. Uses nest. The two arenas end
 * with the thread, and keep what is typical until then. */
TARN_API tarn_scratch_arena tarn_scratch_arena_begin(const tarn_arena* const* conflicts,
                                                     size_t count);

/* Ends the use and all blocks that were allocated since it began. Uses end in the reverse order of
 * their beginnings. */
TARN_API void tarn_scratch_arena_end(tarn_scratch_arena* scratch);

#ifdef __cplusplus
}
#endif

#endif
#endif
