/* check: what every program of this folder needs to judge itself, none of which allocates.
 *
 * A program ends with status 0 when all held, 1 at the first CHECK that failed, 77 when the
 * machine cannot show the point (ctest counts that as skipped), and by SIGALRM when it hangs.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_TESTS_LIFE_CHECK_H
#define TARN_TESTS_LIFE_CHECK_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef TARN_TEST_STATIC
#include <tarn/tarn.h>
#endif

/* Sanitized builds are some ten times slower: there the loops are cut by this divisor. */
#define SCALED(count) ((count) / TARN_TEST_DIVISOR)

#define MEBIBYTE ((size_t)1 << 20)

#define CHECK(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))

static inline void check_failed(const char* file, int line, const char* condition) {
  dprintf(STDERR_FILENO, "%s:%d: process %d: not true: %s (errno %d)\n", file, line, (int)getpid(),
          condition, errno);
  _exit(1);
}

/* As waitpid() has it, when the child has ended; -1: there is none. */
static inline int status_of_child(pid_t child) {
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

static inline void skip(const char* reason) {
  dprintf(STDERR_FILENO, "skipped: %s\n", reason);
  _exit(77);
}

/* What is said from here on, a report that a test is about, goes nowhere. */
static inline void fall_silent(void) {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  CHECK(nowhere >= 0 && dup2(nowhere, STDERR_FILENO) == STDERR_FILENO);
}

/* Fails unless malloc is tarn's, and bounds the time that a hang may take. TARN_TEST_ANY_MALLOC
 * lets the programs be tried on another malloc. */
static inline void begin(unsigned seconds_at_most) {
#ifdef TARN_TEST_STATIC
  void* block = malloc(100);
  CHECK(tarn_malloc_usable_size(block) >= 100);
  free(block);
#elif !defined(TARN_PREFIXED)
  Dl_info info;
  memset(&info, 0, sizeof info);
  if (getenv("TARN_TEST_ANY_MALLOC") == NULL) {
    CHECK(dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info) != 0);
    CHECK(info.dli_fname != NULL && strstr(info.dli_fname, "libtarn") != NULL);
  }
#endif
  alarm(seconds_at_most);
}

static inline size_t process_pages(int field) {
  char text[128];
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  const ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  if (length <= 0) return 0;
  text[length] = '\0';
  char* at = text;
  for (int i = 0; i < field; ++i) (void)strtoul(at, &at, 10);
  return strtoul(at, NULL, 10);
}

static inline size_t os_page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }
static inline size_t mapped_bytes(void) { return process_pages(0) * os_page_bytes(); }
static inline size_t resident_bytes(void) { return process_pages(1) * os_page_bytes(); }

/* Read without allocating. */
static inline size_t mapping_count(void) {
  static char text[65536];
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  CHECK(file >= 0);
  size_t count = 0;
  for (ssize_t length = 1; length > 0;) {
    length = read(file, text, sizeof text);
    CHECK(length >= 0);
    for (ssize_t i = 0; i < length; ++i) count += text[i] == '\n';
  }
  close(file);
  return count;
}

/* Sanitizers keep shadows and quarantines of their own, so bounds mean nothing under them. */
#define CHECK_RESIDENT_BELOW(bound) CHECK(TARN_TEST_DIVISOR > 1 || resident_bytes() < (bound))

#endif
