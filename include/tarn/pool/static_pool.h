/* static_pool.h: pools and heaps whose sizes and counts are known at compile time, in C. (C++:
 * tarn/pool/static_pool.hpp and tarn/pool/static_heap.hpp.) Header only, C11; needs no heap, no OS
 * and no library.
 *
 *   TARN_STATIC_POOL(packet_pool, 64, 32)    // struct packet_pool and packet_pool_allocate, ...
 *   static struct packet_pool packets;       // 32 blocks of 64 bytes, in .bss
 *   void* p = packet_pool_allocate(&packets);
 *   packet_pool_deallocate(&packets, p);
 *
 * A pool whose bytes are all zero is ready and empty, so a static one works before main, without a
 * call. Each operation takes constant time (docs/static_pools.md has the instructions), except
 * those that are said to walk. Call tarn_watch_end (tarn/detail/watch.h) before a pool that was
 * used is zeroed, or its memory is used for something else.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_STATIC_POOL_H
#define TARN_STATIC_POOL_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>

#include "../detail/exact_index.h"
#include "../detail/static_bits.h"

#ifdef __cplusplus
extern "C" {
#define TARN_STATIC_ASSERT static_assert
#else
#define TARN_STATIC_ASSERT _Static_assert
#endif

/* The greatest alignment that a type of `bytes` bytes can have: the largest power of two that
 * divides `bytes`, but at most the alignment of max_align_t. */
#define TARN_STATIC_ALIGNMENT(bytes)                                     \
  (((size_t)(bytes) & (~(size_t)(bytes) + 1)) < __alignof__(max_align_t) \
       ? ((size_t)(bytes) & (~(size_t)(bytes) + 1))                      \
       : __alignof__(max_align_t))

/* A block with its alignment. */
#define TARN_STATIC_STRIDE(bytes, alignment) \
  (((size_t)(bytes) + (alignment)-1) / (alignment) * (alignment))

/* TARN_STATIC_POOL(name, bytes, blocks) stands at file scope, without a semicolon. It declares
 * `struct name`, a pool of `blocks` blocks of `bytes` bytes (both constants above 0), and static
 * inline functions. Sizes whose product does not fit do not compile. p is any pointer:
 *
 *   void* name_allocate(struct name*)
 *       Takes a block, which is not zeroed. Returns null, and counts a failure, when all blocks are
 *       in use. Blocks that were never used come after all others, the lowest address first.
 *   void name_deallocate(struct name*, void* p)
 *       Frees a block; null is ignored. For any other pointer that is no live block of this pool it
 *       calls tarn_static_misuse.
 *   int name_owns(const struct name*, p)
 *       Whether p lies in the memory of a block, live or not.
 *   int name_is_live(const struct name*, p)
 *       Whether p is the start of a live block.
 *   size_t name_index_of(const struct name*, p)
 *       The number of the block that starts at p, from 0 by address; `blocks` or more if none does.
 *   void* name_next(struct name*, p)
 *       The live block after block p, or the first one for null; null at the end. Walks, and takes
 *       no lock.
 *   tarn_static_stats name_stats(const struct name*)
 *   int name_check(const struct name*)
 *       1 when every invariant holds. Walks, and takes no lock.
 *
 * The caller sees to it that one thread at a time uses the pool. sizeof(struct name) is its
 * footprint.
 *
 * TARN_STATIC_POOL_WITH takes an alignment besides, a power of two, and LOCK and UNLOCK: functions
 * or function-like macros that are called with the pool around each operation's few instructions.
 *
 * TARN_STATIC_POOL_LOCK_FREE makes a pool that any threads, interrupt handlers and signal handlers
 * may use at once, without a lock. It needs compare-and-swap for a word, and does not compile for a
 * processor without it (Cortex-M0); use LOCK and UNLOCK that mask interrupts there. */
#define TARN_STATIC_POOL(name, bytes, blocks)                                                   \
  TARN_STATIC_POOL_WITH(name, bytes, blocks, TARN_STATIC_ALIGNMENT(bytes), TARN_STATIC_NO_LOCK, \
                        TARN_STATIC_NO_LOCK)
#define TARN_STATIC_POOL_WITH(name, bytes, blocks, alignment, LOCK, UNLOCK) \
  TARN_STATIC_POOL_OF_KIND(name, bytes, blocks, alignment, PLAIN, LOCK, UNLOCK)
