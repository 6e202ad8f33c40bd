/* Checked, guarded and passthrough heaps in C: the functions, the accounts, and a report.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"
#include "tarn/tarn.h"

static tarn_heap make(int mode) {
  tarn_heap_options options = TARN_HEAP_OPTIONS(.name = "in C", .mode = mode);
  return tarn_heap_create(&options);
}

static tarn_heap_stats stats_of(tarn_heap heap) {
  tarn_heap_stats stats = TARN_HEAP_STATS();
  CHECK(tarn_heap_get_stats(heap, &stats) == 0);
  return stats;
}

static int add_bytes(const tarn_heap_item* item, void* context) {
  if (item->kind == TARN_HEAP_BLOCK || item->kind == TARN_HEAP_LARGE_BLOCK) {
    *(size_t*)context += item->bytes;
  }
  return 0;
}

static void use(int mode) {
  tarn_heap heap = make(mode);
  CHECK(heap.id != 0);
  size_t bytes = 0;
  for (size_t size = 1; size < 200000; size = size * 3 + 1) {
    char* p = tarn_heap_allocate(heap, size);
    CHECK(p != NULL && tarn_malloc_usable_size(p) == size);
    memset(p, 'x', size);
    p = tarn_heap_reallocate(heap, p, size + 5);
    CHECK(p != NULL && tarn_malloc_usable_size(p) == size + 5 && p[size - 1] == 'x');
    CHECK(tarn_heap_owns(heap, p) == 1);
    bytes += size + 5;
  }
  tarn_heap_stats stats = stats_of(heap);
  CHECK(stats.requested_bytes == bytes && stats.requested_is_exact == 1);
  CHECK(stats.live_bytes == bytes && stats.live_bytes_peak >= bytes);
  size_t seen = 0;
  CHECK(tarn_heap_walk(heap, 0, add_bytes, &seen) == 0 && seen == bytes);
  CHECK(tarn_heap_clear(heap) == 0 && stats_of(heap).live_blocks == 0);
  CHECK(tarn_heap_destroy(heap) == 0);
}

/* What a child says on standard error that does this to a block of 30 bytes. */
static void expect_report(int mode, void (*crime)(tarn_heap, char*), const char* report) {
  int ends[2];
  static char text[16000];
  text[0] = '\0';
  CHECK(pipe(ends) == 0);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    tarn_heap heap = make(mode);
    dup2(ends[1], STDERR_FILENO);
    crime(heap, tarn_heap_allocate(heap, 30));
    _exit(0);
  }
  close(ends[1]);
  size_t length = 0;
  for (ssize_t got = 1; got > 0; length += (size_t)got) {
    got = read(ends[0], text + length, sizeof text - 1 - length);
    if (got < 0) got = 0;
  }
  close(ends[0]);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  if (strncmp(text, report, strlen(report)) != 0 || strstr(text, "heap \"in C\"") == NULL ||
      strstr(text, "allocated at ") == NULL) {
    fprintf(stderr, "modes: not the report %s, but: %s", report, text);
    exit(1);
  }
}

static void free_twice(tarn_heap heap, char* p) {
  (void)heap;
  tarn_heap_deallocate(p);
  tarn_heap_deallocate(p);
}

static void write_beyond(tarn_heap heap, char* p) {
  volatile size_t end = 30;
  p[end] = 1;
  tarn_heap_destroy(heap);
}

/* What a program's own function is told: of the block, of the heap, and by which calls. */
static void tell(const tarn_misuse* misuse, void* context) {
  char site[200];
  CHECK(context == &errno && misuse->bytes == sizeof *misuse);
  CHECK(strcmp(misuse->kind, "double free") == 0 && strcmp(misuse->function, "free") == 0);
  CHECK(strncmp(misuse->text, "free(0x", 7) == 0 && misuse->text[strlen(misuse->text) - 1] == ')');
  CHECK(misuse->block == misuse->address && misuse->block_bytes == 30);
  CHECK(strcmp(misuse->owner_kind, "heap") == 0 && strcmp(misuse->owner_name, "in C") == 0);
  CHECK(misuse->owner_id != 0);
  CHECK(misuse->allocated_at.count > 1 && misuse->freed_at.count > 1 && misuse->now_at.count > 1);
  CHECK(misuse->freed_at.calls[0] != misuse->now_at.calls[0]);
  CHECK(tarn_site_text(misuse->now_at.calls[0], site, sizeof site) != 0);
  CHECK(strstr(site, "+0x") != NULL);
  fprintf(stderr, "told\n");
  _exit(7);
}

static void expect_told(int mode) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    CHECK(freopen("/dev/null", "w", stderr) != NULL);
    tarn_on_misuse(tell, &errno);
    tarn_heap heap = make(mode);
    free_twice(heap, tarn_heap_allocate(heap, 30));
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void free_with_another_size(tarn_heap heap, char* p) {
  (void)heap;
  tarn_free_sized(p, 31);
}

int main(void) {
  for (int mode = TARN_MODE_CHECKED; mode <= TARN_MODE_PASSTHROUGH; ++mode) {
    use(mode);
    expect_report(mode, free_with_another_size, "tarn: size mismatch: ");
  }
  for (int mode = TARN_MODE_CHECKED; mode <= TARN_MODE_GUARDED; ++mode) {
    expect_report(mode, free_twice, "tarn: double free: ");
    expect_told(mode);
    expect_report(mode, write_beyond, "tarn: overrun: ");
  }
  errno = 0;
  CHECK(make(4).id == 0 && errno == EINVAL);
  puts("modes: ok");
  return 0;
}
