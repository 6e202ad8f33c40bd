/* seeker: loaded beside libtarn.so into a program that knows nothing of it. A thread loses a block
 * and searches, again and again. What else is found is overwritten and freed: no program can miss
 * it. A line for each search goes to the file TARN_SEEKER_FILE:
 *
 *   found PLANTED others OTHERS of BYTES live BLOCKS stopped THREADS missed THREADS pause NS
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tarn/diagnose/unreachable.h"

enum { planted_bytes = 2000, neighbours = 16, interval_us = 50000, others_max = 4096 };

static int file = -1;
static void* volatile kept[neighbours];
static uintptr_t planted; /* Complements: this is a module's data, and a root. */
static uintptr_t others[others_max];
static size_t others_bytes[others_max];
static unsigned other_count;
static unsigned planted_count;

/* Amid others: where a mapping begins, the end of the one before it looks like the block. */
__attribute__((noinline)) static void plant(void) {
  for (unsigned i = 0; i < neighbours; ++i) {
    kept[i] = malloc(planted_bytes);
    if (kept[i] == NULL) abort();
    memset(kept[i], 0, malloc_usable_size(kept[i]));
  }
  planted = ~(uintptr_t)kept[neighbours / 2];
  kept[neighbours / 2] = NULL;
}

/* What calls before have left on the stack is gone. */
__attribute__((noinline)) static void scrub(void) {
  volatile uint64_t left[4096];
  for (unsigned i = 0; i < sizeof left / sizeof left[0]; ++i) left[i] = 0;
}

static int note(const tarn_unreachable_block* block, void* context) {
  (void)context;
  const uintptr_t hidden = ~(uintptr_t)block->start;
  if (hidden == planted) {
    ++planted_count;
  } else if (other_count < others_max) {
    others[other_count] = hidden;
    others_bytes[other_count++] = block->bytes;
  }
  return 0;
}

__attribute__((noinline)) static void give_others(void) {
  for (unsigned i = 0; i < other_count; ++i) {
    void* const p = (void*)~others[i];
    memset(p, 0xdd, others_bytes[i]);
    free(p);
  }
}

static void search(void) {
  tarn_unreachable_result result = TARN_UNREACHABLE_RESULT();
  planted_count = other_count = 0;
  const int outcome = tarn_find_unreachable(NULL, note, NULL, &result);
  char line[256];
  const int length = snprintf(
      line, sizeof line,
      "found %u others %u of %llu live %llu stopped %llu missed %llu pause %llu\n",
      outcome == 0 ? planted_count : 0, other_count, (unsigned long long)result.block_bytes,
      (unsigned long long)result.live_blocks, (unsigned long long)result.threads_stopped,
      (unsigned long long)result.threads_missed, (unsigned long long)result.pause_ns);
  if (write(file, line, (size_t)length) != length) abort();
  if (result.threads_missed == 0) give_others(); /* One that runs on may have made them just now. */
}

static void* seek(void* unused) {
  (void)unused;
  plant();
  for (;;) {
    scrub();
    search();
    scrub();
    usleep(interval_us);
  }
  return NULL;
}

/* Signals of the program are not for its thread. */
__attribute__((constructor)) static void start(void) {
  const char* const name = getenv("TARN_SEEKER_FILE");
  if (name == NULL) return;
  file = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) abort();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  if (pthread_create(&thread, NULL, seek, NULL) != 0) abort();
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}
