/* A leak in a running program in C: threads that allocate and free all the time, a search that
 * finds the leak with its size, and nothing else; what is printed, for people and as JSON. Beside
 * another malloc, and where tarn is the process's.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "tarn/diagnose/unreachable.h"
#include "tarn/tarn.h"

enum { threads = 3, held_blocks = 200, searches = 20, leak_bytes = 5000 };

static atomic_int over;
static atomic_int begun;

#ifdef TARN_TEST_MALLOC
#define allocate malloc
#define release free
#else
#define allocate tarn_malloc
#define release tarn_free
#endif

/* What was in the memory before leads nowhere. */
static void* cleared(size_t bytes) {
  void* p = allocate(bytes);
  CHECK(p != NULL);
  memset(p, 0, bytes);
  memset(p, 0, tarn_malloc_usable_size(p));
  return p;
}

static void* work(void* seed) {
  void** held = cleared(held_blocks * sizeof *held); /* Reached from this stack alone. */
  unsigned random = (unsigned)(uintptr_t)seed;
  atomic_fetch_add(&begun, 1);
  while (!atomic_load(&over)) {
    random = random * 1664525u + 1013904223u;
    const unsigned i = (random >> 8) % held_blocks;
    release(held[i]);
    held[i] = NULL;
    held[i] = cleared(16 + (random >> 16) % 2000);
  }
  for (int i = 0; i < held_blocks; ++i) release(held[i]);
  release(held);
  return NULL;
}

/* AddressSanitizer's zones around variables would keep what was there. */
__attribute__((noinline, no_sanitize("address"))) static void scrub(void) {
  volatile uint64_t left[6 * 1024];
  for (size_t i = 0; i < sizeof left / sizeof left[0]; ++i) left[i] = 0;
}

/* Lower than what scrub() leaves as it is for its own variables. */
__attribute__((noinline, no_sanitize("address"))) static void call_below(void (*f)(void*),
                                                                         void* context) {
  volatile char distance[512] = {0};
  __asm__ volatile("" : : "r"(distance) : "memory");
  f(context);
}

/* Calls f, and wipes the memory of its frames: what it knew is known no more. */
__attribute__((noinline, no_sanitize("address"))) static void apart(void (*f)(void*),
                                                                    void* context) {
  scrub();
  call_below(f, context);
  scrub();
}

/* Not the first block of its page: registers of other threads may still have the page's address,
 * from when it was theirs. */
static void lose(void* hidden) {
  void* first = cleared(leak_bytes);
  *(uintptr_t*)hidden = ~(uintptr_t)cleared(leak_bytes);
  release(first);
}
static void give(void* hidden) { release((void*)~*(uintptr_t*)hidden); }

typedef struct seen {
  int count;
  uintptr_t hidden;
  size_t bytes;
} seen;

static int show(const tarn_unreachable_block* block, void* context) {
  seen* all = context;
  if (block->bytes < leak_bytes) return 0; /* libc's own, where tarn is its malloc. */
  ++all->count;
  all->hidden = ~(uintptr_t)block->start;
  all->bytes = block->bytes;
  return 0;
}

static unsigned flags(void) {
#if defined(__SANITIZE_THREAD__)
  return TARN_UNREACHABLE_STRICT; /* Its own memory has addresses of accesses. */
#else
  return 0;
#endif
}

typedef struct finding {
  tarn_unreachable_result result;
  seen all;
} finding;

static void find_now(void* to) {
  finding* found = to;
  tarn_unreachable_options options = TARN_UNREACHABLE_OPTIONS(.flags = flags());
  CHECK(tarn_find_unreachable(&options, show, &found->all, &found->result) == 0);
}

static void find(uintptr_t leak, int expected) {
  finding found = {.result = TARN_UNREACHABLE_RESULT()};
  apart(find_now, &found);
  const tarn_unreachable_result result = found.result;
  const seen all = found.all;
  CHECK(all.count == expected);
  CHECK(result.blocks == (uint64_t)expected);
  CHECK(result.threads_stopped + result.threads_missed >= threads); /* Tools have some, too. */
  CHECK(result.live_blocks >= threads && result.root_bytes != 0 && result.pause_ns != 0);
  if (expected == 0) return;
  CHECK(all.hidden == leak);
  CHECK(all.bytes >= leak_bytes && result.block_bytes == all.bytes);
  CHECK(result.direct_blocks == 1);
}

typedef struct printing {
  int file;
  unsigned flags;
} printing;

static void print_now(void* what) {
  const printing* p = what;
  tarn_unreachable_options options = TARN_UNREACHABLE_OPTIONS(.flags = p->flags);
  CHECK(tarn_print_unreachable(p->file, &options, NULL) == 0);
}

static void print(unsigned more_flags, const char* wanted) {
  static char text[8192];
  int ends[2];
  CHECK(pipe(ends) == 0);
  apart(print_now, &(printing){ends[1], flags() | more_flags});
  close(ends[1]);
  size_t length = 0;
  for (ssize_t got; (got = read(ends[0], text + length, sizeof text - 1 - length)) > 0;) {
    length += (size_t)got;
  }
  close(ends[0]);
  text[length] = '\0';
  if (strstr(text, wanted) == NULL) fprintf(stderr, "no \"%s\" in:\n%s", wanted, text);
  CHECK(strstr(text, wanted) != NULL);
  CHECK(length > 0 && text[length - 1] == '\n');
}

int main(void) {
  pthread_t ids[threads];
  for (int i = 0; i < threads; ++i) {
    CHECK(pthread_create(&ids[i], NULL, work, (void*)(uintptr_t)(i + 1)) == 0);
  }
  while (atomic_load(&begun) != threads) usleep(100);
  for (int i = 0; i < searches; ++i) find(0, 0);
  uintptr_t leak = 0;
  apart(lose, &leak);
  for (int i = 0; i < searches; ++i) find(leak, 1);
  print(0, "tarn: no pointer reaches 1 block of ");
  print(0, "malloc");
  print(TARN_UNREACHABLE_JSON, "\"direct_blocks\":1,");
  print(TARN_UNREACHABLE_JSON, "\"heap\":\"malloc\",");
  CHECK(tarn_print_unreachable(-1, NULL, NULL) == -1 && errno == EBADF);
  apart(give, &leak);
  for (int i = 0; i < searches; ++i) find(0, 0);
  atomic_store(&over, 1);
  for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  return 0;
}
