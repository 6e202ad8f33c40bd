/* recover.h: recovery of memory at a shortage, in C. (C++: tarn/heap/recover.hpp.) A recovery has
 * three steps, from the cheapest to the dearest: empty pages; what owners give when they are asked
 * (reclaimers); blocks that may vanish (purgeables). tarn_recover asks for one. Once a reclaimer or
 * a purgeable is registered, so does every allocation that would fail: at a ceiling, when a region
 * is full or a source gives no more, and when the process is out of memory. The allocation is then
 * tried again, as long as a recovery gained something.
 *
 * Any function may be called from any thread. Sizes are in bytes. -1 comes with errno set.
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

/* The steps of a recovery, in the order in which they are taken. 0 stands for all of them. */
enum tarn_recover_flag {
  TARN_RECOVER_SPARE = 1,     /* Give back empty pages and caches. */
  TARN_RECOVER_RECLAIM = 2,   /* Ask reclaimers. */
  TARN_RECOVER_PURGEABLES = 4 /* Let purgeables vanish. */
};

/* What each step of a recovery gained. */
typedef struct tarn_recovered {
  size_t spare_bytes;     /* Given to the operating system, or to a heap's own source or region. */
  size_t reclaimed_bytes; /* The sum of what the callbacks returned. */
  size_t purged_bytes;    /* Usable bytes of the blocks that vanished. */
} tarn_recovered;

/* Recovers memory of all heaps, step by step, until `wanted_bytes` have come back, and gives what
 * became empty to the operating system. 0 wanted does nothing; SIZE_MAX recovers all there is.
 * Returns the bytes gained, perhaps more than wanted, or 0 with EINVAL for unknown flags. Otherwise
 * errno stays as it was, whatever callbacks do to it.
 *
 * Spare memory is what the calling thread, ended threads and, in heaps other than malloc's, all
 * threads keep empty. (What other live threads keep of malloc's own heap only they can give:
 * tarn_thread_idle.) A heap keeps its floor. Heaps that other threads hold locked (tarn_heap_lock)
 * are skipped.
 *
 * Reclaimers are not asked inside a reclaimer's callback, nor in a thread that has begun to end.
 * Time linear in heaps, their free pages, reclaimers and purgeables, plus what the callbacks
 * take. */
TARN_API size_t tarn_recover(size_t wanted_bytes, unsigned flags);

/* Recovers memory of a heap and of those below it (its children and theirs), waiting for threads
 * that hold them locked. The zero value stands for all heaps, as in tarn_recover. If `steps` is not
 * null, *steps says what each step gained. */
TARN_API size_t tarn_recover_heap(tarn_heap heap, size_t wanted_bytes, unsigned flags,
                                  tarn_recovered* steps);

/* What recoveries have done since the process began. */
typedef struct tarn_recover_stats {
  size_t bytes;            /* sizeof(tarn_recover_stats); TARN_RECOVER_STATS(...) sets it. */
  uint64_t recoveries;     /* Recoveries, by calls and by allocations. */
  uint64_t by_allocations; /* The recoveries that allocations began. */
  uint64_t by_allocations_in_vain; /* Those of them that gained nothing. */
  uint64_t spare_bytes;            /* Bytes gained from empty pages and caches. */
  uint64_t callbacks;              /* Calls of reclaimers' callbacks. */
  uint64_t callbacks_in_vain;      /* Those of the calls that gave nothing. */
  uint64_t reclaimed_bytes;        /* The bytes that the other calls gave. */
  uint64_t purged;                 /* Purgeable blocks that vanished. */
  uint64_t purged_bytes;           /* Their usable bytes. */
  uint64_t refills;                /* Blocks that were allocated again. */
} tarn_recover_stats;

#define TARN_RECOVER_STATS(...) TARN_SIZED(tarn_recover_stats, __VA_ARGS__)

/* Fills in *stats. Returns 0, or -1 with EINVAL for null or another size. Constant time. */
TARN_API int tarn_recover_get_stats(tarn_recover_stats* stats);

