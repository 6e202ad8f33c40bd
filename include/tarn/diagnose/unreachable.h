/* unreachable.h: finds blocks that no pointer reaches, in C. (C++: tarn/diagnose/unreachable.hpp.)
 * A block is reached when a root, or a block that is reached, holds its address or that of a byte
 * in it, as a word aligned to 8 bytes. What merely looks like an address counts, so a lost block
 * may be missed; but no block is listed that the program can find by plain pointers. An address one
 * past the end of a block belongs to the next block. Nodes of trees (tarn/tree/tree.h) reach their
 * neighbours. All other threads stand still during the search, wherever they are, and run on before
 * results are shown. System calls that a signal always ends (poll, nanosleep, ...) then return
 * EINTR.
 *
 * Sizes are in bytes. Works on Linux for x86-64; elsewhere the functions fail with ENOTSUP.
 * docs/unreachable.md is the guide.
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

/* How to search. The roots of a search are: the writable data of the program and of all loaded
 * libraries; the stacks of all threads from their stack pointers on, with what lies beside them
 * (thread-local variables, keys); their registers; memory that was registered by tarn_add_root; the
 * contexts of heaps' callbacks and sources; and all other writable memory that is not tarn's
 * (another malloc's, or from mmap). Pages without contents are not touched. */
enum tarn_unreachable_flag {
  /* That other memory is no root. More is found, but also blocks that are only reached from another
   * malloc's blocks or from unregistered memory of mmap. */
  TARN_UNREACHABLE_STRICT = 1,

  /* tarn_print_unreachable writes JSON. */
  TARN_UNREACHABLE_JSON = 2
};

enum {
  /* The real-time signal that stops threads if the program chooses none. */
  TARN_UNREACHABLE_SIGNAL = 60,
  /* How long the search waits for threads if the program does not choose. */
  TARN_UNREACHABLE_WAIT_MS = 2000
};

typedef struct tarn_unreachable_options {
  size_t bytes; /* sizeof(tarn_unreachable_options); TARN_UNREACHABLE_OPTIONS(...) sets it. */
  /* The heaps whose blocks are listed. Blocks of other heaps are only followed. */
  const tarn_heap* heaps;
  /* The number of `heaps`. 0: the blocks of all heaps but passthrough ones are listed. */
  size_t heap_count;
  unsigned flags; /* Of enum tarn_unreachable_flag. */
  /* The signal that stops threads. The program must not use it otherwise. 0:
   * TARN_UNREACHABLE_SIGNAL. */
  int signal;
  unsigned wait_ms; /* How long to wait for threads. 0: TARN_UNREACHABLE_WAIT_MS. */
} tarn_unreachable_options;

#define TARN_UNREACHABLE_OPTIONS(...) TARN_SIZED(tarn_unreachable_options, __VA_ARGS__)

/* A block that no pointer reaches. */
typedef struct tarn_unreachable_block {
  void* start;
  size_t bytes;   /* The usable bytes of the block. */
  tarn_heap heap; /* The heap of the block. It may have ended by now. */
  /* 1: no other unreachable block leads to this one. One block of each ring counts as direct. */
  int is_direct;
  const void* site; /* Where it was allocated, in checked and guarded heaps; else null. */
} tarn_unreachable_block;

/* Called for each block. A result other than 0 ends the visits. It may do anything, including
 * freeing the block or making another search. */
typedef int (*tarn_unreachable_visit)(const tarn_unreachable_block* block, void* context);

/* The totals of a search. direct_blocks and direct_bytes are part of blocks and block_bytes.
 * live_blocks and live_bytes count all heaps, not only those that were asked for. When threads are
 * missed, their whole stacks are scanned but no registers, and what they do meanwhile may be
 * listed. */
typedef struct tarn_unreachable_result {
  size_t bytes;         /* sizeof(tarn_unreachable_result); TARN_UNREACHABLE_RESULT(...) sets it. */
  uint64_t blocks;      /* Unreachable blocks of the heaps that were asked for. */
  uint64_t block_bytes; /* Their usable bytes. */
  uint64_t direct_blocks;   /* Those of them that no other unreachable block leads to. */
  uint64_t direct_bytes;    /* The usable bytes of these. */
  uint64_t live_blocks;     /* Live blocks of all heaps. */
  uint64_t live_bytes;      /* Their usable bytes. */
  uint64_t root_bytes;      /* Bytes of roots that were scanned, not counting blocks. */
  uint64_t skipped_bytes;   /* Mappings of 64 GiB and more, which are not scanned. */
  uint64_t threads_stopped; /* Threads that stood still. */
  uint64_t threads_missed;  /* Threads that block the signal or did not stop in time. */
  uint64_t pause_ns;        /* How long the other threads stood still. */
} tarn_unreachable_result;

#define TARN_UNREACHABLE_RESULT(...) TARN_SIZED(tarn_unreachable_result, __VA_ARGS__)

/* Finds the blocks that no pointer reaches and shows them in the order of their addresses. options,
 * visit and result may be null. Returns what visit returned if that is not 0; 0 at the end; -1 with
 * errno
 *   EINVAL   for options that make no sense, the zero value as a heap, a wrong size in a struct;
 *   ENOTSUP  for a passthrough heap that is asked for, and where searches are not built;
 *   EBUSY    in a handler of a signal that interrupted the library in this thread;
 *   ENOMEM   or what the system said (no /proc, no descriptor left): nothing has changed then.
 * Asking for a heap that was destroyed is misuse. Any thread; a second search waits for the first.
 * It may be called from the callbacks and visitors of heaps. The calling thread takes no signals
 * meanwhile.
 *
 * Time is linear in the roots and live bytes. The memory comes from the operating system: 0.1 % of
 * these bytes, and up to 9 bytes for each block. */
TARN_API int tarn_find_unreachable(const tarn_unreachable_options* options,
                                   tarn_unreachable_visit visit, void* context,
                                   tarn_unreachable_result* result);

/* Writes what a search finds to a file descriptor, as text or as JSON. Blocks of one size, heap and
 * call site are shown together; those that hold most bytes come first. (Bytes of names that are no
 * UTF-8 become U+FFFD in JSON, and \xff in text.) Returns 0, or -1 with errno as above, or as
 * write() sets it. Options and result may be null. Nothing is allocated from a heap. */
TARN_API int tarn_print_unreachable(int file, const tarn_unreachable_options* options,
                                    tarn_unreachable_result* result);

/* Make memory a root, or no root any more. It must be readable until it is removed. The same memory
 * may be added more than once, and must then be removed as often; `start` is what was added.
 * Returns 0; or -1 with EINVAL for null, 0 bytes, an end beyond all addresses, or memory that is
 * not there to be removed, and with ENOMEM. Any thread. Time linear in the registered roots. */
TARN_API int tarn_add_root(const void* start, size_t bytes);
TARN_API int tarn_remove_root(const void* start);

#ifdef __cplusplus
}
#endif

#endif
#endif
