/* shared_arena.h: one arena for several threads, and arenas for what a function needs for a moment,
 * in C. (C++: tarn/arena/shared_arena.hpp.)
 *
 * A shared arena is a lock and an arena. Threads do not allocate from it one by one: each has a
 * front, an arena of its own that takes slabs from the shared one, so it locks once for many
 * blocks. Fronts end before the shared arena does; their blocks live on until then.
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
  struct tarn_shared_arena* next; /* Of all of the process. */
  struct tarn_shared_arena* prev;
} tarn_shared_arena;

/* As tarn_arena_init, and destroy: no thread may be inside, and no front be in use any more. */
TARN_API int tarn_shared_arena_init(tarn_shared_arena* shared, const tarn_arena_options* options);
TARN_API void tarn_shared_arena_destroy(tarn_shared_arena* shared);

/* A block of the shared arena itself. Any thread, under the lock. Null as
 * tarn_arena_allocate_aligned. */
TARN_API TARN_MUST_USE void* tarn_shared_arena_allocate(tarn_shared_arena* shared, size_t bytes,
                                                        size_t alignment);

/* Makes an arena for the calling thread over the shared one: slabs of slab_bytes (0: 16 KiB), more
 * for larger blocks. 0, or -1 as tarn_arena_init. Resetting it keeps all its slabs; destroying it
 * runs what is to be run, and leaves its blocks to the shared arena. */
TARN_API int tarn_shared_arena_front(tarn_shared_arena* shared, tarn_arena* front,
                                     size_t slab_bytes);

/* Ends all blocks of all threads; fronts must have been destroyed. */
TARN_API void tarn_shared_arena_reset(tarn_shared_arena* shared);

/* As tarn_arena_get_stats: what fronts have taken counts as used. */
TARN_API int tarn_shared_arena_get_stats(tarn_shared_arena* shared, tarn_arena_stats* stats);

/* An arena for temporary blocks, of which each thread has two for the asking, and a point in its
 * life. arena null: there is no memory for one, or both are among the conflicts. */
typedef struct tarn_scratch_arena {
  tarn_arena* arena;
  tarn_arena_mark mark;
} tarn_scratch_arena;

/* conflicts: arenas that the caller was given to put its results into, at most one of which may be
 * a scratch arena of this thread; what is temporary must not lie between results. Null and 0: none.
 * They nest. The two arenas end with the thread, and keep what is typical until then. */
TARN_API tarn_scratch_arena tarn_scratch_arena_begin(const tarn_arena* const* conflicts,
                                                     size_t count);

/* Ends what was allocated since. In the reverse order of the beginnings. */
TARN_API void tarn_scratch_arena_end(tarn_scratch_arena* scratch);

#ifdef __cplusplus
}
#endif

#endif
#endif
