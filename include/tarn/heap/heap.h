/* heap.h: heaps of your own, in C. (C++: tarn/heap/heap.hpp.) A heap serves blocks of any size,
 * from any thread unless it was made otherwise. It has a name, limits and exact accounts, and ends
 * at once with all its blocks.
 *
 * A `tarn_heap` is a value of two words. Using the handle of a destroyed heap is reported with the
 * heap's name ("tarn: use after destroy: ...") and ends the process. Freeing a block of a destroyed
 * heap is reported likewise, if the heap is one of the last 64 destroyed and its memory is still
 * free. A new heap always has a new id, so a stale handle never reaches it. The zero value is no
 * heap; functions answer it with EINVAL.
 *
 * Sizes are in bytes. Allocating and freeing take constant time, apart from calls to the operating
 * system. When there is no memory, at a ceiling, and for sizes or products above PTRDIFF_MAX, an
 * allocation returns a null pointer with errno ENOMEM and changes nothing.
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

/* The handle of a heap. The zero value is no heap. */
typedef struct tarn_heap {
  void* record;
  uint64_t id; /* Never given twice in a process. 0 means no heap. */
} tarn_heap;

#define TARN_HEAP_NAME_BYTES 32 /* Includes the final NUL. Longer names are cut. */

/* Which threads may use a heap, and how. */
enum tarn_heap_threads {
  TARN_HEAP_SHARED = 0,     /* Any thread allocates and frees. Scales with the processors. */
  TARN_HEAP_SERIALISED = 1, /* Any thread, under one lock. The smallest footprint. */
  TARN_HEAP_CONFINED = 2    /* Only the thread that made it; see the modes for who checks that. */
};

/* The program's function for making room in a heap. It is called at a ceiling, when a region is
 * full, or when a source has no more. It frees memory of the heap if it can, and returns how many
 * bytes that was, or 0 for none. The allocating thread calls it, with no lock held. During the call
 * malloc serves from its own heap, whatever the thread's default heap is. The function may use any
 * heap, this one included. It is not called recursively: an allocation inside it that finds no room
 * returns null. The request is tried again as long as the function returns more than 0. After that,
 * the owners registered with tarn/heap/recover.h are asked. A call that has begun goes on even when
 * another thread destroys the heap, so whatever `context` points to must outlive all allocations in
 * progress. */
typedef size_t (*tarn_heap_reclaim)(tarn_heap heap, size_t wanted_bytes, void* context);

/* Called under the same conditions when the committed bytes of the heap have risen past its soft
 * mark. If the callback itself makes the heap pass the mark again, the next allocation that needs
 * more than a free block calls it. */
typedef void (*tarn_heap_mark)(tarn_heap heap, size_t committed_bytes, void* context);

/* The smallest region. Not all of a region holds blocks. Up to 8 KiB go to its alignment, the heap
 * itself and the first descriptors; 2 KiB to each thread that allocates (once in a serialised
 * heap); half a KiB to every eight size classes; and 137 bytes to each page (pages have 4 to 256
 * KiB). */
#define TARN_HEAP_REGION_BYTES_MIN 32768