/* Reclaimers: owners of memory that give some of it when they are asked.
 *
 * The callback frees what it can of `wanted_bytes`, or more if that is simpler, and returns how
 * many bytes that was; 0 for nothing. An allocation at a ceiling asks again as long as a callback
 * says that it gave something, so a callback that says so untruly keeps it waiting for ever. The
 * callback is called
 *   - by any thread that allocates, calls tarn_recover or serves pressure, and by several at a
 *     time. No lock of the library is held, and malloc serves from its own heap;
 *   - wherever the program allocates, so perhaps while locks of the program are held, or the lock
 *     of a pool or arena that was growing. It must not wait for any of these, nor for a lock under
 *     which any thread allocates: it tries the lock, and returns 0 when that is taken;
 *   - not for memory that the links and names of tree nodes need in the middle of a change of the
 *     tree;
 *   - never within a callback of the same thread.
 * It may allocate and free. It may register and unregister reclaimers, including itself; one that
 * is registered while owners are being asked is asked the next time. It must not end the thread,
 * let it be cancelled, throw, or jump out with longjmp. */
typedef size_t (*tarn_reclaim)(size_t wanted_bytes, void* context);

/* Returns an estimate, in bytes, of what the reclaimer could give now. After 0 its callback is not
 * called. The estimate is called under the same conditions as the callback. */
typedef size_t (*tarn_reclaim_estimate)(void* context);

/* How a reclaimer is registered. */
typedef struct tarn_reclaimer_options {
  size_t bytes;     /* sizeof(tarn_reclaimer_options); TARN_RECLAIMER_OPTIONS(...) sets it. */
  const char* name; /* For reports; not copied. Null: none. */
  int priority;     /* Lower ones are asked first, equal ones in order of registration. */
  /* The reclaimer is asked when this heap or one above it needs memory, and when the process does.
   * The zero value: only when the process does. */
  tarn_heap heap;
  tarn_reclaim reclaim;           /* Never null. */
  tarn_reclaim_estimate estimate; /* Null: tarn_reclaimer_set_estimate says it. */
  void* context;                  /* Handed to both functions. */
} tarn_reclaimer_options;

#define TARN_RECLAIMER_OPTIONS(...) TARN_SIZED(tarn_reclaimer_options, __VA_ARGS__)

/* A reclaimer. The program provides the memory; the library writes it. It must not move while it is
 * registered. */
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

/* Registers a reclaimer. Nothing is allocated. Returns 0; or -1 with EINVAL for options that make
 * no sense, and with EBUSY for one that is registered already. Time linear in the reclaimers. When
 * its heap ends a reclaimer stays registered, and is not called any more. */
TARN_API int tarn_reclaimer_register(tarn_reclaimer* reclaimer,
                                     const tarn_reclaimer_options* options);

/* Unregisters a reclaimer. When this returns the callback is not running and will not be called
 * again, and the memory is the program's. It waits for other threads that are in the callback. So
 * the caller must hold no lock that the callback waits for, and a callback must not unregister
 * another reclaimer that may in turn be waiting for it. Called in the callback itself, it does not
 * wait for that call. Returns 0; or -1 with EINVAL for one that is not registered. Time linear in
 * the reclaimers. */
TARN_API int tarn_reclaimer_unregister(tarn_reclaimer* reclaimer);

/* Says how many bytes a reclaimer without an estimate function could give. Call it whenever that
 * changes. At first it is unknown (SIZE_MAX), and the callback is called. pre: registered. Two
 * instructions.
 */
TARN_API void tarn_reclaimer_set_estimate(tarn_reclaimer* reclaimer, size_t bytes);

/* What a reclaimer has done since it was registered. */
typedef struct tarn_reclaimer_stats {
  size_t bytes;           /* sizeof(tarn_reclaimer_stats); TARN_RECLAIMER_STATS(...) sets it. */
  uint64_t calls;         /* Calls of the callback. */
  uint64_t calls_in_vain; /* Those of the calls that gave nothing. */
  uint64_t given_bytes;   /* The bytes that the other calls gave. */
} tarn_reclaimer_stats;

#define TARN_RECLAIMER_STATS(...) TARN_SIZED(tarn_reclaimer_stats, __VA_ARGS__)

/* Fills in *stats. Returns 0, or -1 with EINVAL for null or another size. pre: the reclaimer is or
 * was registered */
TARN_API int tarn_reclaimer_get_stats(const tarn_reclaimer* reclaimer, tarn_reclaimer_stats* stats);

