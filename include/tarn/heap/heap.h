/* heap.h: heaps of one's own, in C. (C++: tarn/heap/heap.hpp.) A heap serves blocks of any size,
 * from any thread unless it was made otherwise; it has a name, limits and exact accounts, and dies
 * at once with all its blocks, none of which is looked at.
 *
 * A `tarn_heap` is a value of two words. Using one whose heap was destroyed is reported by the
 * heap's name ("tarn: use after destroy: ...") and ends the process. So is freeing a block after
 * its heap, if that is one of the last 64 destroyed and its memory is free. Another heap in its
 * place has a new id: an old value never reaches it. The zero value is no heap: EINVAL.
 *
 * Sizes are bytes. Allocation and freeing take constant time, apart from calls to the operating
 * system. Out of memory, at a ceiling, for a size above PTRDIFF_MAX or an overflowing product: a
 * null pointer and errno ENOMEM; nothing has changed then.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_HEAP_H
#define TARN_HEAP_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>

#include "../detail/api.h"
#include "../detail/sized.h"
#include "../source/mode.h"
#include "../source/source.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tarn_heap {
  void* record;
  uint64_t id; /* Never given twice in a process; 0: no heap. */
} tarn_heap;

#define TARN_HEAP_NAME_BYTES 32 /* With the final NUL; longer names are cut. */

enum tarn_heap_threads {
  TARN_HEAP_SHARED = 0,     /* Any thread allocates and frees; scales with the processors. */
  TARN_HEAP_SERIALISED = 1, /* Any thread, under one lock. The smallest footprint. */
  TARN_HEAP_CONFINED = 2    /* Only the thread that makes it. Debug builds of tarn check that. */
};

/* The program's function for making room. It is called at a ceiling, when a region is full, or when
 * a source has no more. It gives memory of the heap back if it can, and returns how many bytes (0:
 * none). The thread that allocates calls it, with no lock held; malloc serves from its own heap
 * meanwhile, whatever the thread's default. The function may use any heap. It may use this heap,
 * too, but is not called again within itself: an allocation that finds no room then returns null.
 * The request is tried again as long as the function returns more than 0. After that, the owners
 * registered with tarn/heap/recover.h are asked. A call goes on when another thread destroys the
 * heap, so what `context` leads to must outlive all allocations in progress. */
typedef size_t (*tarn_heap_reclaim)(tarn_heap heap, size_t wanted_bytes, void* context);

/* Called likewise when the heap has passed its soft mark upwards. If the callback itself makes the
 * heap pass it again, the next allocation that takes more than a free block calls it. */
typedef void (*tarn_heap_mark)(tarn_heap heap, size_t committed_bytes, void* context);

/* The smallest region. Not all of a region is for blocks: up to 8 KiB go to its alignment, the heap
 * itself and the first descriptors; 2 KiB to each thread that allocates (once for a serialised
 * heap); half a KiB to each eight size classes; and 137 bytes to each page (of 4 to 256 KiB). */
#define TARN_HEAP_REGION_BYTES_MIN 32768

