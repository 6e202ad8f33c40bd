/* account: what a process running on tarn writes about its own heap, for `tarn run` and for you.
 *
 * With TARN_OPTIONS=account=DIR the library maps the file DIR/<pid> (shared, so that it survives
 * _exit and signals) and keeps one `tarn_account` in it. Totals are refreshed on slow paths; the
 * table of classes and `state` are written when the process ends normally. Integers are native;
 * sizes are bytes. tarn_process_account() fills the same structure for the calling process.
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

#define TARN_ACCOUNT_MAGIC UINT64_C(0x31746e63636e7274) /* "trnccnt1" as it lies in memory */
#define TARN_ACCOUNT_CLASSES 192
#define TARN_ACCOUNT_PROGRAM 64

enum { TARN_ACCOUNT_RUNNING = 0, TARN_ACCOUNT_FINAL = 1 };

typedef struct tarn_account_class {
  uint64_t block_bytes;   /* what one block takes; 0 in unused rows */
  uint64_t allocations;   /* blocks handed out since the start */
  uint64_t live_blocks;   /* handed out and not freed */
  uint64_t sampled;       /* allocations whose requested size was seen (a sample) */
  uint64_t sampled_bytes; /* what these requested:
                             slack ~ 1 - sampled_bytes / (sampled * block_bytes) */
} tarn_account_class;

typedef struct tarn_account {
  uint64_t magic; /* TARN_ACCOUNT_MAGIC, written last at creation */
  uint64_t bytes; /* sizeof(tarn_account) of the writer: readers refuse a smaller one */
  uint64_t state; /* TARN_ACCOUNT_RUNNING until the process ends normally */
  uint64_t pid;
  uint64_t parent_pid;
  char program[TARN_ACCOUNT_PROGRAM]; /* short name of the executable, NUL-terminated */

  uint64_t live_bytes;      /* usable bytes of live blocks, large ones too */
  uint64_t live_bytes_peak; /* taken at refills, so slightly low: print it with ~ */
  uint64_t reserved_bytes;  /* address space taken from the OS */
  uint64_t committed_bytes; /* of these, spans in use or kept warm */
  uint64_t committed_bytes_peak;

  uint64_t large_allocations; /* blocks above the largest class */
  uint64_t large_live_blocks;
  uint64_t large_live_bytes;
  uint64_t large_live_bytes_peak;

  uint64_t threads_started; /* threads that allocated at least once, the first one too */
  uint64_t threads_peak;    /* most of them alive at the same time */

  uint64_t os_map_calls;   /* mmap, mremap, munmap */
  uint64_t os_purge_calls; /* madvise that gives memory back */
  uint64_t os_purged_bytes;

  uint64_t class_count; /* rows of classes[] in use */
  tarn_account_class classes[TARN_ACCOUNT_CLASSES];
} tarn_account;

/* Fills in *account for the calling process, classes too; exact while no other thread allocates.
 * Returns 0, or -1 with errno EINVAL when bytes < sizeof(tarn_account) of the library. Takes time
 * linear in the number of pages in use. */
TARN_API int tarn_process_account(tarn_account* account, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
#endif
