/* launcher RESULT PRELOAD PROGRAM ARGS...: runs one program and writes what it cost to RESULT.
 *
 * RESULT gets one line: wall nanoseconds, user and system microseconds, peak RSS in KiB, minor and
 * major page faults, wait status. Peak RSS is that of the program or of the largest of the children
 * it waited for. This is a program of its own, small and static, because the kernel counts a
 * parent's image into the peak of the child that it spawns: a Python parent would hide
 * every program under twenty megabytes. PRELOAD "-" preloads nothing.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long long microseconds(struct timeval time) {
  return time.tv_sec * 1000000LL + time.tv_usec;
}

int main(int argc, char** argv) {
  if (argc < 4) {
    fputs("usage: launcher RESULT PRELOAD PROGRAM ARGS...\n", stderr);
    return 2;
  }
  int result = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (result < 0) {
    fprintf(stderr, "launcher: cannot write %s: %s\n", argv[1], strerror(errno));
    return 2;
  }
  if (strcmp(argv[2], "-") != 0 && setenv("LD_PRELOAD", argv[2], 1) != 0) {
    return 2;
  }
  pid_t child;
  const long long start = nanoseconds();
  const int error = posix_spawnp(&child, argv[3], NULL, NULL, argv + 3, environ);
  if (error != 0) {
    fprintf(stderr, "launcher: cannot start %s: %s\n", argv[3], strerror(error));
    return 2;
  }
  int status = 0;
  struct rusage usage;
  while (wait4(child, &status, 0, &usage) < 0) {
    if (errno != EINTR) {
      return 2;
    }
  }
  const long long wall = nanoseconds() - start;
  dprintf(result, "%lld %lld %lld %ld %ld %ld %d\n", wall, microseconds(usage.ru_utime),
          microseconds(usage.ru_stime), usage.ru_maxrss, usage.ru_minflt, usage.ru_majflt, status);
  return 0;
}
