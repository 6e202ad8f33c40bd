/* family: the promises of the malloc family as a C program sees them, without any C++ at all.
 *
 * It is linked with libtarn.so, linked statically with libtarn.a by the C compiler alone, and
 * built on the tarn_ names. The details are in the C++ tests beside it; this one shows that C
 * needs nothing else.
 *
 * SPDX-License-Identifier: MIT */
#include "family.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pattern.h"

static int failures;

#define EXPECT(condition)                                                      \
  do {                                                                         \
    if (!(condition)) {                                                        \
      ++failures;                                                              \
      fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
    }                                                                          \
  } while (0)

static void test_blocks(void) {
  for (size_t size = 1; size < 3000000; size += size / 5 + 1) {
    unsigned char* block = FAMILY(malloc)(size);
    EXPECT(block != NULL && FAMILY(malloc_usable_size)(block) >= size);
    EXPECT(is_aligned(block, size >= 16 ? 16 : 1));
    pattern_fill(block, size, 1);
    block = FAMILY(realloc)(block, size * 2);
    EXPECT(block != NULL && pattern_holds(block, size, 1));
    FAMILY(free)(block);
    block = FAMILY(calloc)(size, 1);
    EXPECT(block != NULL && block[0] == 0 && memcmp(block, block + 1, size - 1) == 0);
    FAMILY(free_sized)(block, size);
  }
}

static void test_failures(void) {
  const size_t huge = opaque(SIZE_MAX - 100);
  void* block = NULL;
  errno = 0;
  EXPECT(FAMILY(malloc)(huge) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(FAMILY(calloc)(huge, 2) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(FAMILY(realloc)(NULL, huge) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(FAMILY(reallocarray)(NULL, huge, 3) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(FAMILY(memalign)(64, huge) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(FAMILY(valloc)(huge) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(FAMILY(pvalloc)(huge) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(FAMILY(aligned_alloc)(64, huge) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(FAMILY(aligned_alloc)(opaque(24), 64) == NULL && errno == EINVAL);
  block = &failures;
  EXPECT(FAMILY(posix_memalign)(&block, 64, huge) == ENOMEM && block == (void*)&failures);
  EXPECT(FAMILY(posix_memalign)(&block, opaque(24), 1) == EINVAL && block == (void*)&failures);
}

static void test_alignment(void) {
  for (size_t alignment = 8; alignment <= 1 << 20; alignment *= 2) {
    void* block = NULL;
    EXPECT(FAMILY(posix_memalign)(&block, alignment, 100) == 0 && is_aligned(block, alignment));
    FAMILY(free)(block);
    block = FAMILY(aligned_alloc)(alignment, 2 * alignment);
    EXPECT(block != NULL && is_aligned(block, alignment));
    FAMILY(free_aligned_sized)(block, alignment, 2 * alignment);
  }
}

static void test_zero(void) {
  void* block = FAMILY(malloc)(opaque(0));
  EXPECT(block != NULL);
  EXPECT(FAMILY(realloc)(block, opaque(0)) == NULL);
  errno = 77;
  FAMILY(free)(NULL);
  EXPECT(errno == 77);
}

static void* fill_blocks(void* argument) {
  void** blocks = argument;
  for (size_t i = 0; i < 1000; ++i) {
    blocks[i] = FAMILY(malloc)(i + 1);
    if (blocks[i] != NULL) pattern_fill(blocks[i], i + 1, 2);
  }
  return NULL;
}

static void test_threads(void) {
  static void* blocks[1000];
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, fill_blocks, blocks) == 0);
  EXPECT(pthread_join(thread, NULL) == 0);
  for (size_t i = 0; i < 1000; ++i) {
    EXPECT(blocks[i] != NULL && pattern_holds(blocks[i], i + 1, 2));
    FAMILY(free)(blocks[i]);
  }
}

static void test_fork(void) {
  char* block = FAMILY(malloc)(1000);
  EXPECT(block != NULL);
  const pid_t child = fork();
  if (child == 0) {
    FAMILY(free)(block);
    block = FAMILY(calloc)(1000, 1000);
    _exit(block == NULL);
  }
  int status = -1;
  EXPECT(child > 0 && waitpid(child, &status, 0) == child && status == 0);
  FAMILY(free)(block);
}

#ifndef TARN_PREFIXED
static void test_statistics(void) {
  void* block = malloc(2000000);
  const struct mallinfo2 info = mallinfo2();
  EXPECT(info.uordblks + info.hblkhd >= 2000000);
  EXPECT(mallopt(M_TRIM_THRESHOLD, 1 << 20) == 1);
  EXPECT(malloc_info(0, stdout) == 0);
  free(block);
  EXPECT(malloc_trim(0) >= 0);
}
#else
static void test_statistics(void) { EXPECT(tarn_version() != NULL); }
#endif

int main(void) {
  test_blocks();
  test_failures();
  test_alignment();
  test_zero();
  test_threads();
  test_fork();
  test_statistics();
  if (failures == 0) puts("family: every promise held");
  return failures != 0;
}
