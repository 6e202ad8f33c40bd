/* meter: memory and time of this process, read without a call of an allocator.
 *
 * SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "task.h"

enum { SAMPLES_MAX = 4096 };
enum { NANOSECONDS = 1000000000, STACK_BYTES = 256 << 10 };

static struct {
  int ms;
  long kib;
} samples[SAMPLES_MAX];
static int sample_count;
static double samples_start;
static double work_start, work_sum;

double seconds_now(void) { return now_ns(CLOCK_MONOTONIC) / NANOSECONDS; }

/* A small stack: what a thread's own stack costs is no matter of the allocator's. */
void thread_start(void* (*body)(void*), void* argument, pthread_t* thread) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0 ||
      pthread_attr_setstacksize(&attributes, STACK_BYTES) != 0 ||
      pthread_create(thread, &attributes, body, argument) != 0) {
    fail("no thread can be started");
  }
  pthread_attr_destroy(&attributes);
}

void work_begins(void) { work_start = seconds_now(); }
void work_ends(void) { work_sum += seconds_now() - work_start; }
double work_seconds(void) { return work_sum; }

static void sample(void) {
  if (sample_count == SAMPLES_MAX) return;
  samples[sample_count].ms = (int)((seconds_now() - samples_start) * 1000);
  samples[sample_count++].kib = resident_kib();
}

void samples_begin(void) {
  samples_start = seconds_now();
  sample();
}

/* A tick that work has overtaken is left out: its sample would be of a later time. */
void sample_at(int tick) {
  const double until = samples_start + tick * TICK_MS / 1000.0;
  if (seconds_now() > until) return;
  struct timespec at = {.tv_sec = (time_t)until};
  at.tv_nsec = (long)((until - (double)at.tv_sec) * NANOSECONDS);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0) {
  }
  sample();
}

void samples_print(void) {
  for (int i = 0; i < sample_count; ++i) {
    printf("%s[%d, %ld]", i == 0 ? "" : ", ", samples[i].ms, samples[i].kib);
  }
}

/* malloc_trim is there in every process: it counts only where it is of malloc's own library. */
const char* give_all_back(void) {
  Dl_info of_malloc, of_trim;
  union {
    void* object;
    int (*trim)(size_t);
    void (*collect)(int);
    void (*release)(void);
    int (*control)(const char*, void*, size_t*, void*, size_t);
  } found;
  if ((found.object = dlsym(RTLD_DEFAULT, "mi_collect")) != NULL) {
    found.collect(1);
    return "mi_collect";
  }
  if ((found.object = dlsym(RTLD_DEFAULT, "MallocExtension_ReleaseFreeMemory")) != NULL) {
    found.release();
    return "ReleaseFreeMemory";
  }
  if ((found.object = dlsym(RTLD_DEFAULT, "mallctl")) != NULL) {
    found.control("arena.4096.purge", NULL, NULL, NULL, 0); /* 4096: all arenas. */
    return "arena.purge";
  }
  if ((found.object = dlsym(RTLD_DEFAULT, "malloc_trim")) != NULL &&
      dladdr(found.object, &of_trim) != 0 &&
      dladdr(dlsym(RTLD_DEFAULT, "malloc"), &of_malloc) != 0 &&
      of_trim.dli_fbase == of_malloc.dli_fbase) {
    found.trim(0);
    return "malloc_trim";
  }
  return NULL;
}
