/* pool.h: blocks of one size, in C. (C++: tarn/pool/pool.hpp.) A pool takes chunks from a source,
 * cuts them into blocks without headers, and gives chunks back when they are empty.
 *
 *   tarn_pool nodes;
 *   tarn_pool_init(&nodes, &TARN_POOL_OPTIONS(.block_bytes = sizeof(struct node)));
 *   struct node* n = tarn_pool_allocate(&nodes);
 *
 * One thread at a time. Allocating and freeing take constant time, apart from the source's; the
 * common case is inline. The free list is in the blocks (as described by D. Knuth, The Art of
 * Computer Programming 1, 2.2.3). Needs neither the rest of tarn nor an operating system
 * (docs/pools.md).
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_POOL_H
#define TARN_POOL_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>

#include "../detail/sized.h"
#include "../source/mode.h"
#include "../source/source.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The modes of pools (enum tarn_mode).
 *
 * Fast: a wrong free is found only if it reaches the library's part, which checks it.
 *
 * Checked: misuse is reported with the name of the pool and both places in the program.
 *   - A free of a pointer that is no live block of the pool is found at once (`double free`,
 *     `invalid free`).
 *   - Bytes written behind a block (`overrun`) are found when it is freed, and when the pool is
 *     walked, cleared or destroyed.
 *   - Writes to a free block (`use after free`) are found when it is handed out again, after all
 *     other free blocks of its chunk.
 * A block takes 32 bytes more, and each operation some 20 ns. Under AddressSanitizer and Valgrind's
 * memcheck every pool is checked. The tool is told which memory is whose, and reports what it finds
 * itself.
 *
 * Guarded: as checked, and each block ends, rounded up to its alignment, at an OS page that faults.
 *
 * Passthrough: as checked, and each block is one of the program's malloc.
 *
 * The last two need sources that the library has only in some builds (else ENOTSUP). */

enum tarn_pool_flag {
  TARN_POOL_KEEP_CHUNKS = 1 /* Empty chunks stay until tarn_pool_trim. */
};

typedef struct tarn_pool_options {
  size_t bytes;              /* sizeof(tarn_pool_options); TARN_POOL_OPTIONS(...) sets it. */
  const char* name;          /* For reports; not copied. Null: none. */
  size_t block_bytes;        /* At least 1; rounded up to the alignment and to a pointer's size. */
  size_t alignment;          /* A power of two. 0: the largest one that divides block_bytes, but at
                                least a pointer's and at most 16. */
  const tarn_source* source; /* Copied. Null: malloc's heap. */

  /* The bytes of the first chunk. 0: what the source prefers, or 256 KiB; but at least enough for 8
   * blocks, and for a 32nd of the reserve, rounded up to a power of two. When the source has no
   * chunk of that size, the pool asks for half as much, and so on. */
  size_t chunk_bytes;
  size_t chunk_blocks; /* Instead of chunk_bytes: how many blocks the first chunk has room for. */

  /* Each chunk is twice as large as the one before, up to this. 0: all are equal. Chunks are
   * aligned to the largest chunk's size, rounded up to a power of two. */
  size_t chunk_bytes_max;

  /* For so many blocks memory is taken at once, in one chunk. It is not touched. */
  size_t reserve_blocks;
  int mode;       /* An enum tarn_mode: see above. */
  unsigned flags; /* Of enum tarn_pool_flag. */
} tarn_pool_options;

#define TARN_POOL_OPTIONS(...) TARN_SIZED(tarn_pool_options, __VA_ARGS__)

#define TARN_POOL_CACHE 32 /* Blocks that a pool keeps at hand. */

/* Lies at the start of each chunk, and is the library's own. */
typedef struct tarn_pool_chunk {
  void* free;  /* Free blocks, the last freed first, linked through their first bytes. */
  char* fresh; /* From here to `end` lie blocks that the pool has not taken. */
  char* end;
  int32_t live; /* Blocks that the pool has taken. */
  int32_t is_full;
  struct tarn_pool* pool;
  struct tarn_pool_chunk* next;
  struct tarn_pool_chunk* prev;
  char* first;
  size_t bytes; /* As granted. */
} tarn_pool_chunk;

