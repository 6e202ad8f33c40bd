/* recover.h: memory that is given back when it is short, in C. (C++: tarn/heap/recover.hpp.) From
 * what costs least to what costs most: empty pages; what owners give when they are asked
 * (reclaimers); blocks that may vanish (purgeables). Asked for by tarn_recover; and, once a
 * reclaimer or a purgeable is registered, by every allocation that fails otherwise: at a ceiling,
 * when a region is full or a source gives no more, and when the process is out of memory. It is
 * then tried again, as long as something came.
 *
 * Any function may be called from any thread. Sizes are bytes. -1 comes with errno.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_RECOVER_H
#define TARN_RECOVER_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>

#include "../detail/api.h"
#include "../detail/sized.h"
#include "heap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The steps, in this order. 0: all. */
enum tarn_recover_flag {
  TARN_RECOVER_SPARE = 1,   /* Empty pages and caches. */
  TARN_RECOVER_RECLAIM = 2, /* Reclaimers. */
  TARN_RECOVER_PURGEABLES = 4
};

typedef struct tarn_recovered {
  size_t spare_bytes;     /* Given to the operating system, or to a heap's own source or region. */
  size_t reclaimed_bytes; /* As the callbacks say. */
  size_t purged_bytes;    /* Usable bytes of the blocks that vanished. */
} tarn_recovered;

/* Recovers memory of all heaps, step by step, until `wanted_bytes` have come back (0: nothing is
 * done; SIZE_MAX: all there is), and gives what became empty to the operating system. Returns the
 * bytes that came, perhaps more than wanted; 0 with EINVAL for flags that it does not know. Else
 * errno is as before, whatever callbacks do to it.
 *
 * Spare memory: what the calling thread, ended threads and, in heaps of one's own, all threads keep
 * empty. (What other threads that are alive keep of malloc's own heap they alone can give:
 * tarn_thread_idle.) A heap keeps its floor. Heaps that other threads keep locked (tarn_heap_lock)
 * are passed over.
 *
 * In a reclaimer's callback, and in a thread whose end has begun, reclaimers are left out. Time
 * linear in heaps, their free pages, reclaimers and purgeables, and what the callbacks take. */
TARN_API size_t tarn_recover(size_t wanted_bytes, unsigned flags);

/* As above, in a heap and those below it (its children and theirs), for which it waits; the zero
 * value: in all. *steps, if not null, says what came of which step. */
TARN_API size_t tarn_recover_heap(tarn_heap heap, size_t wanted_bytes, unsigned flags,
                                  tarn_recovered* steps);

/* Sums since the process began. */
typedef struct tarn_recover_stats {
  size_t bytes;            /* sizeof(tarn_recover_stats); TARN_RECOVER_STATS(...) sets it. */
  uint64_t recoveries;     /* Asked for, by calls and by allocations. */
  uint64_t by_allocations; /* The part of these that allocations made. */
  uint64_t by_allocations_in_vain; /* The part of those allocations that got nothing. */
  uint64_t spare_bytes;
  uint64_t callbacks;         /* Calls of reclaimers' callbacks. */
  uint64_t callbacks_in_vain; /* Calls that gave nothing. */
  uint64_t reclaimed_bytes;   /* The bytes that the other calls gave. */
  uint64_t purged;            /* Purgeable blocks that vanished so. */
  uint64_t purged_bytes;
  uint64_t refills; /* Blocks that were allocated again. */
} tarn_recover_stats;

#define TARN_RECOVER_STATS(...) TARN_SIZED(tarn_recover_stats, __VA_ARGS__)

/* 0, or -1 with EINVAL. */
TARN_API int tarn_recover_get_stats(tarn_recover_stats* stats);

