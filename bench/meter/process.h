/* What measuring programs, in C or C++, ask of a clock and of their own process, and how they end
 * where they cannot go on. No allocator is called.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_BENCH_METER_PROCESS_H
#define TARN_BENCH_METER_PROCESS_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

__attribute__((noreturn)) static inline void fail_with(const char* what, const char* detail) {
  fprintf(stderr, "%s: %s%s\n", program_invocation_short_name, what, detail);
  exit(1);
}

__attribute__((noreturn)) static inline void fail(const char* what) { fail_with(what, ""); }

static inline double now_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* The number after `key` in a file of /proc; -1 where there is none. */
static inline long number_in(const char* path, const char* key) {
  char text[4096];
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  if (length <= 0) return -1;
  text[length] = '\0';
  const char* at = strstr(text, key);
  return at == NULL ? -1 : strtol(at + strlen(key), NULL, 10);
}

/* After the first space of statm: pages that are resident. */
static inline long resident_kib(void) {
  return number_in("/proc/self/statm", " ") * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Of this program alone: what getrusage says begins with what its parent had. */
static inline long peak_kib(void) { return number_in("/proc/self/status", "VmHWM:"); }

#endif