/* The modes of heaps (enum tarn_mode). In every mode but TARN_MODE_FAST a block has exactly the
 * bytes that were asked for, tarn_malloc_usable_size says so, and every operation takes the heap's
 * lock, whatever `threads` says. The thread of a confined heap is checked: an allocation, a free or
 * a resize by another one is reported as `wrong thread`. (In TARN_MODE_FAST debug builds check it.)
 * Misuse is reported with the heap's name and the return addresses of the calls that allocated and
 * freed the block, and ends the process by SIGABRT. These modes ignore a class table. They cannot
 * be combined with memory apart from other heaps' (region, source, flags: EINVAL), nor with
 * freezing (ENOTSUP).
 *
 * Checked: freeing or resizing what is no live block is found at once (`double free`, `invalid
 * free`), and so is tarn_free_sized or a sized delete with another size (`size mismatch`). Bytes
 * written behind a block (`overrun`) are found when it is freed or resized, and when the heap is
 * walked, cleared or destroyed. A freed block of up to 2 MiB stays in quarantine until 256 KiB of
 * younger ones are there, of which each counts for 128 KiB at most, or until a ceiling, a trim or
 * the end of the heap claims its memory; what was written to it meanwhile (`use after free`) is
 * found then. Blocks in quarantine count as committed, as do the 8 bytes or more behind each block.
 * The table of blocks, 32 bytes for each, does not.
 *
 * Guarded: each block has OS pages of its own. It ends, rounded up to 16 or to its alignment, at a
 * page that faults (SIGSEGV) and that counts as committed too; once freed, the whole block faults.
 * Up to 1,024 freed blocks and 16 MiB stay in quarantine this way. Where the kernel has no guard
 * markers (Linux has them since 6.13), each block takes two mappings, of which a process can have
 * 65,530: beyond 16,384 such blocks in all heaps, the heap's oldest quarantined ones are let go;
 * then, or when the system refuses a guard, blocks are treated as in a checked heap. All that a
 * checked heap finds is found here. A fault is reported (`overrun`, `use after free`) with the
 * instruction's address, and then it is the program's: its handler for SIGSEGV is called if it was
 * there before the first guarded heap, or the process ends. A handler that is set later is called
 * alone. On an alternate stack with less than 4 KiB left nothing is reported.
 *
 * Passthrough: blocks come from malloc as the program sees it, so that AddressSanitizer, Valgrind
 * or a heap profiler watches each of them. Where tarn is the process's malloc they come from libc's
 * own (glibc only; ENOTSUP otherwise). Only exact frees and sizes are checked. The committed bytes
 * are those that were asked for. */

/* Where the memory of a heap comes from, and how it is kept. */
enum tarn_heap_flag {
  /* The heap's memory lies apart from other heaps', in chunks of at least 1 MiB. /proc/PID/maps
   * shows it by the heap's name where the kernel can. It is frozen in few calls, and leaves no
   * holes among other heaps' memory. */
  TARN_HEAP_SEPARATE = 1,

  /* The heap's memory lies apart, is locked in memory and kept out of core dumps, and reads as zero
   * in the child of a fork. (Blocks may still be freed there; those that were free at the fork are
   * no longer known, and count as live.) Each block is wiped when it is freed, resized or cleared,
   * except for the link of a free block, a pointer at its start. The heap works under one lock,
   * whatever `threads` says. RLIMIT_MEMLOCK limits what may be locked: where nothing may, the heap
   * cannot be made (EPERM); where no more may, it is out of memory. */
  TARN_HEAP_SECRET = 2
};

/* How a heap is made. */
typedef struct tarn_heap_options {
  size_t bytes;              /* sizeof(tarn_heap_options); TARN_HEAP_OPTIONS(...) sets it. */
  const char* name;          /* Copied. Null: none. */
  int threads;               /* An enum tarn_heap_threads. */
  int mode;                  /* An enum tarn_mode; described above. */
  unsigned flags;            /* Of enum tarn_heap_flag. */
  tarn_heap parent;          /* Its ceiling covers this heap too. The zero value: no parent. */
  size_t ceiling_bytes;      /* The most that the heap may commit. 0: no ceiling. */
  size_t floor_bytes;        /* The committed bytes that stay the heap's even when it is empty. */
  size_t soft_mark_bytes;    /* Committed bytes above which `soft_mark` is called. 0: never. */
  tarn_heap_reclaim reclaim; /* Null: none. */
  tarn_heap_mark soft_mark;  /* Null: none. */
  void* context;             /* Handed to the callbacks; tarn_heap_context gives it, too. */
  const size_t* class_bytes; /* A class table of its own (below). Copied. Null: the common one. */
  size_t class_count;        /* The number of sizes in class_bytes. */
  void* region;        /* Memory of the caller's, which the heap stays in (below). Null: none. */
  size_t region_bytes; /* At least TARN_HEAP_REGION_BYTES_MIN. */
  const tarn_source* source; /* Where chunks come from (below). Copied. Null: the OS. */
} tarn_heap_options;