/* Reclaimers: owners of memory that give some of it when they are asked.
 *
 * The callback gives back what it can of `wanted_bytes`, more if that is simpler, and returns how
 * much that was; 0: nothing. An allocation that came to a ceiling asks again as long as a callback
 * says that it gave something, so a callback that says so untruly keeps it waiting for ever. It is
 * called
 *   - by any thread that allocates, calls tarn_recover or serves pressure, by several at a time,
 *     with no lock of the library held, and malloc serving from its own heap;
 *   - wherever the program allocates, so perhaps under locks of the program's, of a pool or arena
 *     that was growing. It must wait for none of these, nor for a lock under which anybody
 *     allocates: it tries the lock, and returns 0 where that is taken;
 *   - not for what the links and names of a tree's nodes need, amid a change of the tree;
 *   - never in a callback of the same thread.
 * It may allocate and free. It may register and unregister reclaimers, itself too; one that is
 * registered while owners are asked is asked the next time. It must not end the thread (nor let it
 * be cancelled), throw, or jump out. */
typedef size_t (*tarn_reclaim)(size_t wanted_bytes, void* context);

/* An estimate of what it could give now. 0: it is not called. Called under the same conditions. */
typedef size_t (*tarn_reclaim_estimate)(void* context);

typedef struct tarn_reclaimer_options {
  size_t bytes;     /* sizeof(tarn_reclaimer_options); TARN_RECLAIMER_OPTIONS(...) sets it. */
  const char* name; /* For reports; not copied. Null: none. */
  int priority;     /* Lower ones are asked first; equal ones in the order they came. */
  tarn_heap heap;   /* Asked when this heap or one above it needs memory, and when the process
                       does. The zero value: only when the process does. */
  tarn_reclaim reclaim;
  tarn_reclaim_estimate estimate; /* Null: tarn_reclaimer_set_estimate says it. */
  void* context;
} tarn_reclaimer_options;

#define TARN_RECLAIMER_OPTIONS(...) TARN_SIZED(tarn_reclaimer_options, __VA_ARGS__)

/* The program's memory, and the library's words. It stays where it is while it is registered. */
typedef struct tarn_reclaimer {
  struct tarn_reclaimer* next;
  uint64_t number;
  uint32_t runs; /* Callbacks that have not returned. */
  int priority;
  tarn_heap heap;
  tarn_reclaim reclaim;
  tarn_reclaim_estimate estimate;
  void* context;
  const char* name;
  size_t estimate_bytes;
  uint64_t calls;
  uint64_t calls_in_vain;
  uint64_t given_bytes;
} tarn_reclaimer;

/* Registers; nothing is allocated. 0; -1 with EINVAL for options that make no sense, with EBUSY for
 * one that is registered. Time linear in the reclaimers. A heap that ends takes no reclaimer with
 * it: it stays registered, and is not called any more. */
TARN_API int tarn_reclaimer_register(tarn_reclaimer* reclaimer,
                                     const tarn_reclaimer_options* options);

/* When this returns the callback is not running, and will not be called; the memory is the
 * program's again. Waits for other threads that are in the callback, so the caller must hold no
 * lock for which the callback waits, and a callback unregisters no other one that may be waiting
 * for it in turn. In the callback itself it does not wait for that call. 0; -1 with EINVAL for what
 * is not registered. */
TARN_API int tarn_reclaimer_unregister(tarn_reclaimer* reclaimer);

/* What it could give, for a reclaimer without a function that says so; whenever that changes. At
 * first it is not known (SIZE_MAX), and the callback is called. pre: registered. Two instructions.
 */
TARN_API void tarn_reclaimer_set_estimate(tarn_reclaimer* reclaimer, size_t bytes);

typedef struct tarn_reclaimer_stats {
  size_t bytes;           /* sizeof(tarn_reclaimer_stats); TARN_RECLAIMER_STATS(...) sets it. */
  uint64_t calls;         /* Calls of the callback. */
  uint64_t calls_in_vain; /* Calls that gave nothing. */
  uint64_t given_bytes;   /* The bytes that the other calls gave. */
} tarn_reclaimer_stats;

#define TARN_RECLAIMER_STATS(...) TARN_SIZED(tarn_reclaimer_stats, __VA_ARGS__)

/* 0, or -1 with EINVAL. pre: registered, or it was */
TARN_API int tarn_reclaimer_get_stats(const tarn_reclaimer* reclaimer, tarn_reclaimer_stats* stats);