/* The modes of heaps (enum tarn_mode). In all but TARN_MODE_FAST a block has exactly the bytes that
 * were asked for, tarn_malloc_usable_size says so, and every operation takes the heap's lock,
 * whatever `threads` says; in debug builds a confined heap is checked all the same. Misuse is
 * reported and ends the process by SIGABRT, with the heap's name and the return addresses of the
 * functions that allocated and freed the block. A class table is of no use to these modes; they do
 * not go with memory apart from other heaps' (region, source, flags: EINVAL), nor with freezing
 * (ENOTSUP).
 *
 * Checked: found at once is a free or a resize of what is no live block (`double free`, `invalid
 * free`), and tarn_free_sized or a sized delete with another size (`size mismatch`). Bytes written
 * behind a block (`overrun`) are found when it is freed or resized, and when the heap is walked,
 * cleared or destroyed. A freed block is kept back until 256 KiB of younger ones are, or until a
 * ceiling, a trim or the end of the heap wants its memory; what was written to it meanwhile (`use
 * after free`) is found then. What is kept back counts as committed, as do the 8 bytes or more
 * behind each block; the table of blocks, 32 bytes for each, does not.
 *
 * Guarded: each block has OS pages of its own, and ends, rounded up to 16 or to its alignment, at
 * one that faults (SIGSEGV), which counts as committed, too; a freed block faults as a whole. Up to
 * 1,024 of them and 16 MiB are kept back so. The process has 65,530 mappings, and each block takes
 * two: beyond 16,384 such blocks of all heaps the oldest of the heap that are kept back go, and
 * then, or when the system refuses one, blocks are as in a checked heap. All that is found there
 * is found here.
 *
 * Passthrough: blocks come from malloc as the program sees it, so that AddressSanitizer, Valgrind
 * or a heap profiler watches each of them; where tarn is the process's malloc, from libc's own
 * (glibc only; ENOTSUP otherwise). Exact frees and sizes are checked, nothing else. Committed is
 * what was asked for. */

enum tarn_heap_flag {
  /* Its memory lies apart from other heaps', a mebibyte at least: it is shown by the heap's name in
   * /proc/PID/maps where the kernel can, frozen in few calls, and leaves no holes among others'. */
  TARN_HEAP_SEPARATE = 1,

  /* Apart, locked in memory, kept out of core dumps, zero in the child of a fork (where blocks may
   * still be freed; those that were free are not known there any more, and count as live), and
   * each block wiped when it is freed, resized or cleared; the links of free blocks, a pointer at
   * the start of each, are not wiped. Served under one lock, whatever `threads` says. What may be
   * locked is limited (RLIMIT_MEMLOCK): where nothing may, the heap cannot be made (EPERM), and
   * where no more may, it is out of memory. */
  TARN_HEAP_SECRET = 2
};

typedef struct tarn_heap_options {
  size_t bytes;         /* sizeof(tarn_heap_options); TARN_HEAP_OPTIONS(...) sets it. */
  const char* name;     /* Copied; null: none. */
  int threads;          /* An enum tarn_heap_threads. */
  int mode;             /* An enum tarn_mode: see above. */
  unsigned flags;       /* Of enum tarn_heap_flag. */
  tarn_heap parent;     /* Its ceiling covers this heap, too. The zero value: no parent. */
  size_t ceiling_bytes; /* The most that the heap may commit. 0: no ceiling. */
  size_t floor_bytes;   /* So much committed memory stays the heap's even when it is empty. */
  size_t soft_mark_bytes;
  tarn_heap_reclaim reclaim;
  tarn_heap_mark soft_mark;
  void* context;             /* Handed to the callbacks. */
  const size_t* class_bytes; /* A class table of its own (below); copied. Null and 0: none. */
  size_t class_count;
  void* region;        /* Memory of the caller's, all that the heap ever uses (below); null. */
  size_t region_bytes; /* At least TARN_HEAP_REGION_BYTES_MIN. */
  const tarn_source* source; /* Copied; null: the operating system (below). */
} tarn_heap_options;

#define TARN_HEAP_OPTIONS(...) TARN_SIZED(tarn_heap_options, __VA_ARGS__)

/* Makes a heap; options may be null. The zero value with EINVAL for options that make no sense,
 * with ENOTSUP for a passthrough heap where there is no system's malloc, with ENOMEM when there is
 * no memory for it. Takes constant time, with a class table time linear in that; memory comes with
 * the first block, but for heaps that are separate or have a source, which take a chunk at once.
 *
 * A heap in a region keeps everything in there but the 0.5 KiB by which stale handles are known.
 * Working in it makes no call of the operating system, with three exceptions: a thread that is new
 * to the library asks for its own number and record once, a lock that is held is waited for, and
 * in a heap that several threads share, locking, walking, clearing, trimming and ending it ask for
 * a barrier. The 65th region at a time may ask for memory for its record. The region may be part
 * of a block of tarn's (which must outlive the heap), not of a freed one; regions must not overlap
 * (EINVAL). At any address, but only whole 4 KiB of it are used.
 *
 * A heap with a source asks it for multiples of 4096 bytes aligned to 4096 (up to 4095 bytes of one
 * that lies elsewhere are lost), which the child of a fork must inherit: for a quarter of what it
 * has, once it has grown. The source is called by threads that make the heap, allocate or free
 * there, trim or end it; empty chunks go back, the last ones when the heap ends. */
