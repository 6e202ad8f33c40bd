/* launcher RESULT PRELOAD PROGRAM ARGS...: runs one program and writes what it cost to RESULT.
 *
 * RESULT gets one line: wall nanoseconds, user and system microseconds, peak RSS in KiB, minor and
 * major page faults, wait status. Peak RSS is that of the program or of the largest of the children
 * it waited for. This is a program of its own, small and static, because the kernel counts a
 * parent's image into the peak of the child that it spawns: a Python parent would hide
 * every program under twenty megabytes. PRELOAD "-" preloads nothing.
 *
 * Before it starts the program a child of its own uses up to 512 MiB and ends. A virtual machine's
 * host may take back what lies free for seconds, 2 MiB at a time, and then the first to touch such
 * a huge page waits for the host: 4 ms and more, where the page itself takes 0.2. This way each
 * program finds memory that the host has given already.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

/* Writes to 512 MiB, or to a quarter of what is free if that is less. */
static void use_memory(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const size_t quarter = (size_t)sysconf(_SC_AVPHYS_PAGES) / 4 * page;
  const size_t most = (size_t)512 << 20;
  const size_t bytes = quarter < most ? quarter : most;
  volatile char* const memory =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return;
  }
  madvise((void*)memory, bytes, MADV_HUGEPAGE);
  for (size_t at = 0; at < bytes; at += page) {
    memory[at] = 1;
  }
}

/* Has the host give memory; a child does it, since a peak of this process would be taken for the
   program's. Where none can be had the program just starts. */
static void warm_host(void) {
  const pid_t child = fork();
  if (child == 0) {
    use_memory();
    _exit(0);
  }
  while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
  }
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
  warm_host();
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