typedef struct tarn_pool_chunks {
  tarn_pool_chunk* head;
  tarn_pool_chunk* tail;
} tarn_pool_chunks;

/* All of it is the pool's own. It must not be copied or moved, but by tarn_pool_move. */
typedef struct tarn_pool {
  size_t cached;   /* Blocks in `cache`. */
  char* fresh;     /* Where `cache` is empty, the next block comes from here. */
  char* fresh_end; /* The end of the fresh blocks: `fresh` when there are none. */
  size_t stride;   /* From a block to the next. */
  size_t limit;    /* With so many blocks cached, a free calls the library. */
  void* cache[TARN_POOL_CACHE];
  tarn_pool_chunk* current; /* The chunk that the fresh blocks lie in. */
  uint64_t taken;           /* From chunks: live, cached and fresh blocks. */
  size_t block_bytes;       /* As asked for. */
  size_t alignment;
  size_t chunk_alignment;
  size_t colour_mask;     /* The header lies at most so many bytes into its chunk. */
  unsigned colour_shift;  /* The bits of a chunk's address that choose where its header lies. */
  size_t chunk_bytes;     /* The bytes of the next chunk. */
  size_t chunk_bytes_max; /* The most bytes of a chunk. */
  tarn_pool_chunks open;
  tarn_pool_chunks full;
  tarn_pool_chunk* spare; /* The chunk that became empty last. */
  tarn_pool_chunk* root;  /* Checked: all chunks by address. */
  tarn_chunk reserved;    /* Taken, and not touched. */
  tarn_source source;
  const char* name;
  void* watched[4];  /* For tools' reports. */
  uint64_t acquired; /* Chunks taken from the source since the beginning. */
  uint64_t released;
  size_t chunks_peak;
  size_t held_bytes;  /* The bytes of all chunks, as granted. */
  uint64_t live_peak; /* The most live blocks that were seen. */
  uint32_t state;     /* The mode, the flags, and the operation in progress. */
} tarn_pool;

typedef struct tarn_pool_stats {
  size_t bytes;        /* sizeof(tarn_pool_stats); TARN_POOL_STATS(...) sets it. */
  size_t block_bytes;  /* As asked for. */
  size_t stride_bytes; /* What one block takes. */
  uint64_t live_blocks;
  uint64_t capacity_blocks; /* Live or not, in the chunks that the pool has. */
  uint64_t held_bytes;      /* All chunks, as granted. */
  uint64_t chunks;
  uint64_t chunks_peak;
  uint64_t chunks_acquired; /* Since the beginning. */
  uint64_t chunks_released;
  /* The most live blocks at a time, as seen when blocks come from chunks and go back to them, and
   * here: exact in checked pools, else up to TARN_POOL_CACHE too low. It says how many blocks a
   * pool of fixed size would need. */
  uint64_t live_blocks_peak;
} tarn_pool_stats;

#define TARN_POOL_STATS(...) TARN_SIZED(tarn_pool_stats, __VA_ARGS__)

/* Makes a pool. Returns 0, or -1 with EINVAL for options that make no sense, with ENOMEM when there
 * is no memory for the reserve, and with ENOTSUP for a mode whose source is missing. After a
 * failure the pool has no memory and may still be used and destroyed. Takes constant time; memory
 * comes with the first block. */
TARN_API int tarn_pool_init(tarn_pool* pool, const tarn_pool_options* options);

/* Ends all blocks and gives all chunks back. Linear in the chunks; no block is touched, except in
 * checked pools. The pool may be used again only after tarn_pool_init. */
TARN_API void tarn_pool_destroy(tarn_pool* pool);

/* Moves a pool: `to`, which must not be one yet, becomes what `from` was. `from` is left as after a
 * failed tarn_pool_init. Linear in the chunks. */
TARN_API void tarn_pool_move(tarn_pool* to, tarn_pool* from);

/* The rest of tarn_pool_allocate and tarn_pool_deallocate. (Not of the compiler's `malloc` kind:
 * walks give addresses of blocks to others.) */
TARN_API TARN_MUST_USE void* tarn_pool_allocate_slow(tarn_pool* pool);
TARN_API void tarn_pool_deallocate_slow(tarn_pool* pool, void* p);