TARN_API tarn_heap tarn_heap_create(const tarn_heap_options* options);

/* Class tables. A heap with a table serves each request from the smallest of the table's sizes
 * that holds it; where it is to be aligned to more than 16, from the smallest that is a multiple of
 * the alignment, too. Requests above the largest are large blocks, in whole pages of 4 KiB. The
 * usable size of a block is that of its class, from the first block on, and a block that is resized
 * stays where it is at least as long as its class is the one for its new size. tarn_heap_fixed
 * gives the table's class where that has the size, else one more. Each thread that uses the heap
 * has a page for each class that it uses: ten small blocks of ten classes cost ten pages of 4 KiB,
 * and not one as in other heaps.
 *
 * A heap takes sizes that ascend, none twice, each a multiple of 16 (as all blocks are aligned so)
 * and at most 128 KiB; else making it fails with EINVAL. More than 128: ENOSPC. */
enum {
  TARN_HEAP_CLASSES_MAX = 128,
  TARN_HEAP_CLASS_BYTES_MAX = 128 * 1024,
  TARN_HEAP_CLASS_GRAIN = 16
};

/* A ready-made table: the doublings of `least`, each divided into `steps_per_doubling` equal steps
 * (1: powers of two, if least is one; at most 64), up to `most`, which is the last size. All are
 * rounded up to multiples of `grain`, a power of two of at most 4096: 16 for a heap, 1 for the
 * table as such. Writes the first `room` sizes, and returns how many there are; 0 with EINVAL for
 * other numbers. Any thread; time linear in the table. */
TARN_API size_t tarn_class_table(unsigned steps_per_doubling, size_t least, size_t most,
                                 size_t grain, size_t* class_bytes, size_t room);

/* Puts a size, rounded up to a multiple of 16, in its place in a table of `count` sizes that has
 * room for `room`. Returns the new count, which is the old one when the size was there; 0 with
 * EINVAL for a size of 0 or above 128 KiB or a table that does not ascend, with ENOSPC when there
 * is no room; nothing has changed then. */
TARN_API size_t tarn_class_table_add(size_t* class_bytes, size_t count, size_t room, size_t bytes);

/* What a table wastes, for sizes uniformly distributed from `least` to `most`: of all bytes
 * reserved, the part that is asked for, above 0 and at most 1 (the slack is the rest). 0 with
 * EINVAL for a table that does not ascend, a least size of 0 or above the most, or a most above the
 * last class. Time linear in the table. */
TARN_API double tarn_class_fill(const size_t* class_bytes, size_t count, size_t least, size_t most);

/* Change what the heap was made with; 0: none. A ceiling or a soft mark may be below what is
 * committed: nothing more is committed then, and no mark is called, until that has fallen below it.
 * A lower floor gives nothing back by itself: tarn_heap_trim does. 0, or -1 with EINVAL as
 * tarn_heap_lock. Constant time; other threads that need memory of the heap wait meanwhile. */
TARN_API int tarn_heap_set_ceiling(tarn_heap heap, size_t bytes);
TARN_API int tarn_heap_set_floor(tarn_heap heap, size_t bytes);
TARN_API int tarn_heap_set_soft_mark(tarn_heap heap, size_t bytes);

/* Ends a heap and all its blocks. In a fast heap no block is touched.
 *
 * Calls of other threads that have returned before are safe, and so are calls that are inside and
 * allocate. Calls that come later, or wait because the heap is locked, are misuse. A free or a
 * resize of one of its blocks must come before, as it must before another free of that block.
 * Children stay, under the ceilings of their parents. A heap that the thread has locked needs no
 * unlocking afterwards.
 *
 * Returns 0; or -1 with EINVAL for malloc's heap, with EBUSY for a visitor of a walk, or with
 * ENOMEM for a frozen heap that the operating system does not make writable again. The zero value
 * is ignored. */
