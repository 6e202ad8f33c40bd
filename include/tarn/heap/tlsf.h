/* tlsf.h: heaps of blocks of any size in memory that the program provides, in C. (C++:
 * tarn/heap/tlsf.hpp.) Each operation takes a bounded number of instructions. Header only, C11;
 * needs no other heap, no OS, and of the C library only memcpy. docs/static_pools.md has the
 * bounds, tarn/detail/tlsf_blocks.h says how it works.
 *
 *   TARN_STATIC_TLSF(message_heap, 4096)      // struct message_heap and its functions
 *   static struct message_heap messages;      // with 4,096 bytes for blocks inside, in .bss
 *   void* p = message_heap_allocate(&messages, 100, 1);
 *   message_heap_deallocate(&messages, p);
 *
 * A heap whose bytes are all zero is ready for use, so a static one works before main, without a
 * call.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_TLSF_H
#define TARN_TLSF_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include "../detail/tlsf_bounds.h"

#ifdef __cplusplus
#define TARN_TLSF_ASSERT static_assert
#else
#define TARN_TLSF_ASSERT _Static_assert
#endif

/* All macros stand at file scope, without a semicolon.
 *
 * TARN_TLSF(name, bytes_max) declares `struct name` and static inline functions. The struct is a
 * heap over regions that are added to it, each of up to `bytes_max` bytes.
 *
 * TARN_STATIC_TLSF(name, bytes) declares a heap whose first region is in the object and has `bytes`
 * bytes. More regions may be added, none larger than that.
 *
 * TARN_TLSF_WITH and TARN_STATIC_TLSF_WITH take LOCK and UNLOCK besides: functions or function-like
 * macros that are called with the heap around each operation. Without them, the caller sees to it
 * that one thread at a time uses the heap.
 *
 *   int name_add_region(struct name*, void* memory, size_t bytes)
 *       Adds memory at any address. Returns 0, and does nothing, when the memory is too small for a
 *       block (10 words always suffice), too large, or overlaps a region of this heap. A region
 *       cannot be removed: the program drops the whole heap. Under a tool that watches
 *       (tarn/detail/watch.h) it then calls tarn_watch_end before it uses the memory for something
 *       else, unless it passes the memory to free. Linear in the regions.
 *   void* name_allocate(struct name*, size_t bytes, size_t alignment)
 *       Returns a block, which is not zeroed and is aligned to two words at least. alignment: a
 *       power of two. bytes 0: a block that may only be deallocated. Returns null, and counts a
 *       failure, when no free block is large enough or the numbers make no sense.
 *   void* name_reallocate(struct name*, void* p, size_t bytes, size_t alignment)
 *       Resizes p to at least `bytes` bytes. p stays where it is if it is aligned so, and if it
 *       shrinks or the memory behind it is free and large enough. Otherwise its contents are copied
 *       to a new block, and p is freed. Null when there is no memory; then p is unchanged. A null p
 *       is allocated. Copying is not part of the bound, and is not done under the lock.
 *   void name_deallocate(struct name*, void* p)
 *       Frees p and joins it with free neighbours at once; null is ignored. If p is no live block,
 *       as far as its header and its neighbours tell, tarn_static_misuse is called before anything
 *       changes: with "double free", "invalid free", or "overrun", which says that a neighbour's
 *       header was written over. A pointer into a block is not found out if the bytes there look
 *       like a header. Takes eight instructions for each region but one.
 *   int name_owns(const struct name*, p)
 *       Whether p lies in the blocks of a region. p: any pointer.
 *   int name_is_live(const struct name*, p)
 *       Whether p is the start of a live block. p: any pointer.
 *   size_t name_block_bytes_of(const struct name*, p)
 *       How many bytes of p may be used. p: a live block.
 *   void* name_next(struct name*, p)
 *       The live block after p, or the first one for null; null at the end. Walks all blocks
 *       between the two, and takes no lock.
 *   tarn_tlsf_stats name_stats(struct name*)
 *   int name_check(const struct name*)
 *       1 when every invariant holds. Walks all blocks, and takes no lock.
 *
 * A block takes one word beside its bytes. These are rounded up to an odd number of words, 3 at
 * least. Of a free block the heap writes the first three words and the last one. */
#define TARN_TLSF(name, bytes_max) \
  TARN_TLSF_WITH(name, bytes_max, TARN_STATIC_TLSF_NO_LOCK, TARN_STATIC_TLSF_NO_LOCK)
#define TARN_TLSF_WITH(name, bytes_max, LOCK, UNLOCK)              \
  TARN_TLSF_ASSERT((bytes_max) <= TARN_TLSF_BYTES_MAX,             \
                   "a TLSF heap has at most TARN_TLSF_BYTES_MAX"); \
  struct name {                                                    \
    tarn_tlsf heap;                                                \
    tarn_tlsf_level levels[TARN_TLSF_LEVELS(bytes_max)];           \
  };                                                               \
  TARN_TLSF_FUNCTIONS(name, TARN_TLSF_LEVELS(bytes_max), TARN_TLSF_IS_READY, LOCK, UNLOCK)

#define TARN_STATIC_TLSF(name, bytes) \
  TARN_STATIC_TLSF_WITH(name, bytes, TARN_STATIC_TLSF_NO_LOCK, TARN_STATIC_TLSF_NO_LOCK)
