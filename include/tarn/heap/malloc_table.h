/* malloc_table.h: any allocator of tarn as a table of functions that stand in for malloc, in C.
 * (C++: tarn/heap/malloc_table.hpp.) For libraries that take an allocator: docs/c_tables.md.
 *
 *   tarn_malloc_table table = tarn_arena_malloc_table(&arena);
 *   void* p = table.allocate(table.context, 100);
 *
 * In the other direction, heaps and pools can take their chunks from a table that the program
 * gives: tarn_malloc_table_source.
 *
 * Sizes are in bytes. If nothing else is said, a null result comes with errno ENOMEM, and nothing
 * has changed. The reason is a lack of memory, a ceiling, a size above PTRDIFF_MAX or above the
 * allocator's blocks, or a product that overflows.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_MALLOC_TABLE_H
#define TARN_MALLOC_TABLE_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "../detail/api.h"
#include "../detail/sized.h"
#include "../source/source.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An allocator as seven functions and a context. Threads are as with the allocator, and the cost is
 * the allocator's plus a call through a pointer. Users copy the table; what `context` points to
 * must outlive the last block. In a table that tarn makes, either no function is null or all are.
 * They are null when the allocator cannot be a table: null was handed over, or its blocks are
 * aligned to less than 16. */
typedef struct tarn_malloc_table {
  size_t bytes; /* sizeof(tarn_malloc_table); TARN_MALLOC_TABLE_FIELDS(...) sets it. */

  /* A block of at least `bytes`, aligned to 16. For 0 bytes a block that may only be deallocated.
   * Never null in a table that is given to tarn. */
  void* (*allocate)(void* context, size_t bytes);

  /* A block of count * bytes bytes, all zero. The product is checked. The pointer may be null. */
  void* (*allocate_zeroed)(void* context, size_t count, size_t bytes);

  /* A block aligned to `alignment`. An alignment that is no power of two gives null with EINVAL.
   * The pointer may be null. */
  void* (*allocate_aligned)(void* context, size_t alignment, size_t bytes);

  /* Resizes a block, moving it if need be. It is aligned to 16 and keeps its contents up to the
   * smaller size. A null p allocates. Size 0 frees p and gives null. On failure the result is null
   * and p is as it was. The pointer may be null. */
  void* (*reallocate)(void* context, void* p, size_t bytes);

  /* Frees a block. Null is ignored. errno is kept. The pointer is never null. */
  void (*deallocate)(void* context, void* p);

  /* How many bytes at p may be used: at least what was asked for; 0 for null. The pointer may be
   * null. */
  size_t (*usable_size)(void* context, const void* p);

  void* context; /* Handed to each of the functions. */
} tarn_malloc_table;

#define TARN_MALLOC_TABLE_FIELDS(...) TARN_SIZED(tarn_malloc_table, __VA_ARGS__)

/* The table of tarn_malloc and its sisters. Any thread. */
TARN_API tarn_malloc_table tarn_malloc_table_default(void);

/* The table of a heap. *heap is read at each call and must not move. The functions behave as
 * malloc's do, and may be called from any thread that may use the heap. A block that is reallocated
 * comes to this heap, wherever it was. */
struct tarn_heap;
TARN_API tarn_malloc_table tarn_heap_malloc_table(const struct tarn_heap* heap);

/* Tables of allocators with blocks of one size. Requests above that size, or aligned above the
 * blocks' alignment, give null. What fits is reallocated in place. The blocks of an object cache
 * are memory for objects; nothing is constructed in them. */
struct tarn_pool;
struct tarn_fixed_allocator;
struct tarn_object_cache;
struct tarn_array_pool;
struct tarn_shared_array_pool;
TARN_API tarn_malloc_table tarn_pool_malloc_table(struct tarn_pool* pool);
TARN_API tarn_malloc_table tarn_fixed_allocator_malloc_table(struct tarn_fixed_allocator* blocks);
TARN_API tarn_malloc_table tarn_object_cache_malloc_table(struct tarn_object_cache* cache);
TARN_API tarn_malloc_table tarn_array_pool_malloc_table(struct tarn_array_pool* pool);
TARN_API tarn_malloc_table tarn_shared_array_pool_malloc_table(struct tarn_shared_array_pool* pool);

/* The table of the family of xmalloc (tarn/pool/xalloc.h). Any thread. Blocks are reallocated in
 * place while their class suffices. */
TARN_API tarn_malloc_table tarn_xalloc_malloc_table(void);

/* The table of an arena. Each block has 16 bytes in front, for its size. The newest block grows in
 * place, and gives its memory back when it is deallocated. The memory of the others is given back
 * with the arena. */
struct tarn_arena;
TARN_API tarn_malloc_table tarn_arena_malloc_table(struct tarn_arena* arena);

/* The table of a shared arena, for any thread: each call takes the arena's lock. No block grows in
 * place, and none gives its memory back before the arena does. */
struct tarn_shared_arena;
TARN_API tarn_malloc_table tarn_shared_arena_malloc_table(struct tarn_shared_arena* shared);

/* The table whose blocks are children of a tree node, or roots for null. Blocks that are left end
 * with the node. */
TARN_API tarn_malloc_table tarn_tree_malloc_table(void* node);