#define TARN_HEAP_OPTIONS(...) TARN_SIZED(tarn_heap_options, __VA_ARGS__)

/* Makes a heap. `options` may be null, for the defaults. The zero value comes with EINVAL for
 * options that make no sense, with ENOTSUP for a passthrough heap where there is no system's
 * malloc, and with ENOMEM when there is no memory for it. Takes constant time, or time linear in
 * the class table if there is one. Memory is taken with the first block; only heaps that are
 * separate or have a source take a chunk at once.
 *
 * A heap in a region keeps everything there but the 0.5 KiB by which stale handles are recognised.
 * Working in it makes no call of the operating system, with three exceptions: a thread that is new
 * to the library asks once for its number and its record; a held lock is waited for; and in a heap
 * that several threads share, locking, walking, clearing, trimming and ending it ask for a barrier.
 * The 65th region at a time may ask for memory for its record. The region may be part of a live
 * block of tarn's, which must then outlive the heap. Regions must not overlap (EINVAL). A region
 * may begin at any address, but only whole 4 KiB pages of it are used.
 *
 * A heap with a source asks it for multiples of 4096 bytes aligned to 4096. (A source that aligns
 * otherwise loses up to 4095 bytes of each chunk.) Once the heap has grown, it asks for a quarter
 * of what it has. The child of a fork must inherit the chunks. The source is called by threads that
 * make the heap, allocate or free in it, trim it or end it. Empty chunks go back, the last ones
 * when the heap ends. */
TARN_API tarn_heap tarn_heap_create(const tarn_heap_options* options);

/* Class tables. A heap with a table serves each request from the smallest of the table's sizes that
 * holds it; for an alignment above 16, from the smallest that is also a multiple of the alignment.
 * Requests above the largest size are large blocks, in whole pages of 4 KiB. The usable size of a
 * block is that of its class, from the first block on. A block that is resized stays where it is at
 * least as long as its class is the one for its new size. tarn_heap_fixed gives the table's class
 * where that has the size, and otherwise adds one. Each thread has a page for each class that it
 * uses: ten small blocks of ten classes cost ten pages of 4 KiB, where other heaps need one.
 *
 * The sizes must ascend strictly. Each must be a multiple of 16, as all blocks are aligned so, and
 * at most 128 KiB. Any other table makes tarn_heap_create fail with EINVAL, and more than 128 sizes
 * with ENOSPC. */
enum {
  TARN_HEAP_CLASSES_MAX = 128,
  TARN_HEAP_CLASS_BYTES_MAX = 128 * 1024,
  TARN_HEAP_CLASS_GRAIN = 16
};

/* Writes a ready-made table: the doublings of `least`, each divided into `steps_per_doubling` equal
 * steps (1 to 64; 1 gives powers of two if `least` is one), up to `most`, which is the last size.
 * All sizes are rounded up to multiples of `grain`, a power of two of at most 4096: 16 for a heap,
 * 1 for the exact sizes. Only the first `room` sizes are written. Returns how many there are, or 0
 * with EINVAL for other numbers. Any thread. Time linear in the table. */
TARN_API size_t tarn_class_table(unsigned steps_per_doubling, size_t least, size_t most,
                                 size_t grain, size_t* class_bytes, size_t room);

/* Puts a size, rounded up to a multiple of 16, in its place in a table of `count` sizes with room
 * for `room`. Returns the new count, which is the old one when the size was there already. Returns
 * 0 with EINVAL for a size of 0 or above 128 KiB or a table that does not ascend, and with ENOSPC
 * when there is no room; nothing has changed then. Any thread. Time linear in the table. */
TARN_API size_t tarn_class_table_add(size_t* class_bytes, size_t count, size_t room, size_t bytes);