#define TARN_STATIC_TLSF_WITH(name, bytes, LOCK, UNLOCK)                                    \
  TARN_TLSF_ASSERT((bytes) >= 8 * sizeof(size_t) && (bytes) <= TARN_TLSF_BYTES_MAX,         \
                   "a static TLSF heap has 8 words at least, TARN_TLSF_BYTES_MAX at most"); \
  struct name {                                                                             \
    tarn_tlsf heap;                                                                         \
    tarn_tlsf_level levels[TARN_TLSF_LEVELS(bytes)];                                        \
    __attribute__((aligned(2 * sizeof(size_t)))) unsigned char data[bytes];                 \
  };                                                                                        \
  TARN_TLSF_FUNCTIONS(name, TARN_TLSF_LEVELS(bytes), TARN_TLSF_GET_READY, LOCK, UNLOCK)

#define TARN_STATIC_TLSF_NO_LOCK(heap) ((void)(heap))

/* What follows serves the macros above. */
#define TARN_TLSF_IS_READY(h, level_count) ((void)0)
#define TARN_TLSF_GET_READY(h, level_count) \
  (TARN_LIKELY((h)->heap.regions != NULL)   \
       ? (void)0                            \
       : (void)tarn_tlsf_add(&(h)->heap, (h)->levels, level_count, (h)->data, sizeof(h)->data))

#define TARN_TLSF_FUNCTIONS(name, level_count, READY, LOCK, UNLOCK)                               \
  __attribute__((unused)) static inline int name##_add_region(struct name* h, void* memory,       \
                                                              size_t bytes) {                     \
    LOCK(h);                                                                                      \
    READY(h, level_count);                                                                        \
    const int added = tarn_tlsf_add(&h->heap, h->levels, level_count, memory, bytes);             \
    UNLOCK(h);                                                                                    \
    return added;                                                                                 \
  }                                                                                               \
  __attribute__((unused)) static inline void* name##_allocate(struct name* h, size_t bytes,       \
                                                              size_t alignment) {                 \
    LOCK(h);                                                                                      \
    READY(h, level_count);                                                                        \
    void* const p = tarn_tlsf_allocate(&h->heap, h->levels, level_count, bytes, alignment);       \
    UNLOCK(h);                                                                                    \
    return p;                                                                                     \
  }                                                                                               \
  __attribute__((unused)) static inline void name##_deallocate(struct name* h, void* p) {         \
    if (p == NULL) return;                                                                        \
    LOCK(h);                                                                                      \
    const char* const wrong = tarn_tlsf_deallocate(&h->heap, h->levels, p);                       \
    UNLOCK(h);                                                                                    \
    if (TARN_UNLIKELY(wrong != NULL)) tarn_static_report(wrong, h, p);                            \
  }                                                                                               \
  __attribute__((unused)) static inline void* name##_reallocate(struct name* h, void* p,          \
                                                                size_t bytes, size_t alignment) { \
    if (p == NULL) return name##_allocate(h, bytes, alignment);                                   \
    void* other = NULL;                                                                           \
    size_t had = 0;                                                                               \
    LOCK(h);                                                                                      \
    const char* const wrong = tarn_tlsf_wrong(&h->heap, p);                                       \
    if (TARN_LIKELY(wrong == NULL)) {                                                             \
      had = tarn_tlsf_usable(p);                                                                  \
      other = tarn_tlsf_resize(&h->heap, h->levels, level_count, p, bytes, alignment)             \
                  ? p                                                                             \
                  : tarn_tlsf_allocate(&h->heap, h->levels, level_count, bytes, alignment);       \
    }                                                                                             \
    UNLOCK(h);                                                                                    \
    if (TARN_UNLIKELY(wrong != NULL)) tarn_static_report(wrong, h, p);                            \
    if (other == NULL || other == p) return other;                                                \
    __builtin_memcpy(other, p, had < bytes ? had : bytes);                                        \
    name##_deallocate(h, p);                                                                      \
    return other;                                                                                 \
  }                                                                                               \
  __attribute__((unused)) static inline int name##_owns(const struct name* h, const void* p) {    \
    return tarn_tlsf_owns(&h->heap, p);                                                           \
  }                                                                                               \
  __attribute__((unused)) static inline int name##_is_live(const struct name* h, const void* p) { \
    return tarn_tlsf_is_live(&h->heap, p);                                                        \
  }                                                                                               \
  __attribute__((unused)) static inline size_t name##_block_bytes_of(const struct name* h,        \
                                                                     const void* p) {             \
    (void)h;                                                                                      \
    return tarn_tlsf_usable(p);                                                                   \
  }                                                                                               \
  __attribute__((unused)) static inline void* name##_next(struct name* h, const void* p) {        \
    return tarn_tlsf_next(&h->heap, p);                                                           \
  }                                                                                               \
  __attribute__((unused)) static inline tarn_tlsf_stats name##_stats(struct name* h) {            \
    LOCK(h);                                                                                      \
    READY(h, level_count);                                                                        \
    const tarn_tlsf_stats stats = tarn_tlsf_stats_of(&h->heap, h->levels);                        \
    UNLOCK(h);                                                                                    \
    return stats;                                                                                 \
  }                                                                                               \
  __attribute__((unused)) static inline int name##_check(const struct name* h) {                  \
    return tarn_tlsf_check(&h->heap, h->levels, level_count);                                     \
  }

#endif
#endif
