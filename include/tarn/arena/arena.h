/* arena.h: memory that is given back all at once, in C. (C++: tarn/arena/arena.hpp.) An allocation
 * only moves a pointer, and blocks have no headers. An arena is wound back to a mark, or reset.
 *
 *   tarn_arena arena;
 *   tarn_arena_init(&arena, NULL);
 *   char* name = tarn_arena_format(&arena, "%s-%d", base, n);
 *   tarn_arena_reset(&arena);   // for the next document
 *   tarn_arena_destroy(&arena);
 *
 * One thread at a time. Sizes are bytes; 0 counts as 1. Out of memory, at a limit, for a size above
 * PTRDIFF_MAX and for a product that overflows, functions return null with ENOMEM; nothing has
 * changed then, except that chunks kept for later may have gone back. For an alignment that is no
 * power of two they return null with EINVAL; one below 8 counts as 8.
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

#define TARN_ARENA_GRAIN 8 /* Blocks are rounded up to a multiple of this. */

/* The modes of arenas (enum tarn_mode).
 *
 * Checked: bytes written behind a block (`overrun`) are reported when the arena is wound back
 * beyond it, reset or destroyed, and the memory is filled then. A block takes 48 bytes more. Under
 * AddressSanitizer and Valgrind's memcheck every arena is checked, and the tool is told which
 * memory is whose.
 *
 * Guarded: each block ends at an OS page that faults.
 *
 * Passthrough: each block is one of the program's malloc.
 *
 * The last two need sources that the library has only in some builds (else ENOTSUP). */

/* Values of tarn_arena_options::keep_bytes: what stays at a reset. Any other number is a limit. */
#define TARN_ARENA_KEEP_NOTHING ((size_t)0)
#define TARN_ARENA_KEEP_ALL SIZE_MAX
#define TARN_ARENA_KEEP_TYPICAL (SIZE_MAX - 1) /* What sufficed for nine of ten past uses. */

typedef struct tarn_arena_options {
  size_t bytes;              /* sizeof(tarn_arena_options); TARN_ARENA_OPTIONS(...) sets it. */
  const char* name;          /* For reports; not copied. Null: none. */
  const tarn_source* source; /* Copied. Null: malloc's heap. */
  size_t chunk_bytes;        /* The smallest chunk. 0: what the source prefers, or 16 KiB. */
  size_t chunk_bytes_max;    /* Chunks grow with the arena, to a quarter of it, up to this; 0: 4
                                MiB. */
  size_t limit_bytes;        /* The most that all chunks together may take. 0: no limit. */
  size_t keep_bytes;         /* What stays at a reset; see above. */
  int mode;                  /* An enum tarn_mode: see above. */
} tarn_arena_options;

#define TARN_ARENA_OPTIONS(...) TARN_SIZED(tarn_arena_options, __VA_ARGS__)

/* All fields are the arena's own. It must not be copied, and is moved by tarn_arena_move only. */
typedef struct tarn_arena_chunk tarn_arena_chunk;
/* A function that runs when the arena is wound back, and the one that was registered before it. */
typedef struct tarn_arena_release {
  struct tarn_arena_release* before;
  void (*run)(void* context);
  void* context;
} tarn_arena_release;
typedef struct tarn_arena {
  char* cursor; /* The next block starts here, or behind it if its alignment needs that. */
  char* end;    /* The end of the chunk: no block reaches beyond. */
  tarn_arena_chunk* current;
  tarn_arena_chunk* large;    /* Chunks of one block, the newest first. */
  tarn_arena_chunk* retained; /* Empty chunks, in the order in which they are used. */
  tarn_arena_release* releases;
  void* notes;        /* In a checked arena: the newest block. */
  uint64_t noted;     /* In a checked arena: the number of blocks so far. */
  size_t large_bytes; /* Bytes in use in the chunks of `large`. */
  size_t held_bytes;  /* The bytes of all chunks, as granted. */
  size_t limit_bytes;
  size_t keep_bytes;
  size_t typical_bytes; /* The estimate of what nine of ten uses need. */
  size_t used_peak;     /* The most that was in use whenever a chunk or the arena ended. */
  size_t cycle_peak;    /* The same, since the last reset. */
  size_t chunk_bytes;
  size_t chunk_bytes_max;
  tarn_source source;
  const char* name;
  void* watched[4]; /* For tools' reports. */
  uint64_t resets;
  uint64_t acquired; /* Chunks taken from the source since the beginning. */
  uint64_t released;
  uint32_t state;
} tarn_arena;