/* How well a table fits sizes that are uniformly distributed from `least` to `most`: of all bytes
 * reserved, the part that was asked for, above 0 and at most 1. The rest is slack. Returns 0 with
 * EINVAL for a table that does not ascend, for a least size of 0 or above the most, or for a most
 * above the last class. Any thread. Time linear in the table. */
TARN_API double tarn_class_fill(const size_t* class_bytes, size_t count, size_t least, size_t most);

/* Changes a limit that the heap was made with; 0 removes it. A ceiling or a soft mark may be below
 * what is committed: until that has fallen below it, nothing more is committed and the mark's
 * callback is not called. A lower floor gives nothing back by itself; tarn_heap_trim does. Returns
 * 0; or -1 with EINVAL as tarn_heap_lock. Constant time. Other threads that need memory of the heap
 * wait meanwhile. */
TARN_API int tarn_heap_set_ceiling(tarn_heap heap, size_t bytes);
TARN_API int tarn_heap_set_floor(tarn_heap heap, size_t bytes);
TARN_API int tarn_heap_set_soft_mark(tarn_heap heap, size_t bytes);

/* Ends a heap and all its blocks. In a fast heap no block is touched.
 *
 * Calls of other threads that have returned before are safe, and so are calls that are inside the
 * heap and allocate. Calls that come later, or that wait because the heap is locked, are misuse. A
 * free or a resize of one of its blocks must have returned before, just as it must have before
 * another free of the same block. Children stay, under the ceilings of their parents. A heap that
 * the thread has locked needs no unlocking afterwards.
 *
 * Returns 0; or -1 with EINVAL for malloc's heap, with EBUSY inside a visitor of a walk, or with
 * ENOMEM for a frozen heap that the operating system does not make writable again. The zero value
 * is ignored. */
TARN_API int tarn_heap_destroy(tarn_heap heap);

/* Ends a heap and keeps its blocks. The blocks are malloc's from then on, and any thread may free
 * or resize them at any time. The free memory between them is used again once the page around it is
 * empty. Blocks of checked, guarded and passthrough heaps stay as they are, and are in no heap's
 * statistics.
 *
 * Returns 0; or -1 with EINVAL for malloc's heap and for the zero value, with EBUSY inside a
 * visitor of a walk, with EPERM for a frozen heap, or with ENOTSUP for a heap whose memory lies
 * apart (a region, a source, separate, secret), since its blocks cannot outlive it. */
TARN_API int tarn_heap_delete(tarn_heap heap);

/* Ends all blocks; the heap stays. Otherwise as tarn_heap_destroy, but with EINVAL for the zero
 * value and EPERM for a frozen heap. */
TARN_API int tarn_heap_clear(tarn_heap heap);

/* A block of at least `size` bytes, aligned to 16. Size 0 gives a block that may only be freed.
 * Null with ENOMEM when there is no memory, EPERM in a frozen heap. */
TARN_API TARN_ALLOCATES_IN_HEAP(2) void* tarn_heap_allocate(tarn_heap heap, size_t size);

/* A block of count * size bytes. Its whole usable size is zero. An overflowing product gives null
 * and ENOMEM. Time linear in the bytes that are not known to be zero. */
TARN_API TARN_ALLOCATES_IN_HEAP(2, 3) void* tarn_heap_allocate_zeroed(tarn_heap heap, size_t count,
                                                                      size_t size);

/* A block of at least `size` bytes, aligned to `alignment`. An alignment that is no power of two
 * gives null and EINVAL. */
TARN_API TARN_ALLOCATES_IN_HEAP(3) void* tarn_heap_allocate_aligned(tarn_heap heap,
                                                                    size_t alignment, size_t size);

/* Blocks of one exact size in a heap. They have no header and are rounded up only to their
 * alignment (and to 8 bytes at least). They have pages of their own once the heap is in some use.
 * They are freed like all others, and die with the heap. The handle is two words and valid as long
 * as the heap. (Handles into a heap in a region point into the region: once that memory is gone,
 * their use is not reported.) */
