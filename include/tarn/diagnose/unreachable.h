/* unreachable.h: which blocks no pointer reaches, in C. (C++: tarn/diagnose/unreachable.hpp.) A
 * block is reached when its address, or that of a byte in it, lies in a root or in a block that is
 * reached, as a word aligned to 8 bytes. What merely looks like an address counts, so a lost block
 * may be missed; none is listed that the program can find by plain pointers. Nodes of trees
 * (tarn/tree/tree.h) reach their neighbours. One past the end is in the next block. All other
 * threads stand still meanwhile, wherever they are; they run when results are shown. System calls
 * that a signal ends although they were to be restarted (poll, nanosleep, ...) end with EINTR then.
 *
 * Sizes are bytes. Linux on x86-64; elsewhere ENOTSUP. docs/unreachable.md is the guide.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_UNREACHABLE_H
#define TARN_UNREACHABLE_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>

#include "../detail/api.h"
#include "../detail/sized.h"
#include "../heap/heap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Roots are: the writable data of the program and of all loaded libraries; the stacks of all
 * threads from their stack pointers on, with what lies beside them (thread-local variables, keys);
 * their registers; memory that was registered by tarn_add_root; the contexts of heaps' callbacks
 * and sources; and all other writable memory that is not tarn's (of another malloc, of mmap).
 * Pages without contents are left alone. */
enum tarn_unreachable_flag {
  /* Without that other memory: more is found, and also what only another malloc's blocks, or memory
   * of mmap that was not registered, lead to. */
  TARN_UNREACHABLE_STRICT = 1,

  /* tarn_print_unreachable: JSON. */
  TARN_UNREACHABLE_JSON = 2
};

enum {
  /* The real-time signal that stops threads where the program chooses none. */
  TARN_UNREACHABLE_SIGNAL = 60,
  /* How long threads are waited for where the program does not choose. */
  TARN_UNREACHABLE_WAIT_MS = 2000
};

typedef struct tarn_unreachable_options {
  size_t bytes; /* TARN_UNREACHABLE_OPTIONS(...) sets it. */
  /* The heaps whose blocks are wanted. Blocks of other heaps only lead on. */
  const tarn_heap* heaps;
  /* The number of `heaps`; 0: the blocks of all heaps but passthrough ones are wanted. */
  size_t heap_count;
  unsigned flags; /* Of enum tarn_unreachable_flag. */
  /* The signal that stops threads, which the program has no other use for. 0:
   * TARN_UNREACHABLE_SIGNAL. */
  int signal;
  unsigned wait_ms; /* 0: TARN_UNREACHABLE_WAIT_MS. */
} tarn_unreachable_options;

#define TARN_UNREACHABLE_OPTIONS(...) TARN_SIZED(tarn_unreachable_options, __VA_ARGS__)

typedef struct tarn_unreachable_block {
  void* start;
  size_t bytes;     /* Usable ones. */
  tarn_heap heap;   /* That may have ended by now. */
  int is_direct;    /* No other unreachable block leads to it; of a ring, one block is direct. */
  const void* site; /* Where it was allocated: of checked and guarded heaps; else null. */
} tarn_unreachable_block;

/* Not 0 ends the visits. It may do what it likes, also free the block, or search. */
typedef int (*tarn_unreachable_visit)(const tarn_unreachable_block* block, void* context);

/* direct_blocks and direct_bytes are part of blocks and block_bytes. live_blocks and live_bytes are
 * those of all heaps, those too that were not asked for. Of threads that are missed whole stacks
 * are scanned, and no registers: what they do meanwhile may be listed. */
typedef struct tarn_unreachable_result {
  size_t bytes;    /* TARN_UNREACHABLE_RESULT(...) sets it. */
  uint64_t blocks; /* That no pointer reaches, of the heaps that were asked for. */
  uint64_t block_bytes;
  uint64_t direct_blocks;
  uint64_t direct_bytes;
  uint64_t live_blocks;
  uint64_t live_bytes;
  uint64_t root_bytes;    /* Scanned, blocks not counted. */
  uint64_t skipped_bytes; /* Mappings of 64 GiB and more, which are not looked at. */
  uint64_t threads_stopped;
  uint64_t threads_missed; /* Ran on: they block the signal, or did not come in time. */
  uint64_t pause_ns;       /* How long the others stood. */
} tarn_unreachable_result;

#define TARN_UNREACHABLE_RESULT(...) TARN_SIZED(tarn_unreachable_result, __VA_ARGS__)

/* Finds them, and shows them by address; options, visit and result may be null. What visit returned
 * if that is not 0; 0 at the end; -1 with errno
 *   EINVAL   for options that make no sense, the zero value as a heap, a wrong size in a struct;
 *   ENOTSUP  for a passthrough heap that is asked for, and where it is not built;
 *   EBUSY    in a handler of a signal that has interrupted the library in this thread;
 *   ENOMEM   or what the system said (no /proc, no descriptor left): nothing has changed then.
 * A heap that was destroyed is misuse. Any thread; a second search waits for the first. It may be
 * called from the callbacks and visitors of heaps. The calling thread takes no signals meanwhile.
 *
 * Time is linear in the roots and live bytes; memory, from the operating system, is 0.1 % of these
 * and up to 9 bytes for a block. */
TARN_API int tarn_find_unreachable(const tarn_unreachable_options* options,
                                   tarn_unreachable_visit visit, void* context,
                                   tarn_unreachable_result* result);

/* Writes what was found to a file descriptor, for people, or as JSON: blocks of one size, heap and
 * call site together, those that hold most bytes first. (What is no UTF-8 in names is U+FFFD there,
 * and \xff for people.) 0, or -1 with errno as above, or as write() has it. Options and result may
 * be null. Does not allocate from a heap. */
TARN_API int tarn_print_unreachable(int file, const tarn_unreachable_options* options,
                                    tarn_unreachable_result* result);

/* From now on the memory is a root. It must be readable until it is removed. The same may be added
 * more than once, and is removed as often. -1 with EINVAL for null, 0 bytes, an end beyond all
 * addresses, or what is not there to be removed (`start` is what was added); with ENOMEM. Any
 * thread; time linear in the number of those that there are. */
TARN_API int tarn_add_root(const void* start, size_t bytes);
TARN_API int tarn_remove_root(const void* start);

#ifdef __cplusplus
}
#endif

#endif
#endif
