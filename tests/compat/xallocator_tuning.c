/* Tuning the classes of xallocator, as docs/xallocator.md has it: a program that counts what it
 * asks for, and one with a class for that. The classes are chosen once in a process, so each is a
 * child.
 *
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"
#include "xallocator.h"

static void in_child(void (*body)(void)) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void counted(void) {
  static void* blocks[11000];
  CHECK(tarn_xalloc_init(&TARN_XALLOC_OPTIONS(.flags = TARN_XALLOC_COUNT_REQUESTS)) == 0);
  for (size_t i = 0; i < 1000; ++i) blocks[i] = xmalloc(24);
  for (size_t i = 1000; i < 11000; ++i) blocks[i] = xmalloc(397 + i % 4);
  char text[1000] = "";
  size_t length = 0;
  tarn_xalloc_class_stats all = TARN_XALLOC_CLASS_STATS();
  for (size_t i = 0; tarn_xalloc_get_class_stats(i, &all) == 0; ++i) {
    if (all.requests == 0) continue;
    CHECK(all.in_use == all.in_use_peak && all.requests == all.in_use);
    length += (size_t)snprintf(text + length, sizeof text - length,
                               "%6zu: at most %" PRIu64
                               " in use; asked for %zu to %zu bytes, %" PRIu64 " on average\n",
                               all.block_bytes, all.in_use_peak, all.requested_bytes_min,
                               all.requested_bytes_max, all.requested_bytes / all.requests);
  }
  const char* const expected =
      "    32: at most 1000 in use; asked for 24 to 24 bytes, 24 on average\n"
      "   512: at most 10000 in use; asked for 397 to 400 bytes, 398 on average\n";
  CHECK(strcmp(text, expected) == 0);
  for (int i = 0; i < 11000; ++i) xfree(blocks[i]);
}

static void tuned(void) {
  static const size_t sizes[] = {400, 768, 1500};
  const tarn_xalloc_options options = TARN_XALLOC_OPTIONS(.class_bytes = sizes, .class_count = 3);
  CHECK(tarn_xalloc_init(&options) == 0);
  CHECK(tarn_xalloc_init(&options) == -1 && errno == EBUSY);
  CHECK(tarn_xalloc_init(NULL) == 0);
  void* const p = xmalloc(398);
  CHECK(tarn_xalloc_usable_bytes(p) == 400);
  void* const q = xmalloc(1400);
  CHECK(tarn_xalloc_usable_bytes(q) == 1536);
  xfree(p);
  xfree(q);
  size_t named = 0;
  tarn_xalloc_class_stats stats = TARN_XALLOC_CLASS_STATS();
  size_t before = 0;
  for (size_t i = 0; tarn_xalloc_get_class_stats(i, &stats) == 0; ++i) {
    CHECK(stats.block_bytes > before);
    before = stats.block_bytes;
    named += stats.block_bytes == 400 || stats.block_bytes == 768 || stats.block_bytes == 1500;
    CHECK(stats.in_use_peak == (stats.block_bytes == 400 || stats.block_bytes == 1500));
  }
  CHECK(named == 3 && errno == EINVAL);
}

static void wrong(void) {
  static const size_t falling[] = {400, 300};
  static const size_t none[] = {0};
  static const size_t large[] = {128 * 1024 + 1};
  const size_t* const bad[] = {falling, none, large, NULL};
  for (int i = 0; i < 4; ++i) {
    errno = 0;
    CHECK(tarn_xalloc_init(
              &TARN_XALLOC_OPTIONS(.class_bytes = bad[i], .class_count = i == 0 ? 2 : 1)) == -1);
    CHECK(errno == EINVAL);
  }
  CHECK(tarn_xalloc_init(&TARN_XALLOC_OPTIONS(.mode = 7)) == -1 && errno == EINVAL);
  CHECK(tarn_xalloc_get_class_stats(0, NULL) == -1 && errno == EINVAL);
  CHECK(tarn_xalloc_init(&TARN_XALLOC_OPTIONS()) == 0);
}

/* A heap of the family's own: exact to the byte. */
static void checked(void) {
  CHECK(tarn_xalloc_init(&TARN_XALLOC_OPTIONS(.mode = TARN_MODE_CHECKED)) == 0);
  void* const p = xmalloc(100);
  CHECK(tarn_xalloc_usable_bytes(p) == 100);
  tarn_xalloc_class_stats stats = TARN_XALLOC_CLASS_STATS();
  for (size_t i = 0; tarn_xalloc_get_class_stats(i, &stats) == 0; ++i) {
    CHECK(stats.in_use == (stats.block_bytes == 128));
  }
  void* const q = xrealloc(p, 5000);
  CHECK(q != NULL && tarn_xalloc_usable_bytes(q) == 5000);
  for (size_t i = 0; tarn_xalloc_get_class_stats(i, &stats) == 0; ++i) {
    CHECK(stats.in_use == (stats.block_bytes == 8192));
  }
  xfree(q);
}

static void once_used(void) {
  xfree(xmalloc(1));
  CHECK(tarn_xalloc_init(&TARN_XALLOC_OPTIONS()) == -1 && errno == EBUSY);
}

int main(void) {
  in_child(counted);
  in_child(tuned);
  in_child(wrong);
  in_child(checked);
  in_child(once_used);
  return 0;
}