typedef struct tarn_fixed {
  void* record;
  uint64_t id;
} tarn_fixed;

/* The handle for the heap's blocks of `size` bytes aligned to `alignment`. The alignment is a power
 * of two of at most 4096, and the size at most 128 KiB. Asking for the same numbers again gives the
 * same handle. The zero value comes with EINVAL for other numbers, with ENOSPC for the 129th size
 * of a heap, and with ENOMEM. */
TARN_API tarn_fixed tarn_heap_fixed(tarn_heap heap, size_t size, size_t alignment);

/* Allocates one block of the fixed size. Null with ENOMEM as for tarn_heap_allocate. */
TARN_API TARN_ALLOCATES_ONE void* tarn_fixed_allocate(tarn_fixed fixed);

/* Resizes a block. The block at its new size is in this heap; it is moved if need be, also from
 * another heap, and keeps its contents up to the smaller size. A null p allocates. Size 0 frees p
 * and gives null. On failure the result is null and p is as it was. Time linear in the contents
 * where they are copied. */
TARN_API void* tarn_heap_reallocate(tarn_heap heap, void* p, size_t size);

/* Makes the block at p at least `size` bytes large without moving it. Returns 1, or 0 when that
 * cannot be. In passthrough heaps a block never grows this way. */
TARN_API int tarn_heap_try_expand(void* p, size_t size);

/* Frees a block of any heap, from any thread, as tarn_free (and free, where tarn is malloc) does.
 * Null is ignored; errno is kept. */
TARN_API void tarn_heap_deallocate(void* p);

/* Frees a block, given the size that was asked for. Checked, guarded and passthrough heaps report
 * another size ("tarn: size mismatch: ..."). */
TARN_API void tarn_heap_deallocate_sized(void* p, size_t size);

/* How many bytes may be used at p: at least what was asked for; 0 for null. In heaps whose mode is
 * not fast, exactly what was asked for. (As with malloc's: gcc with _FORTIFY_SOURCE knows only what
 * was asked for, and stops a program that uses more.) */
TARN_API size_t tarn_heap_usable_bytes(const void* p);

/* The heap of a block, which may be malloc's own. The zero value when p is no block of tarn's. */
TARN_API tarn_heap tarn_heap_of(const void* p);

/* 1 when p is where a block of the heap begins or could begin: the start of a place in one of its
 * pages, or of a large block. In heaps whose mode is not fast, 1 only for the start of a live
 * block. 0 otherwise. */
TARN_API int tarn_heap_owns(tarn_heap heap, const void* p);

/* What an address is to a heap. */
enum tarn_heap_state {
  TARN_HEAP_NOTHING = 0, /* Not the heap's, or inside a block. */
  TARN_HEAP_LIVE = 1,    /* The start of a live block. */
  TARN_HEAP_FREE = 2     /* A place for a block that is freed, or not handed out yet. */
};

/* What any pointer is to the heap, as an enum tarn_heap_state; -1 with EINVAL as tarn_heap_lock.
 * Locks the heap. Time linear in the free blocks of a page of at most 256 KiB. A block that another
 * thread is freeing at this moment may count as live or as free. */
TARN_API int tarn_heap_look(tarn_heap heap, const void* p);

/* 1 when every invariant of the heap holds, 0 when one does not; -1 with EINVAL as tarn_heap_lock.
 * Lists of free blocks are followed, so that writes to freed blocks may show. Heaps that check
 * their blocks look at all of them, and report. Time linear in pages and free blocks. The heap is
 * locked meanwhile, and no other thread may free blocks of it. */
TARN_API int tarn_heap_check(tarn_heap heap);

/* malloc's own heap; in a process whose malloc has a mode (TARN_OPTIONS=mode=...), the heap of that
 * mode. It is never destroyed; destroying or clearing it fails with EINVAL. */
TARN_API tarn_heap tarn_heap_main(void);