/* Makes an arena; options may be null. Returns 0, or -1 with EINVAL for options that make no sense,
 * or with ENOTSUP for a mode whose source is missing. After a failure the arena has no memory and
 * may still be used and destroyed. Takes constant time; memory comes with the first block. */
TARN_API int tarn_arena_init(tarn_arena* arena, const tarn_arena_options* options);

/* Runs the functions registered by tarn_arena_on_release and gives all chunks back. Linear in both.
 * The arena may be used again only after tarn_arena_init. */
TARN_API void tarn_arena_destroy(tarn_arena* arena);

/* Moves an arena: `to`, which must not be one yet, becomes what `from` was. `from` is left as after
 * a failed tarn_arena_init. */
TARN_API void tarn_arena_move(tarn_arena* to, tarn_arena* from);

TARN_API void* tarn_arena_allocate_slow(tarn_arena* arena, size_t bytes, size_t alignment);

/* Allocates `bytes` bytes aligned to `alignment`. Constant time, apart from the source's. */
TARN_MUST_USE TARN_NOTES_CALLER static inline void* tarn_arena_allocate_aligned(tarn_arena* arena,
                                                                                size_t bytes,
                                                                                size_t alignment) {
  char* const cursor = arena->cursor;
  const size_t room = (size_t)(arena->end - cursor);
  /* The request is from 1 to `room`, so no sum below can overflow. The slow path handles 0. */
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

/* The same with an alignment of 16. */
TARN_MUST_USE TARN_NOTES_CALLER static inline void* tarn_arena_allocate(tarn_arena* arena,
                                                                        size_t bytes) {
  return tarn_arena_allocate_aligned(arena, bytes, 16);
}

/* Allocates count * bytes bytes, all zero and aligned to 16. The product is checked. */
TARN_API TARN_MUST_USE void* tarn_arena_allocate_zeroed(tarn_arena* arena, size_t count,
                                                        size_t bytes);

/* Resizes a block of the arena. It stays where it is when it shrinks, or when it is the last block
 * of its chunk and the chunk has room; else its contents move to a new block. When the last block
 * of a chunk of its own moves, that chunk goes back. p null: a new block. old_bytes is the size
 * that the block was asked for with. On failure the old block is unchanged. */
TARN_API TARN_MUST_USE void* tarn_arena_resize(tarn_arena* arena, void* p, size_t old_bytes,
                                               size_t bytes, size_t alignment);

/* Resizes a block only if it can stay where it is. 1: it has the new size; 0: it is unchanged. */
TARN_API int tarn_arena_try_expand(tarn_arena* arena, void* p, size_t old_bytes, size_t bytes);

/* Takes the block back if it is the last one; else its memory goes when the arena's does. p may be
 * null. */
TARN_API void tarn_arena_deallocate(tarn_arena* arena, void* p, size_t bytes);

/* Registers run(context), which is called when the arena is wound back beyond this point, reset or
 * destroyed. Functions run in the reverse order of their registration. run may use the arena, and
 * register more. Takes 24 bytes of the arena. Returns 0, or -1 with ENOMEM. */
TARN_API int tarn_arena_on_release(tarn_arena* arena, void (*run)(void* context), void* context);

/* Registers a function in 24 bytes that the caller has allocated from the arena, with `run` and
 * `context` filled in. Cannot fail. */
static inline void tarn_arena_add_release(tarn_arena* arena, tarn_arena_release* release) {
  release->before = arena->releases;
  arena->releases = release;
}

/* A point in the life of an arena. */
typedef struct tarn_arena_mark {
  char* cursor;
  tarn_arena_chunk* current;
  uint64_t acquired; /* The number of chunks at that point. */
  tarn_arena_release* releases;
  uint64_t noted;
} tarn_arena_mark;

static inline tarn_arena_mark tarn_arena_get_mark(const tarn_arena* arena) {
  const tarn_arena_mark mark = {arena->cursor, arena->current, arena->acquired, arena->releases,
                                arena->noted};
  return mark;
}

/* Ends all blocks that were allocated since the mark, and the part by which an older block has
 * grown since. Older blocks may have been deallocated meanwhile. Marks that were taken later become
 * invalid. An invalid mark, or one of another arena, is reported if that is noticed (`invalid
 * mark`). Chunks that become empty stay for the next blocks. Linear in these chunks. */
TARN_API void tarn_arena_rewind(tarn_arena* arena, const tarn_arena_mark* mark);

/* Ends all blocks, and keeps as much memory as the option keep_bytes says. Linear in the chunks. */
TARN_API void tarn_arena_reset(tarn_arena* arena);

/* The same, but keeps what the argument says: TARN_ARENA_KEEP_NOTHING, ..._ALL, ..._TYPICAL, or at
 * most so many bytes. */
TARN_API void tarn_arena_reset_keeping(tarn_arena* arena, size_t keep_bytes);

/* Gives back all chunks that are not in use, and returns their bytes. */
TARN_API size_t tarn_arena_trim(tarn_arena* arena);

/* Copy into the arena: bytes, a string, or at most `length` characters of a string. Strings are
 * terminated. */
TARN_API TARN_MUST_USE void* tarn_arena_copy(tarn_arena* arena, const void* p, size_t bytes,
                                             size_t alignment);
TARN_API TARN_MUST_USE char* tarn_arena_copy_string(tarn_arena* arena, const char* text);
TARN_API TARN_MUST_USE char* tarn_arena_copy_string_n(tarn_arena* arena, const char* text,
                                                      size_t length);

/* Allocates the text printf would write. Null also when vsnprintf fails. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
TARN_API TARN_MUST_USE char*
tarn_arena_format(tarn_arena* arena, const char* format, ...);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 0)))
#endif
TARN_API TARN_MUST_USE char*
tarn_arena_format_v(tarn_arena* arena, const char* format, va_list arguments);

/* 1 when p lies in memory of the arena that is in use, else 0. p: any pointer. Linear in the
 * chunks. */
TARN_API int tarn_arena_owns(const tarn_arena* arena, const void* p);

typedef struct tarn_arena_stats {
  size_t bytes;        /* sizeof(tarn_arena_stats); TARN_ARENA_STATS(...) sets it. */
  uint64_t used_bytes; /* The bytes of all blocks, rounded up, and what alignment took. */
  uint64_t used_peak;  /* The most that was in use whenever a chunk ended, at rewinds, and now. */
  uint64_t held_bytes; /* The bytes of all chunks, as granted. */
  uint64_t retained_bytes; /* The part of held_bytes that lies in empty chunks. */
  uint64_t typical_bytes;  /* How much TARN_ARENA_KEEP_TYPICAL would keep. */
  uint64_t chunks;
  uint64_t large_blocks;    /* How many of the chunks have one large block each. */
  uint64_t chunks_acquired; /* Since the beginning. */
  uint64_t chunks_released;
  uint64_t resets;
} tarn_arena_stats;

#define TARN_ARENA_STATS(...) TARN_SIZED(tarn_arena_stats, __VA_ARGS__)

/* 0, or -1 with EINVAL. Linear in the chunks. */
TARN_API int tarn_arena_get_stats(const tarn_arena* arena, tarn_arena_stats* stats);

/* 1 when every invariant holds, else 0. Linear in the chunks, and in the blocks of a checked
 * arena. */
TARN_API int tarn_arena_check(const tarn_arena* arena);

#ifdef __cplusplus
}
#endif

#endif
#endif