#define TARN_STATIC_POOL_LOCK_FREE(name, bytes, blocks, alignment)                      \
  TARN_STATIC_HAS_SWAP()                                                                \
  TARN_STATIC_POOL_OF_KIND(name, bytes, blocks, alignment, SHARED, TARN_STATIC_NO_LOCK, \
                           TARN_STATIC_NO_LOCK)

/* TARN_STATIC_HEAP(name, CLASSES) declares `struct name`, a heap that has a pool for each class:
 *
 *   #define MESSAGE_SIZES(X) X(16, 24) X(48, 8) X(160, 2)    // bytes, blocks: numbers; ascending
 *   TARN_STATIC_HEAP(message_heap, MESSAGE_SIZES)
 *
 *   void* name_allocate(struct name*, size_t bytes, size_t alignment)
 *       Takes a block of the smallest class of at least `bytes` bytes (0 is allowed) whose
 *       alignment, TARN_STATIC_ALIGNMENT of its size, is at least `alignment` (a power of two; 1
 *       asks for none). Null when no class is large enough, or that class has no free block.
 *   void name_deallocate(struct name*, void* p), name_owns, name_is_live, name_check
 *       As above.
 *   size_t name_block_bytes_of(const struct name*, p)
 *       The size of the class in whose blocks p lies; 0: it lies in none.
 *   void name_each_class(const struct name*, void (*visit)(const tarn_static_stats*, void*), void*)
 *       Calls visit for each class, smallest first.
 *
 * TARN_STATIC_HEAP_WITH takes SPILL, LOCK and UNLOCK besides. With SPILL 1 the next larger class
 * serves a request when a class has no free block; with 0 the request fails. The lock is held for
 * one operation on the whole heap. TARN_STATIC_HEAP_LOCK_FREE takes SPILL. */
#define TARN_STATIC_HEAP(name, CLASSES) \
  TARN_STATIC_HEAP_WITH(name, CLASSES, 0, TARN_STATIC_NO_LOCK, TARN_STATIC_NO_LOCK)
#define TARN_STATIC_HEAP_WITH(name, CLASSES, SPILL, LOCK, UNLOCK) \
  TARN_STATIC_HEAP_OF_KIND(name, CLASSES, SPILL, PLAIN, LOCK, UNLOCK)
#define TARN_STATIC_HEAP_LOCK_FREE(name, CLASSES, SPILL) \
  TARN_STATIC_HAS_SWAP()                                 \
  TARN_STATIC_HEAP_OF_KIND(name, CLASSES, SPILL, SHARED, TARN_STATIC_NO_LOCK, TARN_STATIC_NO_LOCK)

#define TARN_STATIC_NO_LOCK(pool) ((void)(pool))
#define TARN_STATIC_HAS_SWAP()                                                  \
  TARN_STATIC_ASSERT(__GCC_ATOMIC_POINTER_LOCK_FREE == 2,                       \
                     "LOCK_FREE needs a processor with compare-and-swap: take " \
                     "LOCK and UNLOCK that mask interrupts instead");

/* What follows serves the macros above. */

enum { TARN_STATIC_FREED = 1, TARN_STATIC_NOT_LIVE, TARN_STATIC_FOREIGN };

/* The two kinds of functions in tarn/detail/static_bits.h, selected by token pasting. */
#define TARN_STATIC_IS_PLAIN 0
#define TARN_STATIC_IS_SHARED 1
#define TARN_STATIC_ALLOCATE_PLAIN tarn_static_allocate_plain
#define TARN_STATIC_ALLOCATE_SHARED tarn_static_allocate_shared
#define TARN_STATIC_DEALLOCATE_PLAIN tarn_static_deallocate_plain
#define TARN_STATIC_DEALLOCATE_SHARED tarn_static_deallocate_shared