/* Purgeables: blocks that may vanish while nobody has them locked, since they can be made again:
 * decoded images, tables, answers.
 *
 *   tarn_purgeable image = {0};
 *   tarn_purgeable_begin(&image, heap, bytes);
 *   ...
 *   void* pixels = tarn_purgeable_lock(&image);
 *   if (pixels == NULL && (pixels = tarn_purgeable_refill(&image)) != NULL) decode(pixels);
 *   if (pixels != NULL) draw(pixels), tarn_purgeable_unlock(&image);
 *
 * Those of the heap that needs memory, and of heaps below it, vanish; when the process needs it, of
 * all. First go those that were not locked since the last such look at them, oldest first; then the
 * others. None of a frozen heap goes, nor of one that the thread is walking.
 *
 * When its heap is destroyed or cleared a purgeable vanishes (locked or not); when that is deleted
 * its block is malloc's as all others, and may vanish still. Meanwhile others may lock, unlock and
 * recover; refilling allocates, discarding and ending free, and come before or after it, as other
 * such calls do (tarn_heap_destroy). Once the heap has ended refilling is use after destroy. In
 * the child of a fork what vanished threads had locked stays (but can be ended, as long as it has
 * no more locks than it had at the fork: whose they were is not known), and what they were filling
 * has vanished, as has what lay in a secret heap. */
typedef struct tarn_purgeable {
  uint64_t word; /* 0: not registered. All of it is the library's. */
  void* block;
  size_t bytes;
  tarn_heap heap;
  void* ring;
  struct tarn_purgeable* next;
  struct tarn_purgeable* prev;
  uint32_t epoch;
  uint32_t filler;
  uint32_t forks;
  uint32_t inherited;
} tarn_purgeable;

/* Registers one of `bytes` in a heap (the zero value: malloc's) whose block has vanished: the first
 * refill allocates. pre: all zero, or ended. It stays where it is until then. 0; -1 with EINVAL for
 * 0 bytes, EBUSY for one that is registered. Constant time; nothing is allocated. */
TARN_API int tarn_purgeable_begin(tarn_purgeable* purgeable, tarn_heap heap, size_t bytes);

/* As above, with a block that there is already, of any heap: from here on it may vanish, and the
 * program no longer frees it. EINVAL for what is no block of tarn's. */
TARN_API int tarn_purgeable_adopt(tarn_purgeable* purgeable, void* block);

/* The block, which stays where it is until it is unlocked as often as it was locked; or null, and
 * errno as it was, when it has vanished. Null with EBUSY while it is being filled, with EINVAL for
 * one that is not registered. No lock, no call: one atomic operation. */
TARN_API TARN_MUST_USE void* tarn_purgeable_lock(tarn_purgeable* purgeable);

/* Undoes a lock, or ends the filling. Without either it is reported ("tarn: unlock without lock")
 * and ends the process, as far as that can be told. One atomic operation; after filling, a lock. */
TARN_API void tarn_purgeable_unlock(tarn_purgeable* purgeable);

/* Allocates the block again, with any contents, for the calling thread alone: until it unlocks,
 * others find it being filled. Null with EEXIST when it has not vanished (lock it), EBUSY while
 * another thread fills it (or one has not unlocked yet what its heap took away), ENOMEM, EINVAL as
 * above. It may lie elsewhere than before. */
TARN_API TARN_MUST_USE void* tarn_purgeable_refill(tarn_purgeable* purgeable);

/* Makes it vanish now; also by the thread that fills it, instead of unlocking. 0, also when it has
 * vanished; -1 with EBUSY while it is locked or filled by another thread, or its refill has not
 * returned (in a reclaimer that this calls), EINVAL as above. */
TARN_API int tarn_purgeable_discard(tarn_purgeable* purgeable);

/* Ends it and frees the block. 0; -1 with EBUSY while it is locked or filled, EINVAL as above. */
TARN_API int tarn_purgeable_end(tarn_purgeable* purgeable);

#ifdef __cplusplus
}
#endif

#endif
#endif