/* For allocators that are only headers. TARN_MALLOC_TABLE(name, type, ALLOCATE, DEALLOCATE,
 * BYTES_OF) is used at file scope, without a semicolon. It defines `tarn_malloc_table name(type*
 * allocator)` over functions or function-like macros
 *
 *   void* ALLOCATE(type*, size_t bytes, size_t alignment)   null when there is none
 *   void DEALLOCATE(type*, void* p)                         p is not null
 *   size_t BYTES_OF(type*, const void* p)                   usable bytes of a live block
 *
 * TLSF heaps and static heaps (tarn/heap/tlsf.h, tarn/pool/static_pool.h) have such functions:
 *
 *   TARN_STATIC_TLSF(message_heap, 4096)
 *   TARN_TABLE_OF_STATIC_HEAP(message_table, message_heap)   // message_table(&messages)
 *
 *   TARN_STATIC_POOL(packet_pool, 64, 32)
 *   TARN_TABLE_OF_STATIC_POOL(packet_table, packet_pool, 64) // Blocks of 64 bytes.
 *
 * Nothing is added to a block. Reallocating takes time linear in the block's bytes where it moves.
 * The `bytes` of a static pool must be a multiple of 16, and the pool must be aligned to 16 at
 * least; otherwise it does not compile. Of the classes of a static heap, those serve that meet
 * both. */
#define TARN_TABLE_OF_STATIC_HEAP(name, heap) \
  TARN_MALLOC_TABLE(name, struct heap, heap##_allocate, heap##_deallocate, heap##_block_bytes_of)

#define TARN_TABLE_OF_STATIC_POOL(name, pool, block_bytes)                                         \
  typedef char                                                                                     \
      name##_is_aligned[(block_bytes) % 16 == 0 && __alignof__(struct pool) >= 16 ? 1 : -1];       \
  __attribute__((unused)) static inline void* name##_take(struct pool* self, size_t bytes,         \
                                                          size_t alignment) {                      \
    return bytes <= (block_bytes) && alignment <= 16 ? pool##_allocate(self) : NULL;               \
  }                                                                                                \
  __attribute__((unused)) static inline size_t name##_bytes_of(struct pool* self, const void* p) { \
    (void)self;                                                                                    \
    (void)p;                                                                                       \
    return (block_bytes);                                                                          \
  }                                                                                                \
  TARN_MALLOC_TABLE(name, struct pool, name##_take, pool##_deallocate, name##_bytes_of)

#define TARN_MALLOC_TABLE(name, type, ALLOCATE, DEALLOCATE, BYTES_OF)                            \
  __attribute__((unused)) static void* name##_allocate_aligned(void* context, size_t alignment,  \
                                                               size_t bytes) {                   \
    void* p = NULL;                                                                              \
    if (alignment == 0 || (alignment & (alignment - 1)) != 0) {                                  \
      errno = EINVAL;                                                                            \
      return NULL;                                                                               \
    }                                                                                            \
    if (bytes <= PTRDIFF_MAX) {                                                                  \
      p = ALLOCATE((type*)context, bytes, alignment < 16 ? 16 : alignment);                      \
    }                                                                                            \
    if (p == NULL) errno = ENOMEM;                                                               \
    return p;                                                                                    \
  }                                                                                              \
  __attribute__((unused)) static void* name##_allocate(void* context, size_t bytes) {            \
    return name##_allocate_aligned(context, 16, bytes);                                          \
  }                                                                                              \
  __attribute__((unused)) static void* name##_allocate_zeroed(void* context, size_t count,       \
                                                              size_t bytes) {                    \
    const int fits = bytes == 0 || count <= PTRDIFF_MAX / bytes;                                 \
    void* const p = name##_allocate_aligned(context, 16, fits ? count * bytes : SIZE_MAX);       \
    return p == NULL ? NULL : __builtin_memset(p, 0, count * bytes);                             \
  }                                                                                              \
  __attribute__((unused)) static void name##_deallocate(void* context, void* p) {                \
    const int saved = errno;                                                                     \
    if (p != NULL) DEALLOCATE((type*)context, p);                                                \
    errno = saved;                                                                               \
  }                                                                                              \
  __attribute__((unused)) static size_t name##_usable_size(void* context, const void* p) {       \
    return p == NULL ? 0 : BYTES_OF((type*)context, p);                                          \
  }                                                                                              \
  __attribute__((unused)) static void* name##_reallocate(void* context, void* p, size_t bytes) { \
    const size_t had = name##_usable_size(context, p);                                           \
    void* other = p;                                                                             \
    if (bytes == 0 && p != NULL) {                                                               \
      name##_deallocate(context, p);                                                             \
      return NULL;                                                                               \
    }                                                                                            \
    if (p != NULL && bytes <= had) return p;                                                     \
    other = name##_allocate(context, bytes);                                                     \
    if (other == NULL || p == NULL) return other;                                                \
    __builtin_memcpy(other, p, had);                                                             \
    name##_deallocate(context, p);                                                               \
    return other;                                                                                \
  }                                                                                              \
  __attribute__((unused)) static inline tarn_malloc_table name(type* allocator) {                \
    tarn_malloc_table table;                                                                     \
    table.bytes = sizeof table;                                                                  \
    table.allocate = name##_allocate;                                                            \
    table.allocate_zeroed = name##_allocate_zeroed;                                              \
    table.allocate_aligned = name##_allocate_aligned;                                            \
    table.reallocate = name##_reallocate;                                                        \
    table.deallocate = name##_deallocate;                                                        \
    table.usable_size = name##_usable_size;                                                      \
    table.context = allocator;                                                                   \
    return table;                                                                                \
  }

/* A source whose chunks are blocks of a table, for the options of heaps, pools and arenas. *table
 * is read at each call and must not move. Where it has no allocate_aligned, a chunk takes 16 bytes
 * more, plus its alignment if that is above 16. `acquire` is null for a null table, and for one
 * that lacks allocate or deallocate or whose `bytes` is wrong. Threads: as with the table. */
TARN_API tarn_source tarn_malloc_table_source(const tarn_malloc_table* table);

#ifdef __cplusplus
}
#endif

#endif
#endif
