/* arena.h: memory that is given back all at once, in C. (C++: tarn/arena/arena.hpp.) An allocation
 * moves a pointer; nothing lies beside a block; nothing is freed, but arenas can be wound back.
 *
 *   tarn_arena arena;
 *   tarn_arena_init(&arena, NULL);
 *   char* name = tarn_arena_format(&arena, "%s-%d", base, n);
 *   tarn_arena_reset(&arena);   // for the next document
 *   tarn_arena_destroy(&arena);
 *
 * One thread at a time. Sizes are bytes; a size of 0 is one of 1. Out of memory, at a limit, for
 * sizes above PTRDIFF_MAX and products that overflow: null and ENOMEM, and nothing has changed, but
 * that chunks which were kept for later have gone back. An alignment is a power of two (one below 8
 * counts as 8); else null and EINVAL.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_ARENA_H
#define TARN_ARENA_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "../detail/sized.h"
#include "../source/mode.h"
#include "../source/source.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TARN_ARENA_GRAIN 8 /* Blocks are rounded up to it. */

/* The modes of arenas (enum tarn_mode). Checked: bytes written behind a block (`overrun`) are
 * reported when it is rewound, reset or destroyed, and rewound memory is filled. A block takes 48
 * bytes more. Under AddressSanitizer and Valgrind's memcheck every arena is so, and they are told
 * which memory is whose. Guarded: each block ends at an OS page that faults. Passthrough: each
 * block is one of the program's malloc. Guarded and passthrough arenas need the library's own
 * sources of that kind (ENOTSUP without). */

/* Of tarn_arena_options::keep_bytes: what stays at a reset. Any other number is a limit. */
#define TARN_ARENA_KEEP_NOTHING ((size_t)0)
#define TARN_ARENA_KEEP_ALL SIZE_MAX
#define TARN_ARENA_KEEP_TYPICAL (SIZE_MAX - 1) /* What sufficed for nine of ten past uses. */

typedef struct tarn_arena_options {
  size_t bytes;              /* sizeof(tarn_arena_options); TARN_ARENA_OPTIONS(...) sets it. */
  const char* name;          /* For reports; not copied. Null: none. */
  const tarn_source* source; /* Copied. Null: malloc's heap. */
  size_t chunk_bytes;        /* The least that is asked for; 0: as the source prefers, or 16 KiB. */
  size_t chunk_bytes_max;    /* Chunks grow with the arena, to a quarter of it, up to this; 0: 4
                                MiB. */
  size_t limit_bytes;        /* Of all chunks, never exceeded; 0: none. */
  size_t keep_bytes;         /* At a reset: see above. */
  int mode;                  /* An enum tarn_mode: see above. */
} tarn_arena_options;

#define TARN_ARENA_OPTIONS(...) TARN_SIZED(tarn_arena_options, __VA_ARGS__)

/* All of these are the arena's own. It must not be copied or moved, but by tarn_arena_move. */
typedef struct tarn_arena_chunk tarn_arena_chunk;
typedef struct tarn_arena_release {  /* What is to be called, and what was asked for before. */
  struct tarn_arena_release* before;
  void (*run)(void* context);
  void* context;
} tarn_arena_release;
typedef struct tarn_arena {
  char* cursor;                /* The next block starts here or, for its alignment, behind; */
  char* end;                   /* and ends here at the latest. */
  tarn_arena_chunk* current;
  tarn_arena_chunk* large;     /* Chunks of one block, the newest first. */
  tarn_arena_chunk* retained;  /* Empty chunks, the next one first. */
  tarn_arena_release* releases;
  void* notes;                 /* Checked: of the newest block, */
  uint64_t noted;              /* and how many there were. */
  size_t large_bytes;          /* In use in `large`. */
  size_t held_bytes;           /* All chunks, as granted. */
  size_t limit_bytes;
  size_t keep_bytes;
  size_t typical_bytes;        /* The estimate. */
  size_t used_peak;            /* Seen when a chunk or the arena ended, */
  size_t cycle_peak;           /* and since the last reset. */
  size_t chunk_bytes;
  size_t chunk_bytes_max;
  tarn_source source;
  const char* name;
  void* watched[4];            /* For tools' reports. */
  uint64_t resets;
  uint64_t acquired;           /* Chunks since the beginning, */
  uint64_t released;
  uint32_t state;
} tarn_arena;