/* What a heap has, in bytes and numbers. The numbers are exact when no other thread is inside the
 * heap; otherwise they are off by what those threads are doing. Three of the fields are less than
 * exact:
 *
 * live_bytes_peak is the largest value of live_bytes that was seen. It is looked at exactly
 * whenever the statistics are asked for, and roughly, from what the threads have told, now and then
 * when the heap needs memory. A thread tells when its part has changed by an eighth of the whole
 * (from 4 KiB on, and at 32 KiB at the latest), so a peak between two looks may be missed by so
 * much; where blocks of many pages come and go before, by a third. Blocks that other threads have
 * freed may still be counted while their owner has not used the heap since. Clearing does not reset
 * it.
 *
 * requested_bytes is what was asked for when the live blocks were handed out or moved; for blocks
 * of a fixed size, that size. It is exact for these and for large blocks. Of the others a few are
 * sampled, and stand for all of their size. requested_is_exact is 1 when no such estimate is part
 * of it.
 *
 * free_blocks are blocks that have been made and are not live: most of them were freed and wait to
 * be used again, and of each class in use some (16 KiB of them at most) were never handed out. Room
 * that no block was made of yet is not counted. D. E. Knuth's rule (The Art of Computer
 * Programming, volume 1, 2.5) is that with a general heap of his time half as many blocks are free
 * as are live when as many come as go: free_per_live is 0.5. docs/heaps.md has what tarn's heaps
 * have.
 *
 * resident_bytes is counted in whole pages of the operating system. It is 0 where the system does
 * not say, and for a heap in a region, which asks nothing. */
typedef struct tarn_heap_stats {
  size_t bytes;                  /* sizeof(tarn_heap_stats); TARN_HEAP_STATS(...) sets it. */
  uint64_t live_blocks;          /* Blocks that are handed out and not freed. */
  uint64_t live_bytes;           /* Usable bytes of live blocks. */
  uint64_t live_bytes_peak;      /* The largest live_bytes seen; see above. */
  uint64_t requested_bytes;      /* The part of live_bytes that was asked for. */
  int requested_is_exact;        /* 0: requested_bytes is an estimate. */
  uint64_t resident_bytes;       /* The part of committed_bytes that is in memory. */
  uint64_t committed_bytes;      /* Pages and large blocks, whole. */
  uint64_t committed_bytes_peak; /* The largest committed_bytes so far. */
  uint64_t pages;                /* Pages that hold blocks. */
  uint64_t large_blocks;         /* Live blocks with a span of their own. */
  uint64_t free_blocks;          /* Free places in the pages; see above. */
  double free_per_live;          /* free_blocks / live_blocks; 0 without live blocks. */
} tarn_heap_stats;

#define TARN_HEAP_STATS(...) TARN_SIZED(tarn_heap_stats, __VA_ARGS__)

/* Fills in *stats. Returns 0, or -1 with EINVAL. Time linear in the pages of the heap, with a call
 * to the operating system for each run of neighbouring ones. Other threads that need memory of the
 * heap wait meanwhile. */
TARN_API int tarn_heap_get_stats(tarn_heap heap, tarn_heap_stats* stats);

/* Gives the empty pages of all threads and the blocks in quarantine back, to the operating system
 * too, as long as more than `keep_bytes` and the floor stay committed. Returns the bytes that the
 * heap has given. Other threads that allocate in the heap wait meanwhile. For malloc's heap it does
 * what tarn_malloc_trim does. */
TARN_API size_t tarn_heap_trim(tarn_heap heap, size_t keep_bytes);

/* Enters an exclusive section: until tarn_heap_unlock the heap is the calling thread's alone. Other
 * threads wait when they allocate in it, resize its blocks or ask about it, and in some of their
 * frees. The calling thread may go on using the heap. Locks nest; each needs its unlock. Returns 0;
 * or -1 with EINVAL for the zero value and for malloc's heap, which cannot be locked. */
TARN_API int tarn_heap_lock(tarn_heap heap);
TARN_API int tarn_heap_unlock(tarn_heap heap);