/* Allocates a block with the pool's alignment. Null with ENOMEM when the source gives no chunk.
 * Blocks of a chunk that is new or was empty come by ascending address; otherwise the block that
 * was freed last comes first. Constant time, apart from the source's. */
TARN_MUST_USE TARN_NOTES_CALLER static inline void* tarn_pool_allocate(tarn_pool* pool) {
  const size_t cached = pool->cached;
  char* fresh;
  if (cached != 0) { /* As likely as not: programs grow, and programs recycle. */
    void* const block = pool->cache[cached - 1];
    pool->cached = cached - 1;
    TARN_ASSUME(block != NULL); /* Saves a test where null would be thrown for. */
    return block;
  }
  fresh = pool->fresh;
  if (TARN_UNLIKELY(fresh == pool->fresh_end)) return tarn_pool_allocate_slow(pool);
  TARN_ASSUME(fresh != NULL);
  pool->fresh = fresh + pool->stride;
  return fresh;
}

/* Frees a block of this pool; null is ignored. The last 32 freed blocks stay at hand, and older
 * ones go back to their chunks. When a chunk becomes empty while another one is, that other one
 * goes back to the source. When no block is live, one chunk is left. Constant time, apart from the
 * source's. */
TARN_NOTES_CALLER static inline void tarn_pool_deallocate(tarn_pool* pool, void* p) {
  const size_t cached = pool->cached;
  if (TARN_UNLIKELY(p == NULL) || TARN_UNLIKELY(cached >= pool->limit)) {
    tarn_pool_deallocate_slow(pool, p);
    return;
  }
  pool->cache[cached] = p;
  pool->cached = cached + 1;
}

/* Takes memory for `blocks` further blocks. Only the header of each chunk is touched. Returns 0, or
 * -1 with ENOMEM; then part of the memory may have been taken. Linear in the chunks. Chunks that
 * are taken stay until they have been used and are empty again, or until tarn_pool_trim. */
TARN_API int tarn_pool_reserve(tarn_pool* pool, size_t blocks);

/* Gives all empty chunks back and returns their bytes. Linear in the chunks. */
TARN_API size_t tarn_pool_trim(tarn_pool* pool);

/* Ends all blocks. One of the chunks that were used stays, or all of them if the pool keeps chunks.
 * Linear in the chunks. */
TARN_API void tarn_pool_clear(tarn_pool* pool);

/* 1 when p lies in a block that has been handed out, and that in a checked pool has not been freed;
 * else 0. p: any pointer. Linear in the chunks; logarithmic in checked pools. */
TARN_API int tarn_pool_owns(const tarn_pool* pool, const void* p);

/* Sets *stats to exact numbers. Returns 0, or -1 with EINVAL. Linear in the chunks. */
TARN_API int tarn_pool_get_stats(const tarn_pool* pool, tarn_pool_stats* stats);

/* Calls visit for each live block, in no particular order, until it returns something other than 0.
 * Returns what visit returned last; 0 if there was no block. visit may free the block that it is
 * shown, and others, which are not shown then. While the pool is walked an allocation from it
 * returns null, and another walk -1 with EBUSY. Linear in the blocks that were handed out. */
typedef int (*tarn_pool_visit)(void* block, void* context);
TARN_API int tarn_pool_walk(tarn_pool* pool, tarn_pool_visit visit, void* context);

/* 1 when the pool is being walked and the block at p has been freed since the walk began, else 0.
 * This is for objects that free others, which may have gone before them. p: a block of the pool.
 * Constant time; logarithmic in checked pools. */
TARN_API int tarn_pool_ended_in_walk(const tarn_pool* pool, const void* p);

/* 1 when every invariant of the pool's structures holds, as far as can be told without touching
 * memory that is not the pool's; else 0. Linear in the blocks. A checked pool looks at all of them,
 * and reports overruns and writes to freed blocks, as it does in walks, when it is cleared or
 * destroyed, and of a chunk that goes back. */
TARN_API int tarn_pool_check(const tarn_pool* pool);

#ifdef __cplusplus
}
#endif

#endif
#endif