TARN_STATIC_INLINE void* tarn_static_allocate_plain(size_t* words, tarn_static_counts* counts,
                                                    size_t blocks, unsigned char* data,
                                                    size_t bytes, size_t stride) {
  if (tarn_static_is_exhausted(counts, blocks)) return NULL;
  if (TARN_WATCH && tarn_watch_lasts(data)) tarn_static_watch_first(counts, data, blocks * stride);
  unsigned char* const p = data + tarn_static_take(words, counts, blocks) * stride;
  if (TARN_WATCH) tarn_watch_open(p, bytes);
  return p;
}
TARN_STATIC_INLINE void* tarn_static_allocate_shared(size_t* words, tarn_static_counts* counts,
                                                     size_t blocks, unsigned char* data,
                                                     size_t bytes, size_t stride) {
  const size_t i = tarn_static_take_shared(words, counts, blocks);
  if (TARN_WATCH && i != TARN_STATIC_NONE) {
    tarn_static_watch_taken_shared(data + i * stride, bytes, stride);
  }
  return i == TARN_STATIC_NONE ? NULL : data + i * stride;
}

TARN_STATIC_INLINE size_t tarn_static_number(const unsigned char* data, size_t stride,
                                             const void* p) {
  return tarn_exact_index(data, p, tarn_exact_inverse(stride), tarn_exact_shift(stride));
}
TARN_STATIC_INLINE int tarn_static_deallocate_plain(size_t* words, tarn_static_counts* counts,
                                                    size_t blocks, const unsigned char* data,
                                                    size_t bytes, size_t stride, const void* p) {
  const size_t i = tarn_static_number(data, stride, p);
  if (TARN_UNLIKELY(i >= blocks)) return TARN_STATIC_FOREIGN;
  const int given = tarn_static_give(words, counts, blocks, i);
  if (TARN_WATCH && given && tarn_watch_lasts(p)) tarn_watch_freed(p, bytes);
  return given ? TARN_STATIC_FREED : TARN_STATIC_NOT_LIVE;
}
TARN_STATIC_INLINE int tarn_static_deallocate_shared(size_t* words, tarn_static_counts* counts,
                                                     size_t blocks, const unsigned char* data,
                                                     size_t bytes, size_t stride, const void* p) {
  const size_t i = tarn_static_number(data, stride, p);
  if (TARN_UNLIKELY(i >= blocks)) return TARN_STATIC_FOREIGN;
  if (TARN_WATCH && tarn_watch_lasts(p)) {
    tarn_static_watch_giving_shared(words, blocks, i, p, bytes, stride);
  }
  return tarn_static_give_shared(words, counts, blocks, i) ? TARN_STATIC_FREED
                                                           : TARN_STATIC_NOT_LIVE;
}
TARN_STATIC_INLINE void tarn_static_judge(int outcome, const void* pool, const void* p) {
  if (TARN_LIKELY(outcome == TARN_STATIC_FREED) || p == NULL) return;
  tarn_static_report(outcome == TARN_STATIC_NOT_LIVE ? "double free" : "invalid free", pool, p);
}

TARN_STATIC_INLINE int tarn_static_inside(const unsigned char* data, size_t bytes, const void* p) {
  return (size_t)(uintptr_t)p - (size_t)(uintptr_t)data < bytes;
}
TARN_STATIC_INLINE size_t tarn_static_read(const size_t* count) {
  return __atomic_load_n(count, __ATOMIC_RELAXED);
}
TARN_STATIC_INLINE tarn_static_stats tarn_static_stats_of(const tarn_static_counts* counts,
                                                          size_t block_bytes, size_t blocks) {
  tarn_static_stats stats;
  stats.block_bytes = block_bytes;
  stats.blocks = blocks;
  stats.in_use = tarn_static_read(&counts->in_use);
  stats.peak = tarn_static_read(&counts->peak);
  stats.failures = tarn_static_read(&counts->failures);
  return stats;
}

/* The counts lie before the blocks, where an overrun of the last block does not reach. */
#define TARN_STATIC_MEMBERS(bytes, blocks, alignment)                                             \
  TARN_STATIC_ASSERT((blocks) > 0 && (bytes) > 0, "a static pool has blocks of at least 1 byte"); \
  TARN_STATIC_ASSERT((alignment) > 0 && ((alignment) & ((alignment)-1)) == 0,                     \
                     "an alignment is a power of two");                                           \
  TARN_STATIC_ASSERT((size_t)(bytes) <= PTRDIFF_MAX / (size_t)(blocks) - (alignment),             \
                     "the blocks of a static pool must fit into the address space");              \
  size_t words[TARN_STATIC_WORDS(blocks)];                                                        \
  tarn_static_counts counts;                                                                      \
  __attribute__((                                                                                 \
      aligned(alignment))) unsigned char data[TARN_STATIC_STRIDE(bytes, alignment) * (blocks)];