/* Makes the heap's memory read-only, for data that is built once and then read by any thread. Until
 * it is thawed, a write to a block faults (SIGSEGV) and freeing one is reported. Allocations fail
 * with EPERM, and so do clearing and deleting. A resize succeeds if it needs neither another place
 * nor another size class. Destroying the heap is allowed. Threads that free blocks of it must have
 * done so before.
 *
 * Returns 0, also when it is frozen already; or -1 with EINVAL as tarn_heap_lock, with EBUSY inside
 * a visitor of a walk, with ENOTSUP for a heap whose `mode` is not fast, and with ENOMEM when the
 * operating system refuses, or beyond 16,384 pieces of frozen heaps that do not lie apart (a piece
 * is a page of the heap or a large block). Makes one call of the operating system for each
 * piece. */
TARN_API int tarn_heap_freeze(tarn_heap heap);
TARN_API int tarn_heap_thaw(tarn_heap heap);

/* What an item of a walk is. */
enum tarn_heap_item_kind {
  TARN_HEAP_PAGE = 0,  /* Memory for blocks. The items up to the next page lie in it. */
  TARN_HEAP_BLOCK = 1, /* A live block in a page. */
  /* A block that was handed out and has been freed. It may be in quarantine. */
  TARN_HEAP_FREE_BLOCK = 2,
  TARN_HEAP_LARGE_BLOCK = 3 /* A block that has a span to itself. */
};

/* An item of a walk. */
typedef struct tarn_heap_item {
  int kind;     /* An enum tarn_heap_item_kind. */
  void* start;  /* The address of the page or block. */
  size_t bytes; /* The bytes of the page, or the usable bytes of the block. */
  /* For a page: the bytes of each of its blocks, or 0 where they differ (in young heaps). */
  size_t block_bytes;
  uint64_t live_blocks; /* For a page: how many of its blocks are live. */
} tarn_heap_item;

/* Called for each item of a walk. A result other than 0 ends the walk. It may allocate, and may
 * free the block that it is shown. */
typedef int (*tarn_heap_visit)(const tarn_heap_item* item, void* context);

enum { TARN_HEAP_WALK_FREE = 1 /* Visit free blocks too. */ };

/* Visits the pages, blocks and large blocks of a heap, which is locked meanwhile. Returns what
 * visit returned if that is not 0; 0 at the end; -1 with EINVAL as tarn_heap_lock. A block that
 * another thread is freeing at this moment may be shown as live or as free. Time linear in the
 * heap's pages and blocks. */
TARN_API int tarn_heap_walk(tarn_heap heap, unsigned flags, tarn_heap_visit visit, void* context);

/* The heap after this one; malloc's for the zero value. The zero value comes at the end, and for a
 * heap that has ended. Heaps that are made meanwhile come last. */
TARN_API tarn_heap tarn_heap_next(tarn_heap heap);

/* Makes the heap the calling thread's default: malloc and its family serve this thread from it
 * where tarn is the process's malloc, tarn_malloc and its family always. It stays so until this is
 * called again, usually with what it returned: the default before. The zero value stands for
 * malloc's own heap. If the heap is destroyed meanwhile, the next malloc is misuse. Functions that
 * a heap calls (reclaim, soft mark, its source) are served from malloc's own heap. */
TARN_API tarn_heap tarn_heap_set_default(tarn_heap heap);

/* The name, cut to TARN_HEAP_NAME_BYTES; "" when there is none. The string is valid until the heap
 * is destroyed. */
TARN_API const char* tarn_heap_name(tarn_heap heap);

/* The context that the heap was made with, so that a block leads to what its heap is for:
 * tarn_heap_context(tarn_heap_of(p)). Null for malloc's heap, and with EINVAL for the zero value.
 * Constant time; any thread, while the heap lives. */
TARN_API void* tarn_heap_context(tarn_heap heap);

#ifdef __cplusplus
}
#endif

#endif
#endif
