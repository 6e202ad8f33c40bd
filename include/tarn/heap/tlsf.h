/* tlsf.h: heaps of blocks of any size in memory of the user's, in C (C11; C++: tarn/heap/tlsf.hpp).
 * Each operation takes a bounded number of instructions. Header only: it needs no heap, no OS, and
 * no library but memcpy. docs/static_pools.md has the bounds; tarn/detail/tlsf_blocks.h says how it
 * works (two-level segregated fit).
 *
 *   TARN_STATIC_TLSF(message_heap, 4096)      // struct message_heap and its functions
 *   static struct message_heap messages;      // with 4,096 bytes for blocks inside, in .bss
 *   void* p = message_heap_allocate(&messages, 100, 1);
 *   message_heap_deallocate(&messages, p);
 *
 * A heap of zero bytes is ready: usable before main, without a call.
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

/* TARN_TLSF(name, bytes_max), at file scope and without a semicolon, declares `struct name` and
 * static inline functions: a heap in regions of up to `bytes_max` bytes each that are given to it.
 * TARN_STATIC_TLSF(name, bytes) also puts the first region, of `bytes` bytes, into the object; more
 * may be added, none larger than that. Either is for one thread at a time. TARN_TLSF_WITH and
 * TARN_STATIC_TLSF_WITH take LOCK and UNLOCK, functions or function-like macros that are called
 * with the heap around each operation.
 *
 *   int name_add_region(struct name*, void* memory, size_t bytes)
 *       adds a region at any address. Returns 0, and does nothing, when it is too small for a block
 *       (10 words always suffice), too large, or overlaps a region of this heap. A region cannot be
 *       taken back; drop the whole heap instead. Under a tool that watches (tarn/detail/watch.h),
 *       call tarn_watch_end before the memory is put to another use than free. Walks the regions
 *   void* name_allocate(struct name*, size_t bytes, size_t alignment)
 *       a block, not zeroed, aligned to two words at least. The alignment is a power of two. For 0
 *       bytes the block may only be deallocated. Null when no free block is large enough, or the
 *       numbers make no sense; both are counted
 *   void* name_reallocate(struct name*, void* p, size_t bytes, size_t alignment)
 *       resizes p. A block that is aligned as asked stays in place when it shrinks, or when what
 *       follows is free and large enough; otherwise its contents are copied to a new block, and p
 *       is freed. Null when there is no such block: p stays. A null p allocates. Copying is not
 *       part of the bound, and is done without the lock
 *   void name_deallocate(struct name*, void* p)
 *       frees p and joins it with free neighbours at once. Null is ignored. A pointer that is no
 *       live block, as far as its header and its neighbours tell, goes to tarn_static_misuse
 *       before anything changes: as a "double free", an "invalid free", or, when a neighbour's
 *       header was overwritten, an "overrun". A pointer into a block whose bytes look like a
 *       header is not noticed. Walks the regions: eight instructions for each but one
 *   int name_owns(const struct name*, p)           whether p, any pointer, is in a region
 *   int name_is_live(const struct name*, p)        whether p, any pointer, starts a live block
 *   size_t name_block_bytes_of(const struct name*, p)   usable bytes of p, a live block
 *   void* name_next(struct name*, p)               the live block after p, or the first for null;
 *                                                  null at the end. Walks; takes no lock
 *   tarn_tlsf_stats name_stats(struct name*)       counts and bytes
 *   int name_check(const struct name*)             1 when every invariant holds. Walks; no lock
 *
 * A block costs one word beside its bytes, which are rounded up to 2 n + 1 words and to 3 at least.
 * Freeing a block writes its first three words and its last. */
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