/* 0, or -1 with EINVAL for options that make no sense, with ENOTSUP for a mode that there is no
 * source for; then the arena has no memory, and may be used and destroyed all the same. options may
 * be null. Takes constant time; memory comes with the first block. */
TARN_API int tarn_arena_init(tarn_arena* arena, const tarn_arena_options* options);

/* Runs what is to be run (tarn_arena_on_release) and gives all chunks back. Linear in both. The
 * arena may be used again after tarn_arena_init only. */
TARN_API void tarn_arena_destroy(tarn_arena* arena);

/* Makes `to`, which is not an arena yet, what `from` was; that is as after an error then. */
TARN_API void tarn_arena_move(tarn_arena* to, tarn_arena* from);

TARN_API void* tarn_arena_allocate_slow(tarn_arena* arena, size_t bytes, size_t alignment);

/* `bytes` aligned to `alignment`. Constant time, apart from the source's. */
TARN_MUST_USE static inline void* tarn_arena_allocate_aligned(tarn_arena* arena, size_t bytes,
                                                              size_t alignment) {
  char* const cursor = arena->cursor;
  const size_t room = (size_t)(arena->end - cursor);
  /* From 1 to `room`: then no sum below can overflow. The slow path knows 0. */
  if (TARN_UNLIKELY(bytes - 1 >= room)) return tarn_arena_allocate_slow(arena, bytes, alignment);
  size_t padding = 0;
  size_t taken = (bytes + TARN_ARENA_GRAIN - 1) & ~(size_t)(TARN_ARENA_GRAIN - 1);
  if (alignment - 1 >= TARN_ARENA_GRAIN) { /* 0, too. */
    padding = (0 - (uintptr_t)cursor) & (alignment - 1);
    taken += padding;
    if (TARN_UNLIKELY(taken > room || (alignment & (alignment - 1)) != 0)) {
      return tarn_arena_allocate_slow(arena, bytes, alignment);
    }
  }
  TARN_ASSUME(cursor != NULL);
  arena->cursor = cursor + taken;
  return cursor + padding;
}

/* Aligned to 16. */
TARN_MUST_USE static inline void* tarn_arena_allocate(tarn_arena* arena, size_t bytes) {
  return tarn_arena_allocate_aligned(arena, bytes, 16);
}

/* count * bytes, all zero, aligned to 16. The product is checked. */
TARN_API TARN_MUST_USE void* tarn_arena_allocate_zeroed(tarn_arena* arena, size_t count,
                                                        size_t bytes);

/* A block of the arena at its new size: where it is, if it is the last one of its chunk and the
 * chunk has room, or if it gets smaller; else elsewhere, with its contents. The last block that has
 * a chunk of its own gives its memory back when it moves. p null: a new block. On failure the old
 * one is as it was. old_bytes is what it was asked for with. */
TARN_API TARN_MUST_USE void* tarn_arena_resize(tarn_arena* arena, void* p, size_t old_bytes,
                                               size_t bytes, size_t alignment);

/* The same, where it is or not at all: 1 or 0. */
TARN_API int tarn_arena_try_expand(tarn_arena* arena, void* p, size_t old_bytes, size_t bytes);

/* Takes the block back if it is the last one; else its memory goes with the arena's. p may be
 * null. */
TARN_API void tarn_arena_deallocate(tarn_arena* arena, void* p, size_t bytes);

/* Has run(context) called when the arena is wound back beyond this point, reset or destroyed: the
 * last one that was asked for first. Takes 24 bytes of the arena. It may use the arena, and ask for
 * more. 0, or -1 with ENOMEM. */
TARN_API int tarn_arena_on_release(tarn_arena* arena, void (*run)(void* context), void* context);

/* The same for those who have the 24 bytes already, in memory of the arena: run and context are
 * theirs to fill in. Cannot fail. */