TARN_API int tarn_heap_destroy(tarn_heap heap);

/* Ends a heap and keeps its blocks. They are malloc's from here on, and any thread may free or
 * resize them at any time. Free memory between them is used again when the page around it is empty.
 * Blocks of checked, guarded and passthrough heaps stay as they are, and are in no heap's
 * statistics.
 *
 * Returns 0; or -1 with EINVAL for malloc's heap and for the zero value, with EBUSY for a visitor
 * of a walk, with EPERM for a frozen heap, or with ENOTSUP for a heap whose memory lies apart (a
 * region, a source, separate, secret), since its blocks cannot outlive it. */
TARN_API int tarn_heap_delete(tarn_heap heap);

/* Ends all blocks; the heap stays. Otherwise as tarn_heap_destroy; EINVAL for the zero value, EPERM
 * for a frozen heap. */
TARN_API int tarn_heap_clear(tarn_heap heap);

/* At least `size` bytes aligned to 16; for size 0 a block that may only be freed. */
TARN_API TARN_ALLOCATES_IN_HEAP(2) void* tarn_heap_allocate(tarn_heap heap, size_t size);

/* As above for count * size bytes; they and all that tarn_heap_usable_bytes says are zero. The
 * product is checked. */
TARN_API TARN_ALLOCATES_IN_HEAP(2, 3) void* tarn_heap_allocate_zeroed(tarn_heap heap, size_t count,
                                                                      size_t size);

/* Aligned to `alignment`, a power of two; else null and EINVAL. */
TARN_API TARN_ALLOCATES_IN_HEAP(3) void* tarn_heap_allocate_aligned(tarn_heap heap,
                                                                    size_t alignment, size_t size);

/* Blocks of one exact size in a heap: no header, no rounding up but to the alignment (and to 8
 * bytes at least), pages of their own once the heap has some use. They are freed like all others,
 * and die with the heap. Valid as long as the heap; two words. (Those of a heap in a region lie in
 * the region: when that is gone, their use is not reported.) */
typedef struct tarn_fixed {
  void* record;
  uint64_t id;
} tarn_fixed;

/* The heap's blocks of `size` bytes aligned to `alignment`, a power of two of at most 4096; size
 * is at most 128 KiB. Asked for again it is the same. The zero value with EINVAL for other
 * numbers, with ENOSPC for the 129th size of a heap, with ENOMEM. */
TARN_API tarn_fixed tarn_heap_fixed(tarn_heap heap, size_t size, size_t alignment);

/* One of these blocks; null and ENOMEM as for tarn_heap_allocate. */
TARN_API TARN_ALLOCATES_ONE void* tarn_fixed_allocate(tarn_fixed fixed);

/* The block at its new size, in this heap, moved if need be (also from another heap), contents
 * kept up to the smaller size. A null p allocates; size 0 frees p and gives null. On failure p is
 * as it was. */
TARN_API void* tarn_heap_reallocate(tarn_heap heap, void* p, size_t size);

/* Makes the block at p at least `size` bytes without moving it: 1, or 0 when that cannot be. (In
 * passthrough heaps a block never grows so.) */
TARN_API int tarn_heap_try_expand(void* p, size_t size);

/* Gives a block of any heap back, as tarn_free (and free, where tarn is malloc) does. */
TARN_API void tarn_heap_deallocate(void* p);

/* As above, with the size that was asked for. Checked, guarded and passthrough heaps report another
 * size ("tarn: size mismatch: ..."). */
TARN_API void tarn_heap_deallocate_sized(void* p, size_t size);

/* Bytes that may be used at p, at least what was asked for; 0 for null. Exactly that in heaps whose
 * mode is not fast. (As with malloc's: gcc with _FORTIFY_SOURCE knows what was asked for only, and
 * stops a program that uses more.) */