#define TARN_STATIC_POOL_OF_KIND(name, bytes, blocks, alignment, kind, LOCK, UNLOCK)              \
  struct name {                                                                                   \
    TARN_STATIC_MEMBERS(bytes, blocks, alignment)                                                 \
  };                                                                                              \
  __attribute__((unused)) static inline void* name##_allocate(struct name* pool) {                \
    LOCK(pool);                                                                                   \
    void* const p = TARN_STATIC_ALLOCATE_##kind(pool->words, &pool->counts, blocks, pool->data,   \
                                                bytes, TARN_STATIC_STRIDE(bytes, alignment));     \
    UNLOCK(pool);                                                                                 \
    return p;                                                                                     \
  }                                                                                               \
  __attribute__((unused)) static inline void name##_deallocate(struct name* pool, void* p) {      \
    LOCK(pool);                                                                                   \
    const int outcome =                                                                           \
        TARN_STATIC_DEALLOCATE_##kind(pool->words, &pool->counts, blocks, pool->data, bytes,      \
                                      TARN_STATIC_STRIDE(bytes, alignment), p);                   \
    UNLOCK(pool);                                                                                 \
    tarn_static_judge(outcome, pool, p);                                                          \
  }                                                                                               \
  __attribute__((unused)) static inline int name##_owns(const struct name* pool, const void* p) { \
    return tarn_static_inside(pool->data, sizeof pool->data, p);                                  \
  }                                                                                               \
  __attribute__((unused)) static inline size_t name##_index_of(const struct name* pool,           \
                                                               const void* p) {                   \
    return tarn_static_number(pool->data, TARN_STATIC_STRIDE(bytes, alignment), p);               \
  }                                                                                               \
  __attribute__((unused)) static inline int name##_is_live(const struct name* pool,               \
                                                           const void* p) {                       \
    return tarn_static_is_live(pool->words, blocks, name##_index_of(pool, p));                    \
  }                                                                                               \
  __attribute__((unused)) static inline void* name##_next(struct name* pool, const void* p) {     \
    size_t i = p == NULL ? 0 : name##_index_of(pool, p) + 1;                                      \
    while (i < (blocks) && !tarn_static_is_live(pool->words, blocks, i)) ++i;                     \
    return i < (blocks) ? pool->data + i * TARN_STATIC_STRIDE(bytes, alignment) : NULL;           \
  }                                                                                               \
  __attribute__((unused)) static inline tarn_static_stats name##_stats(const struct name* pool) { \
    return tarn_static_stats_of(&pool->counts, bytes, blocks);                                    \
  }                                                                                               \
  __attribute__((unused)) static inline int name##_check(const struct name* pool) {               \
    return tarn_static_check_bits(pool->words, &pool->counts, blocks, TARN_STATIC_IS_##kind);     \
  }

/* Each handles one class in the body of a heap's function. */
#define TARN_STATIC_CLASS(size, blocks)                            \
  struct {                                                         \
    TARN_STATIC_MEMBERS(size, blocks, TARN_STATIC_ALIGNMENT(size)) \
  } class_##size;
#define TARN_STATIC_NOT_ABOVE(size, blocks) < (size_t)(size) ? 0 : 1) + ((size_t)(size)
#define TARN_STATIC_TRY(size, blocks, kind)                                                       \
  if (tries && bytes <= (size) && alignment <= TARN_STATIC_ALIGNMENT(size)) {                     \
    p = TARN_STATIC_ALLOCATE_##kind(heap->class_##size.words, &heap->class_##size.counts, blocks, \
                                    heap->class_##size.data, size, size);                         \
    tries = p == NULL && spill;                                                                   \
  }