static inline void tarn_arena_add_release(tarn_arena* arena, tarn_arena_release* release) {
  release->before = arena->releases;
  arena->releases = release;
}

/* A point in the life of an arena. */
typedef struct tarn_arena_mark {
  char* cursor;
  tarn_arena_chunk* current;
  uint64_t acquired; /* Chunks until then. */
  tarn_arena_release* releases;
  uint64_t noted;
} tarn_arena_mark;

static inline tarn_arena_mark tarn_arena_get_mark(const tarn_arena* arena) {
  const tarn_arena_mark mark = {arena->cursor, arena->current, arena->acquired, arena->releases,
                                arena->noted};
  return mark;
}

/* Ends all that was allocated since, also by growing an older block; older ones may have been
 * deallocated. Marks that were taken later are void then; one that is not of this arena, or void,
 * is reported where that is seen (`invalid mark`). Chunks that get empty stay for the next blocks.
 * Linear in these. */
TARN_API void tarn_arena_rewind(tarn_arena* arena, const tarn_arena_mark* mark);

/* Ends all blocks. Of the chunks as much is kept as the options say. Linear in the chunks. */
TARN_API void tarn_arena_reset(tarn_arena* arena);

/* The same with another answer, this time: TARN_ARENA_KEEP_NOTHING, ..._ALL, ..._TYPICAL, or at
 * most so many bytes. */
TARN_API void tarn_arena_reset_keeping(tarn_arena* arena, size_t keep_bytes);

/* Gives chunks that are not in use back. Returns their bytes. */
TARN_API size_t tarn_arena_trim(tarn_arena* arena);

/* Copies into the arena: bytes, a string, at most `length` characters of one (terminated). */
TARN_API TARN_MUST_USE void* tarn_arena_copy(tarn_arena* arena, const void* p, size_t bytes,
                                             size_t alignment);
TARN_API TARN_MUST_USE char* tarn_arena_copy_string(tarn_arena* arena, const char* text);
TARN_API TARN_MUST_USE char* tarn_arena_copy_string_n(tarn_arena* arena, const char* text,
                                                      size_t length);

/* A string as printf has it, formatted where it will stay. Null also when vsnprintf fails. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
TARN_API TARN_MUST_USE char* tarn_arena_format(tarn_arena* arena, const char* format, ...);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 0)))
#endif
TARN_API TARN_MUST_USE char* tarn_arena_format_v(tarn_arena* arena, const char* format,
                                                 va_list arguments);

/* 1 when p lies in memory that is in use. Any pointer. Linear in the chunks. */
TARN_API int tarn_arena_owns(const tarn_arena* arena, const void* p);

typedef struct tarn_arena_stats {
  size_t bytes;            /* sizeof(tarn_arena_stats); TARN_ARENA_STATS(...) sets it. */
  uint64_t used_bytes;     /* Blocks, rounded up, and what alignment took. */
  uint64_t used_peak;      /* The most that was seen: when chunks ended, at rewinds, and now. */
  uint64_t held_bytes;     /* All chunks, as granted. */
  uint64_t retained_bytes; /* Of these, empty ones. */
  uint64_t typical_bytes;  /* What is kept by TARN_ARENA_KEEP_TYPICAL. */
  uint64_t chunks;
  uint64_t large_blocks;   /* With a chunk each; of `chunks`. */
  uint64_t chunks_acquired;  /* Since the beginning. */
  uint64_t chunks_released;
  uint64_t resets;
} tarn_arena_stats;

#define TARN_ARENA_STATS(...) TARN_SIZED(tarn_arena_stats, __VA_ARGS__)

/* 0, or -1 with EINVAL. Linear in the chunks. */
TARN_API int tarn_arena_get_stats(const tarn_arena* arena, tarn_arena_stats* stats);

/* 1 when every invariant holds. Linear in the chunks (and in blocks of checked arenas). */
TARN_API int tarn_arena_check(const tarn_arena* arena);

#ifdef __cplusplus
}
#endif

#endif
#endif
