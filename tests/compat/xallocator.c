/* compat/xallocator.h in C: each of its names, before main and after it, and what the source did
 * wrong.
 *
 * SPDX-License-Identifier: MIT */
#include "xallocator.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"

static char* early;
__attribute__((constructor)) static void before_main(void) {
  early = xmalloc(50);
  if (early != NULL) strcpy(early, "before main");
}
static char* late;
__attribute__((destructor)) static void after_main(void) {
  if (late == NULL) return; /* A check has failed. */
  CHECK(strcmp(late, "to the end") == 0);
  xfree(late);
  xfree(xmalloc(100));
}
static void at_exit(void) {
  xalloc_destroy();
  CHECK(strcmp(late, "to the end") == 0);
}

/* Run with TARN_OPTIONS=xalloc_mode=1: blocks have the bytes that were asked for. */
static int is_checked(void) { return getenv("TARN_OPTIONS") != NULL; }

/* What xalloc_stats prints. */
static const char* stats(void) {
  static char text[4096];
  int ends[2];
  fflush(stdout);
  const int saved = dup(1);
  CHECK(saved >= 0 && pipe(ends) == 0 && dup2(ends[1], 1) == 1);
  xalloc_stats();
  fflush(stdout);
  CHECK(dup2(saved, 1) == 1);
  close(saved);
  close(ends[1]);
  const ssize_t length = read(ends[0], text, sizeof text - 1);
  CHECK(length >= 0);
  close(ends[0]);
  text[length] = '\0';
  return text;
}

/* S4.6, to the letter. */
static void test_stats(void) {
  static void* blocks[10001];
  xalloc_destroy();
  CHECK(strcmp(stats(), "") == 0);
  for (int i = 0; i < 10001; ++i) CHECK((blocks[i] = xmalloc(128)) != NULL);
  for (int i = 0; i < 10000; ++i) xfree(blocks[i]);
  CHECK(strcmp(stats(), "xallocator Block Size: 128 Block Count: 10001 Blocks In Use: 1\n") == 0);
  void* const tuned = xmalloc(390);
  CHECK(strcmp(stats(),
               "xallocator Block Size: 128 Block Count: 10001 Blocks In Use: 1\n"
               "xallocator Block Size: 396 Block Count: 1 Blocks In Use: 1\n") == 0);
  xfree(tuned);
  xfree(blocks[10000]);
}

static void test_sizes(void) {
  for (int i = 0; i < 4096; ++i) {
    void* const p = xmalloc(1);
    CHECK(p != NULL && (uintptr_t)p % 16 == 0);
  }
  volatile size_t sizes[] = {SIZE_MAX, SIZE_MAX - 3, SIZE_MAX / 2, (size_t)1 << 50};
  for (int i = 0; i < 4; ++i) {
    errno = 0;
    CHECK(xmalloc(sizes[i]) == NULL && errno == ENOMEM);
  }
  CHECK(xmalloc(0) != NULL && xmalloc(0) != xmalloc(0));
  xfree(NULL);

  /* A 16th class, a 17th, ... */
  for (size_t bytes = 1; bytes <= (size_t)1 << 26; bytes *= 2) {
    char* const p = xmalloc(bytes);
    CHECK(p != NULL);
    p[0] = p[bytes - 1] = 1;
    xfree(p);
  }
}

static void test_realloc(void) {
  char* p = xrealloc(NULL, 700);
  memset(p, 7, 700);
  if (!is_checked()) CHECK(xrealloc(p, 10) == p && xrealloc(p, 768) == p);
  char* const grown = xrealloc(p, 5000);
  for (int i = 0; i < 700; ++i) CHECK(grown[i] == 7);
  volatile size_t too_much = SIZE_MAX;
  CHECK(xrealloc(grown, too_much) == NULL && grown[0] == 7);
  CHECK(xrealloc(grown, 0) == NULL);
}

static void (*crime)(void);
static char* block;
static char on_no_heap[32];
static void twice(void) { xfree(block), xfree(block); }
static void inside(void) { xfree(block + 16); }
static void foreign(void) { xfree(on_no_heap); }
static void of_malloc(void) {
  char* const p = malloc(10);
  xfree(p);
}
static void realloc_of_freed(void) {
  xfree(block);
  (void)!xrealloc(block, 5);
}

static void dies(void (*what)(void), const char* words) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  crime = what;
  block = xmalloc(300);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    dup2(ends[1], 2);
    crime();
    _exit(0);
  }
  close(ends[1]);
  char text[1000];
  size_t length = 0;
  ssize_t got = 0;
  while ((got = read(ends[0], text + length, sizeof text - 1 - length)) > 0) length += (size_t)got;
  text[length] = '\0';
  close(ends[0]);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
  CHECK(strstr(text, words) != NULL);
  xfree(block);
}

void test_own_lock(void); /* xallocator_lock.c */

static void test_locks(void) {
  lock_release(); /* Harmless. */
  lock_init();
  lock_get();
  lock_get();
  xfree(xmalloc(10));
  lock_release();
  xfree(xmalloc(10));
  lock_release();
  lock_release();
  xfree(xmalloc(10));
  lock_destroy();
}

int main(void) {
  CHECK(early != NULL && strcmp(early, "before main") == 0);
  xfree(early);
  CHECK(MAX_BLOCKS > 0 && MAX_ALLOCATORS >= 12);
  xalloc_init();
  xalloc_init();
  test_stats();
  test_sizes();
  test_realloc();
  test_locks();
  test_own_lock();
  dies(twice, "tarn: double free: xfree");
  if (is_checked()) dies(inside, "tarn: invalid free: ");
  dies(foreign, "tarn: invalid free: xfree");
  dies(of_malloc, "tarn: invalid free: xfree");
  dies(realloc_of_freed, "tarn: double free: xrealloc");
  late = xmalloc(20);
  strcpy(late, "to the end");
  CHECK(atexit(at_exit) == 0);
  return 0;
}