#define TARN_STATIC_TRY_PLAIN(size, blocks) TARN_STATIC_TRY(size, blocks, PLAIN)
#define TARN_STATIC_TRY_SHARED(size, blocks) TARN_STATIC_TRY(size, blocks, SHARED)
#define TARN_STATIC_IN(size) \
  tarn_static_inside(heap->class_##size.data, sizeof heap->class_##size.data, p)
#define TARN_STATIC_RETURN(size, blocks, kind)                                                    \
  if (TARN_STATIC_IN(size)) {                                                                     \
    outcome = TARN_STATIC_DEALLOCATE_##kind(heap->class_##size.words, &heap->class_##size.counts, \
                                            blocks, heap->class_##size.data, size, size, p);      \
  } else
#define TARN_STATIC_RETURN_PLAIN(size, blocks) TARN_STATIC_RETURN(size, blocks, PLAIN)
#define TARN_STATIC_RETURN_SHARED(size, blocks) TARN_STATIC_RETURN(size, blocks, SHARED)
#define TARN_STATIC_BYTES(size, blocks) \
  if (TARN_STATIC_IN(size)) return size;
#define TARN_STATIC_LIVE(size, blocks)                                                \
  if (TARN_STATIC_IN(size)) {                                                         \
    return tarn_static_is_live(heap->class_##size.words, blocks,                      \
                               tarn_static_number(heap->class_##size.data, size, p)); \
  }
#define TARN_STATIC_VISIT(size, blocks)                                 \
  {                                                                     \
    const tarn_static_stats stats =                                     \
        tarn_static_stats_of(&heap->class_##size.counts, size, blocks); \
    visit(&stats, context);                                             \
  }
#define TARN_STATIC_CHECK(size, blocks, kind)                                                      \
  if (!tarn_static_check_bits(heap->class_##size.words, &heap->class_##size.counts, blocks, kind)) \
    return 0;
#define TARN_STATIC_CHECK_PLAIN(size, blocks) TARN_STATIC_CHECK(size, blocks, 0)
#define TARN_STATIC_CHECK_SHARED(size, blocks) TARN_STATIC_CHECK(size, blocks, 1)

#define TARN_STATIC_HEAP_OF_KIND(name, CLASSES, SPILL, kind, LOCK, UNLOCK)                        \
  struct name {                                                                                   \
    CLASSES(TARN_STATIC_CLASS)                                                                    \
  };                                                                                              \
  TARN_STATIC_ASSERT(((size_t)0 CLASSES(TARN_STATIC_NOT_ABOVE) < SIZE_MAX ? 0 : 1) == 0,          \
                     "the classes of a static heap ascend by their bytes");                       \
  __attribute__((unused)) static inline void* name##_allocate(struct name* heap, size_t bytes,    \
                                                              size_t alignment) {                 \
    const int spill = SPILL;                                                                      \
    int tries = 1;                                                                                \
    void* p = NULL;                                                                               \
    LOCK(heap);                                                                                   \
    CLASSES(TARN_STATIC_TRY_##kind)                                                               \
    UNLOCK(heap);                                                                                 \
    return p;                                                                                     \
  }                                                                                               \
  __attribute__((unused)) static inline void name##_deallocate(struct name* heap, void* p) {      \
    int outcome = TARN_STATIC_FOREIGN;                                                            \
    LOCK(heap);                                                                                   \
    CLASSES(TARN_STATIC_RETURN_##kind) {}                                                         \
    UNLOCK(heap);                                                                                 \
    tarn_static_judge(outcome, heap, p);                                                          \
  }                                                                                               \
  __attribute__((unused)) static inline size_t name##_block_bytes_of(const struct name* heap,     \
                                                                     const void* p) {             \
    CLASSES(TARN_STATIC_BYTES)                                                                    \
    return 0;                                                                                     \
  }                                                                                               \
  __attribute__((unused)) static inline int name##_owns(const struct name* heap, const void* p) { \
    return name##_block_bytes_of(heap, p) != 0;                                                   \
  }                                                                                               \
  __attribute__((unused)) static inline int name##_is_live(const struct name* heap,               \
                                                           const void* p) {                       \
    CLASSES(TARN_STATIC_LIVE)                                                                     \
    return 0;                                                                                     \
  }                                                                                               \
  __attribute__((unused)) static inline void name##_each_class(                                   \
      const struct name* heap, void (*visit)(const tarn_static_stats*, void*), void* context) {   \
    CLASSES(TARN_STATIC_VISIT)                                                                    \
  }                                                                                               \
  __attribute__((unused)) static inline int name##_check(const struct name* heap) {               \
    CLASSES(TARN_STATIC_CHECK_##kind)                                                             \
    return 1;                                                                                     \
  }

#ifdef __cplusplus
}
#endif

#endif
#endif