TARN_API size_t tarn_heap_usable_bytes(const void* p);

/* The heap of a block; the zero value when p is no block of tarn's. malloc's is one. */
TARN_API tarn_heap tarn_heap_of(const void* p);

/* 1 when p is the start of a block-sized place in a page of the heap, or of a large block; in heaps
 * whose mode is not fast, of a live block. */
TARN_API int tarn_heap_owns(tarn_heap heap, const void* p);

/* What an address is to a heap. */
enum tarn_heap_state {
  TARN_HEAP_NOTHING = 0, /* Nothing of the heap's, or inside a block. */
  TARN_HEAP_LIVE = 1,    /* The start of a live block. */
  TARN_HEAP_FREE = 2     /* Where a block of the heap may begin, and none is live: freed, or not
                            handed out yet. */
};

/* An enum tarn_heap_state, for any pointer; -1 with EINVAL as tarn_heap_lock. Locks the heap; time
 * linear in the free blocks of a page of at most 256 KiB. A block that another thread is freeing in
 * this moment may be either. */
TARN_API int tarn_heap_look(tarn_heap heap, const void* p);

/* 1 when every invariant of the heap holds, 0 otherwise; -1 with EINVAL as tarn_heap_lock. Lists of
 * free blocks are followed, so that writes to freed blocks may show; heaps that check their blocks
 * look at all of them, and report. Linear in pages and free blocks; meanwhile the heap is locked,
 * and no other thread may free blocks of it. */
TARN_API int tarn_heap_check(tarn_heap heap);

/* malloc's own heap. It is never destroyed; destroying or clearing it fails with EINVAL. */
TARN_API tarn_heap tarn_heap_main(void);

/* What a heap has, in bytes and numbers. Exact when no other thread is inside the heap; else off by
 * what these are doing. Three of the fields are less than exact:
 *
 * live_bytes_peak is the most that was seen of live_bytes: whenever the statistics are asked for,
 * exactly, and now and then when the heap needs memory, from what its threads know. A thread tells
 * when its part has changed by an eighth of the whole (from 4 KiB on, and at 32 KiB at the latest),
 * so peaks between two looks may be missed by so much; where blocks of many pages come and go
 * before, by a third. Blocks that others have freed of a thread which has not used the heap since
 * may be counted. It survives clearing.
 *
 * requested_bytes is what was asked for when the blocks that are live were handed out or moved; for
 * blocks of one size, their size. Large blocks and these are known; of the others a few are, and
 * stand for all of their size. requested_is_exact is 1 when no such estimate is part of it.
 *
 * resident_bytes is counted in whole pages of the operating system. 0 where that does not say, and
 * for a heap in a region, which asks nothing. */
typedef struct tarn_heap_stats {
  size_t bytes; /* sizeof(tarn_heap_stats); TARN_HEAP_STATS(...) sets it. */
  uint64_t live_blocks;
  uint64_t live_bytes;      /* Usable bytes of live blocks. */
  uint64_t live_bytes_peak; /* The most of them; see above. */
  uint64_t requested_bytes; /* The part of live_bytes that was asked for. */
  int requested_is_exact;   /* 0: requested_bytes is an estimate. */
  uint64_t resident_bytes;  /* The part of committed_bytes that is in memory. */
  uint64_t committed_bytes; /* Pages and large blocks, whole. */
  uint64_t committed_bytes_peak;
  uint64_t pages;
  uint64_t large_blocks;
} tarn_heap_stats;

#define TARN_HEAP_STATS(...) TARN_SIZED(tarn_heap_stats, __VA_ARGS__)

/* Fills in *stats. 0, or -1 with EINVAL. Time linear in the pages of the heap, with a call to the
 * operating system for each run of neighbouring ones; other threads that need memory of the heap
 * wait meanwhile. */
TARN_API int tarn_heap_get_stats(tarn_heap heap, tarn_heap_stats* stats);

