/* malloc_table.h: any allocator of tarn as a table of functions that stand in for malloc, in C.
 * (C++: tarn/heap/malloc_table.hpp.) For libraries that take an allocator: docs/c_tables.md.
 *
 *   tarn_malloc_table table = tarn_arena_malloc_table(&arena);
 *   void* p = table.allocate(table.context, 100);
 *
 * And the other way round: a table that somebody gives is where heaps and pools take chunks from.
 *
 * Sizes are bytes. Null always comes with errno ENOMEM, if nothing else is said: out of memory, at
 * a ceiling, for more than the allocator's blocks hold, above PTRDIFF_MAX, for products that
 * overflow. Nothing has changed then.
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

/* Threads: as the allocator. Cost: the allocator's, and a call through a pointer. A user copies the
 * table; what `context` leads to must outlive the last block. In a table that tarn makes, either no
 * function is null or all are: they are null when the allocator cannot be a table, because null was
 * handed over or because its blocks are aligned to less than 16. */
typedef struct tarn_malloc_table {
  size_t bytes; /* sizeof(tarn_malloc_table); TARN_MALLOC_TABLE_FIELDS(...) sets it. */

  /* At least `bytes` aligned to 16; for 0 a block that may only be deallocated. Never null in a
   * table that is given to tarn. */
  void* (*allocate)(void* context, size_t bytes);

  /* As above for count * bytes bytes, all zero. The product is checked. May be null. */
  void* (*allocate_zeroed)(void* context, size_t count, size_t bytes);

  /* Aligned to `alignment`, a power of two; else null and EINVAL. May be null. */
  void* (*allocate_aligned)(void* context, size_t alignment, size_t bytes);

  /* The block at its new size, moved if need be, aligned to 16, contents kept up to the smaller
   * size. A null p allocates; size 0 frees p and gives null. On failure p is as it was. May be
   * null. */
  void* (*reallocate)(void* context, void* p, size_t bytes);

  /* Gives a block back; null is ignored; errno is kept. Never null. */
  void (*deallocate)(void* context, void* p);

  /* How many bytes at p may be used, at least what was asked for; 0 for null. May be null. */
  size_t (*usable_size)(void* context, const void* p);

  void* context; /* Handed to all of them. */
} tarn_malloc_table;

#define TARN_MALLOC_TABLE_FIELDS(...) TARN_SIZED(tarn_malloc_table, __VA_ARGS__)

/* tarn_malloc and its sisters. Any thread. */
TARN_API tarn_malloc_table tarn_malloc_table_default(void);

/* Blocks of *heap, which is read at each call and must stay where it is: as malloc's in everything,
 * from any thread that may use the heap. A block that is reallocated comes to this heap, wherever
 * it was. */
struct tarn_heap;
TARN_API tarn_malloc_table tarn_heap_malloc_table(const struct tarn_heap* heap);

/* Blocks of one size: null for requests above it, and for alignments above the blocks'. What fits
 * is reallocated where it is. Of an object cache it is the memory of objects, not built. */
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

/* Blocks of class pools, of any size, reallocated where they are while their class suffices; and of
 * those that the process shares (tarn/pool/xalloc.h). Threads: as the pools; any. */
struct tarn_class_pools;
TARN_API tarn_malloc_table tarn_class_pools_malloc_table(struct tarn_class_pools* pools);
TARN_API tarn_malloc_table tarn_xalloc_malloc_table(void);

/* Blocks of an arena. Each has 16 bytes in front, for its size. The newest one grows where it is,
 * and gives its memory back when it is deallocated; that of others goes with the arena. */
struct tarn_arena;
TARN_API tarn_malloc_table tarn_arena_malloc_table(struct tarn_arena* arena);

/* The same, for any thread: under the shared arena's lock. No block grows where it is, and none
 * gives its memory back before the arena does. */
struct tarn_shared_arena;
TARN_API tarn_malloc_table tarn_shared_arena_malloc_table(struct tarn_shared_arena* shared);

/* Children of a node (null: roots): what is left goes with it. */
TARN_API tarn_malloc_table tarn_tree_malloc_table(void* node);

/* For allocators that are only headers. TARN_MALLOC_TABLE(name, type, ALLOCATE, DEALLOCATE,
 * BYTES_OF), at file scope, no semicolon: defines `tarn_malloc_table name(type* allocator)` over
 * functions or function-like macros
 *
 *   void* ALLOCATE(type*, size_t bytes, size_t alignment)   null: there is none
 *   void DEALLOCATE(type*, void* p)                         p is not null
 *   size_t BYTES_OF(type*, const void* p)                   that may be used; p: a live block
 *
 * TLSF heaps and static heaps (tarn/heap/tlsf.h, tarn/pool/static_pool.h) have these:
 *
 *   TARN_STATIC_TLSF(message_heap, 4096)
 *   TARN_TABLE_OF_STATIC_HEAP(message_table, message_heap)   // message_table(&messages)
 *
 *   TARN_STATIC_POOL(packet_pool, 64, 32)
 *   TARN_TABLE_OF_STATIC_POOL(packet_table, packet_pool, 64) // Blocks of 64 bytes.
 *
 * Nothing is added to a block. Linear in a block's bytes where it moves. A static pool's `bytes` is
 * a multiple of 16, and it is aligned to 16 at least, which does not compile otherwise; of a static
 * heap's classes those serve that are. */
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

/* The other way round: chunks that are blocks of a table, for the options of heaps, pools and
 * arenas. *table is read at each call and must stay where it is. Where it has no allocate_aligned,
 * a chunk takes 16 bytes more, and its alignment besides if that is above 16. `acquire` is null
 * for a null table, and for one that lacks allocate or deallocate or says another size of itself.
 * Threads: as the table. */
TARN_API tarn_source tarn_malloc_table_source(const tarn_malloc_table* table);

#ifdef __cplusplus
}
#endif

#endif
#endif
