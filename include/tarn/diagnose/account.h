/* account.h: what a process running on tarn says about its own memory, for `tarn run` and for any
 * other reader.
 *
 * With TARN_OPTIONS=account=DIR the library maps the file DIR/<pid> and keeps one `tarn_account` in
 * it. The mapping is shared, so the account survives _exit and signals. Totals are refreshed on
 * slow paths; the table of classes and `state` are written when the process ends normally. Integers
 * are in native byte order; sizes are in bytes. tarn_process_account() fills the same structure for
 * the calling process.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_ACCOUNT_H
#define TARN_ACCOUNT_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>

#include "../detail/api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TARN_ACCOUNT_MAGIC UINT64_C(0x32746e63636e7274) /* "trnccnt2" as it lies in memory */
#define TARN_ACCOUNT_CLASSES 192
#define TARN_ACCOUNT_PROGRAM 64

/* The states of an account: its process has not ended normally yet, or it has. */
enum { TARN_ACCOUNT_RUNNING = 0, TARN_ACCOUNT_FINAL = 1 };

/* One size class. Its slack is about 1 - sampled_bytes / (sampled * block_bytes). */
typedef struct tarn_account_class {
  uint64_t block_bytes;   /* Bytes of one block; 0 in unused rows. */
  uint64_t allocations;   /* Blocks handed out since the process began. */
  uint64_t live_blocks;   /* Blocks handed out and not freed. */
  uint64_t sampled;       /* Allocations whose requested size was sampled. */
  uint64_t sampled_bytes; /* The sum of those sizes. */
} tarn_account_class;

/* The account of a process. */
typedef struct tarn_account {
  uint64_t magic; /* TARN_ACCOUNT_MAGIC; written last when the account is made. */
  uint64_t bytes; /* The writer's sizeof(tarn_account). Readers refuse a smaller one. */
  uint64_t state; /* TARN_ACCOUNT_RUNNING until the process ends normally. */
  uint64_t pid;
  uint64_t parent_pid;
  char program[TARN_ACCOUNT_PROGRAM]; /* The executable's short name, with a NUL. */

  uint64_t live_bytes;           /* Usable bytes of live blocks, large ones included. */
  uint64_t live_bytes_peak;      /* Sampled at refills, so slightly too low. */
  uint64_t reserved_bytes;       /* Address space taken from the OS. */
  uint64_t committed_bytes;      /* The part of it that is in use or kept warm. */
  uint64_t committed_bytes_peak; /* The largest committed_bytes so far. */

  uint64_t large_allocations;     /* Blocks above the largest class since the process began. */
  uint64_t large_live_blocks;     /* Those of them that are live. */
  uint64_t large_live_bytes;      /* The bytes of these. */
  uint64_t large_live_bytes_peak; /* The largest large_live_bytes so far. */

  uint64_t threads_started; /* Threads that have allocated, the first one included. */
  uint64_t threads_peak;    /* The most of them alive at the same time. */

  uint64_t os_map_calls;    /* Calls of mmap, mremap and munmap. */
  uint64_t os_purge_calls;  /* Calls of madvise that gave memory back. */
  uint64_t os_purged_bytes; /* The bytes that these gave back. */

  uint64_t live_blocks; /* Of all sizes. */
  uint64_t free_blocks; /* Of the classes: made and not live (tarn_heap_stats, tarn/heap/heap.h). */

  uint64_t class_count; /* The rows of classes[] in use. */
  tarn_account_class classes[TARN_ACCOUNT_CLASSES];
} tarn_account;

/* Fills in *account for the calling process, classes included. The numbers are exact while no other
 * thread allocates. Returns 0, or -1 with EINVAL when `bytes` is less than the library's
 * sizeof(tarn_account). Any thread. Time linear in the pages in use. */
TARN_API int tarn_process_account(tarn_account* account, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
#endif