/* Purgeables: blocks that may vanish while nobody holds them locked, since their contents can be
 * made again: decoded images, tables, answers.
 *
 *   tarn_purgeable image = {0};
 *   tarn_purgeable_begin(&image, heap, bytes);
 *   ...
 *   void* pixels = tarn_purgeable_lock(&image);
 *   if (pixels == NULL && (pixels = tarn_purgeable_refill(&image)) != NULL) decode(pixels);
 *   if (pixels != NULL) draw(pixels), tarn_purgeable_unlock(&image);
 *
 * When a heap needs memory, purgeables of it and of heaps below it vanish; when the process needs
 * memory, those of all heaps. Those that were not locked since the last recovery looked at them go
 * first, oldest first; then the others. A frozen heap's purgeables stay, and so do those of a heap
 * that the thread is walking.
 *
 * When its heap is destroyed or cleared a purgeable vanishes, locked or not. When its heap is
 * deleted its block is malloc's, as all others, and may still vanish. Other threads may lock,
 * unlock and recover at that time. Refilling allocates, and discarding and ending free, so they
 * must come before or after it as other such calls do (tarn_heap_destroy). Refilling one whose heap
 * has ended is use after destroy.
 *
 * In the child of a fork, blocks that vanished threads had locked stay, because it is not known
 * whose locks they were; such a purgeable can be ended as long as it has no more locks than it had
 * at the fork. What vanished threads were filling has vanished, and so has what lay in a secret
 * heap. */
typedef struct tarn_purgeable {
  uint64_t word; /* 0 means that it is not registered. All fields are the library's. */
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

/* Registers a purgeable of `bytes` in a heap (the zero value: malloc's). Its block counts as
 * vanished: the first refill allocates it. pre: *purgeable is all zero, or was ended. It must not
 * move until it is ended. Returns 0; or -1 with EINVAL for 0 bytes, and with EBUSY for one that is
 * registered already. Constant time. Nothing is allocated. */
TARN_API int tarn_purgeable_begin(tarn_purgeable* purgeable, tarn_heap heap, size_t bytes);

/* Registers a purgeable with an existing block, of any heap. From then on the block may vanish, and
 * the program no longer frees it. Returns 0; or -1 with EINVAL for what is no block of tarn's, and
 * with EBUSY as above. Constant time. */
TARN_API int tarn_purgeable_adopt(tarn_purgeable* purgeable, void* block);

/* Locks a purgeable. Returns the block, which stays where it is until it has been unlocked as often
 * as it was locked. Null, with errno as it was, when the block has vanished; null with EBUSY while
 * it is being filled, and with EINVAL for a purgeable that is not registered. Takes no lock and
 * makes no call: one atomic operation. */
TARN_API TARN_MUST_USE void* tarn_purgeable_lock(tarn_purgeable* purgeable);

/* Undoes a lock, or ends the filling. An unlock without either is reported ("tarn: unlock without
 * lock") and ends the process, as far as it can be told. One atomic operation; after filling, a
 * lock is taken. */
TARN_API void tarn_purgeable_unlock(tarn_purgeable* purgeable);

/* Allocates the block again, for the calling thread alone: until that thread unlocks it, others
 * find it being filled. The contents are undefined, and the block may lie elsewhere than before.
 * Null with EEXIST when the block has not vanished (lock it instead); with EBUSY while another
 * thread fills it, or has not yet unlocked a block that its heap took away; with ENOMEM; and with
 * EINVAL for a purgeable that is not registered. */
TARN_API TARN_MUST_USE void* tarn_purgeable_refill(tarn_purgeable* purgeable);

/* Makes the block vanish now. The thread that is filling it may call this instead of unlocking.
 * Returns 0, also when the block had vanished; or -1 with EBUSY while it is locked, while another
 * thread fills it or while its refill has not returned (in a reclaimer that the refill calls), and
 * with EINVAL for a purgeable that is not registered. */
TARN_API int tarn_purgeable_discard(tarn_purgeable* purgeable);

/* Ends a purgeable and frees its block. Returns 0; or -1 with EBUSY while it is locked or being
 * filled, and with EINVAL for one that is not registered. */
TARN_API int tarn_purgeable_end(tarn_purgeable* purgeable);

#ifdef __cplusplus
}
#endif

#endif
#endif