/* Gives empty pages of all threads back, and the blocks in quarantine, to the operating system too,
 * as long as more than `keep_bytes` and the floor stay committed. Returns the bytes that the heap
 * has given. Other threads that allocate in the heap wait meanwhile. malloc's heap: as
 * tarn_malloc_trim. */
TARN_API size_t tarn_heap_trim(tarn_heap heap, size_t keep_bytes);

/* Enters an exclusive section: until tarn_heap_unlock the heap is the calling thread's alone. Other
 * threads that allocate in it, resize or ask about it wait, and so do some of their frees. The
 * calling thread may go on using it. Locks nest. Returns 0; or -1 with EINVAL for the zero value
 * and for malloc's heap, which cannot be locked. */
TARN_API int tarn_heap_lock(tarn_heap heap);
TARN_API int tarn_heap_unlock(tarn_heap heap);

/* Makes the heap's memory read-only: for data that are built once and read from then on, by any
 * thread. Until it is thawed a write to a block is a fault (SIGSEGV) and a free of one is reported;
 * allocations fail with EPERM, and so do clearing and deleting; a resize that needs no other place
 * or size class succeeds, another one fails. Destroying it is allowed. Threads that free blocks of
 * it must have done so. 0, also when it is so already; -1 with EINVAL as tarn_heap_lock, with EBUSY
 * for a visitor of a walk, with ENOTSUP for a heap that is not fast (`mode`), with ENOMEM when the
 * operating system refuses, or at 16,384 pieces of frozen heaps that do not lie apart (a piece is a
 * page of the heap or a large block). Takes a call of the operating system for each piece. */
TARN_API int tarn_heap_freeze(tarn_heap heap);
TARN_API int tarn_heap_thaw(tarn_heap heap);

enum tarn_heap_item_kind {
  TARN_HEAP_PAGE = 0, /* Memory for blocks; what follows, up to the next page, lies in it. */
  TARN_HEAP_BLOCK = 1,
  /* A block that was handed out and has been freed. It may be in quarantine. */
  TARN_HEAP_FREE_BLOCK = 2,
  TARN_HEAP_LARGE_BLOCK = 3 /* A block that has a span to itself. */
};

typedef struct tarn_heap_item {
  int kind;
  void* start;
  size_t bytes; /* The bytes of the page, or the usable bytes of the block. */
  /* For a page: the bytes of each of its blocks; 0 where they differ (in young heaps). */
  size_t block_bytes;
  uint64_t live_blocks; /* Page. */
} tarn_heap_item;

/* Not 0 ends the walk. It may allocate, and free the block that it is shown. */
typedef int (*tarn_heap_visit)(const tarn_heap_item* item, void* context);

enum { TARN_HEAP_WALK_FREE = 1 /* Free blocks, too. */ };

/* Visits the pages, blocks and large blocks of a heap, which is locked meanwhile. What visit
 * returned if that is not 0; 0 at the end; -1 with EINVAL as tarn_heap_lock. A block that another
 * thread is freeing in this moment may be either. */
TARN_API int tarn_heap_walk(tarn_heap heap, unsigned flags, tarn_heap_visit visit, void* context);

/* The heap after this one, malloc's for the zero value; the zero value at the end, or when the
 * heap has ended. Heaps that are made meanwhile come last. */
TARN_API tarn_heap tarn_heap_next(tarn_heap heap);

/* Has malloc and its family serve the calling thread from the heap (where tarn is the process's
 * malloc, tarn_malloc and its family always), until it is set again: to what this returns,
 * usually. The zero value stands for malloc's own. If the heap is destroyed meanwhile, the next
 * malloc is misuse. Functions that a heap calls (reclaim, soft mark, its source) are served from
 * malloc's own. */
TARN_API tarn_heap tarn_heap_set_default(tarn_heap heap);

/* The name, as far as it was kept; "" when there is none. Valid until the heap is destroyed. */
TARN_API const char* tarn_heap_name(tarn_heap heap);

#ifdef __cplusplus
}
#endif

#endif
#endif
