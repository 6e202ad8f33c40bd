/* S2's own program: every name of unalloc.h in C, and every fault of the source that must not come
 * back. Compiled with include/tarn/compat as its only path of the project's. The heap is made once
 * in a process, so what must come before runs in children.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "unalloc.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../heap/heap.h"
#include "check.h"

size_t tarn_malloc_usable_size(const void* p); /* Of heap/malloc.h. */
void tarn_free(void* p);
void* tarn_malloc(size_t size);

static void* volatile kept; /* What the compiler must not know. */

/* Before main: a block that lives until after it. */
static char* early;
static __attribute__((constructor)) void take_early(void) {
  if (getenv("UNALLOC_LATE") != NULL) return;
  early = unalloc(100);
  memcpy(early, "early", 6);
}
static __attribute__((destructor)) void give_early(void) {
  if (early != NULL) CHECK(memcmp(early, "early", 6) == 0);
  unfree(early);
  unfree(unalloc(10));
}

static void every_name(void) {
  char* p = unalloc(10);
  CHECK(p != NULL && (uintptr_t)p % 16 == 0);
  memcpy(p, "unalloc.", 9);
  p = unrealloc(p, 4000);
  CHECK(p != NULL && memcmp(p, "unalloc.", 9) == 0);
  unfree(p);
  unsigned char* const zeroed = uncalloc(100, 30);
  CHECK(zeroed != NULL);
  for (int i = 0; i < 3000; ++i) CHECK(zeroed[i] == 0);
  unfree(zeroed);
  unfree(NULL);
  p = unrealloc(NULL, 50);
  CHECK(p != NULL && tarn_malloc_usable_size(p) == 64);
  CHECK(unrealloc(p, 0) == NULL);
}

/* The source put its header into the block: 2^n bytes took 2^(n+1). */
static void powers_of_two_take_themselves(void) {
  for (size_t bytes = 16; bytes <= 128 * 1024; bytes *= 2) {
    void* const p = unalloc(bytes);
    CHECK(p != NULL && tarn_malloc_usable_size(p) == bytes);
    void* const below = unalloc(bytes / 2 + 1);
    CHECK(below != NULL && tarn_malloc_usable_size(below) == bytes);
    unfree(p);
    unfree(below);
  }
  void* const large = unalloc(128 * 1024 + 1); /* Beyond the classes: whole pages. */
  CHECK(large != NULL && tarn_malloc_usable_size(large) == 132 * 1024);
  memset(large, 1, 128 * 1024 + 1);
  unfree(large);
}

static void nothing_is_a_block(void) {
  char* const p = unalloc(0);
  char* const q = unalloc(0);
  CHECK(p != NULL && q != NULL && p != q && (uintptr_t)p % 16 == 0);
  char* const grown = unrealloc(p, 8);
  CHECK(grown == p);
  memset(grown, 7, 8);
  unfree(grown);
  unfree(q);
  for (int i = 0; i < 2; ++i) {
    kept = (void*)(i == 0 ? SIZE_MAX : 0);
    const size_t count = (size_t)kept;
    kept = (void*)(i == 0 ? 0 : SIZE_MAX);
    void* const none = uncalloc(count, (size_t)kept);
    CHECK(none != NULL);
    unfree(none);
  }
}

/* S2.3, upwards and downwards, in each class. */
static void realloc_stays_while_the_class_holds(void) {
  for (size_t bytes = 16; bytes <= 128 * 1024; bytes *= 2) {
    char* const p = unalloc(bytes / 2 + 1);
    CHECK(p != NULL);
    memset(p, (int)(bytes % 251), bytes);
    const size_t sizes[] = {bytes, bytes - 1, bytes / 2, 1, bytes / 2 + 1, 17, 16};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
      if (sizes[i] <= bytes) CHECK(unrealloc(p, sizes[i]) == p);
    }
    for (size_t i = 0; i < bytes; ++i) CHECK(p[i] == (char)(bytes % 251));
    char* const moved = unrealloc(p, bytes + 1);
    CHECK(moved != NULL && moved != p);
    for (size_t i = 0; i < bytes; ++i) CHECK(moved[i] == (char)(bytes % 251));
    unfree(moved);
  }
}

static void overflow_and_too_much_are_null(void) {
  char* const p = unalloc(100);
  CHECK(p != NULL);
  memset(p, 3, 100);
  const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 3, SIZE_MAX - 15, SIZE_MAX - 4096,
                          (size_t)PTRDIFF_MAX + 1};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    kept = (void*)sizes[i];
    errno = 0;
    CHECK(unalloc((size_t)kept) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(unrealloc(p, (size_t)kept) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(uncalloc(1, (size_t)kept) == NULL && errno == ENOMEM);
  }
  kept = (void*)(SIZE_MAX / 2 + 2);
  errno = 0;
  CHECK(uncalloc((size_t)kept, 2) == NULL && errno == ENOMEM); /* 2 after it has wrapped. */
  errno = 0;
  CHECK(uncalloc(2, (size_t)kept) == NULL && errno == ENOMEM);
  kept = (void*)((size_t)1 << 32);
  errno = 0;
  CHECK(uncalloc((size_t)kept, (size_t)kept) == NULL && errno == ENOMEM); /* 0 then. */
  for (int i = 0; i < 100; ++i) CHECK(p[i] == 3);
  errno = 5;
  unfree(p);
  CHECK(errno == 5);
}

static void zeroed_memory_is_zero_again(void) {
  for (size_t bytes = 24; bytes < 600000; bytes = bytes * 3 + 1) {
    for (int turn = 0; turn < 3; ++turn) {
      unsigned char* const p = uncalloc(bytes, 1);
      CHECK(p != NULL);
      const size_t usable = tarn_malloc_usable_size(p);
      CHECK(usable >= bytes);
      for (size_t i = 0; i < usable; ++i) CHECK(p[i] == 0);
      memset(p, 0xff, usable);
      unfree(p);
    }
  }
}

/* What was freed is taken again (S2.2), in whatever class. */
static void freed_memory_is_taken_again(void) {
  static char* blocks[600];
  static uintptr_t pages[200]; /* Of the 300 * 600 * 64 bytes that are asked for: 800 KiB. */
  int count = 0;
  for (int turn = 0; turn < 300; ++turn) {
    for (int i = 0; i < 600; ++i) {
      CHECK((blocks[i] = unalloc(33 + (size_t)turn % 32)) != NULL);
      blocks[i][0] = (char)i;
      int at = 0;
      while (at < count && pages[at] != (uintptr_t)blocks[i] >> 12) ++at;
      CHECK(at < 200);
      pages[at] = (uintptr_t)blocks[i] >> 12;
      count = at == count ? count + 1 : count;
    }
    for (int i = 0; i < 600; ++i) unfree(blocks[(i * 7 + turn) % 600]);
  }
}

static void others_blocks_are_taken(void) {
  char* const from_malloc = tarn_malloc(20);
  CHECK(from_malloc != NULL);
  memset(from_malloc, 9, 20);
  char* const p = unrealloc(from_malloc, 5000);
  CHECK(p != NULL && p[19] == 9 && tarn_malloc_usable_size(p) == 8192);
  tarn_free(p);
}

static void out_of_memory_changes_nothing(void) {
  void* blocks[64] = {0};
  char* const p = unalloc(64);
  CHECK(p != NULL);
  memset(p, 4, 64);
  int n = 0;
  while (n < 64 && (blocks[n] = unalloc((size_t)1 << 28)) != NULL) ++n;
  CHECK(n < 64 && errno == ENOMEM);
  errno = 0;
  CHECK(unrealloc(p, (size_t)1 << 28) == NULL && errno == ENOMEM);
  for (int i = 0; i < 64; ++i) CHECK(p[i] == 4);
  while (n != 0) unfree(blocks[--n]);
  unfree(p);
}

/* Without a heap, and without memory for one, unrealloc to nothing is a free all the same. */
static void nothing_frees_without_a_heap(void) {
  void* const p = tarn_malloc(500000);
  CHECK(p != NULL);
  const struct rlimit limit = {1 << 20, 1 << 20};
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  while ((kept = tarn_malloc(300000)) != NULL) continue;
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  while (tarn_heap_create(&options).record != NULL) continue;
  CHECK(unalloc(10) == NULL && errno == ENOMEM);
  CHECK(unrealloc(NULL, 10) == NULL && errno == ENOMEM);
  errno = 5;
  CHECK(unrealloc(p, 0) == NULL && errno == 5);
  CHECK((kept = tarn_malloc(300000)) != NULL); /* Where p was. */
}

static void* work(void* at) {
  void** const box = at;
  for (unsigned i = 0, bits = 1; i < 20000; ++i) {
    bits = bits * 1664525u + 1013904223u;
    const size_t bytes = (bits >> 16 & 0x7fff) >> (bits >> 28);
    unsigned char* const p = unalloc(bytes + 1);
    CHECK(p != NULL);
    p[0] = 1;
    p[bytes] = 1;
    unfree(__atomic_exchange_n(&box[bits >> 10 & 63], p, __ATOMIC_ACQ_REL)); /* Another's, maybe. */
  }
  return NULL;
}

static void* take_first(void* at) {
  pthread_barrier_wait(at);
  void* const p = unalloc(40);
  CHECK(p != NULL && tarn_malloc_usable_size(p) == 64);
  return p;
}

/* All of them make the first block at the same time: there is one heap. */
static void first_use_by_threads(void) {
  pthread_t threads[4];
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, NULL, 4);
  for (int i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], NULL, take_first, &barrier) == 0);
  for (int i = 0; i < 4; ++i) {
    void* p = NULL;
    pthread_join(threads[i], &p);
    CHECK(p != NULL);
    unfree(p);
  }
  static void* box[64];
  for (int i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], NULL, work, box) == 0);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 64; ++i) unfree(box[i]);
}

static void chosen_too_late(void) {
  errno = 0;
  CHECK(tarn_unalloc_use_steps(4) == -1 && errno == EBUSY);
  const size_t table[] = {32, 96};
  errno = 0;
  CHECK(tarn_unalloc_use_classes(table, 2) == -1 && errno == EBUSY);
  void* const p = unalloc(1);
  CHECK(p != NULL && tarn_malloc_usable_size(p) == 16);
  unfree(p);
}

static void chosen_steps(void) {
  errno = 0;
  CHECK(tarn_unalloc_use_steps(0) == -1 && errno == EINVAL);
  CHECK(tarn_unalloc_use_steps(65) == -1 && errno == EINVAL);
  CHECK(tarn_unalloc_use_steps(13) == -1 && errno == ENOSPC);
  errno = 5;
  CHECK(tarn_unalloc_use_steps(4) == 0 && errno == 5);
  const size_t asked[] = {1, 65, 81, 129, 161, 1025, 1281, 65537, 128 * 1024};
  const size_t given[] = {16, 80, 96, 160, 192, 1280, 1536, 81920, 128 * 1024};
  for (size_t i = 0; i < sizeof asked / sizeof *asked; ++i) {
    void* const p = unalloc(asked[i]);
    CHECK(p != NULL && tarn_malloc_usable_size(p) == given[i]);
    unfree(p);
  }
  CHECK(tarn_unalloc_use_steps(4) == -1 && errno == EBUSY);
}

static void chosen_table(void) {
  const size_t sizes[] = {16, 400, 20000};
  CHECK(tarn_unalloc_use_classes(NULL, 0) == -1 && errno == EINVAL);
  CHECK(tarn_unalloc_use_classes(sizes, 0) == -1 && errno == EINVAL);
  CHECK(tarn_unalloc_use_classes(sizes, 3) == 0);
  const size_t asked[] = {17, 400, 401};
  const size_t given[] = {400, 400, 20000};
  for (size_t i = 0; i < 3; ++i) {
    void* const p = unalloc(asked[i]);
    CHECK(p != NULL && tarn_malloc_usable_size(p) == given[i]);
    unfree(p);
  }
}

static void refused_tables(void) {
  const size_t tables[][2] = {{32, 32}, {64, 32}, {0, 32}, {40, 64}, {16, 128 * 1024 + 16}};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; ++i) {
    errno = 0;
    CHECK(tarn_unalloc_use_classes(tables[i], 2) == -1 && errno == EINVAL);
  }
  static size_t many[129];
  for (size_t i = 0; i < 129; ++i) many[i] = 16 * (i + 1);
  CHECK(tarn_unalloc_use_classes(many, 129) == -1 && errno == ENOSPC);
  CHECK(tarn_unalloc_use_classes(many, 128) == 0); /* All that was refused left it open. */
}

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

/* Of the blocks of each class the one that was freed last is the next one, whatever came between.
 */
static void last_in_first_out(void) {
  for (size_t bytes = 1; bytes <= 128 * 1024; bytes = bytes * 3 + 1) {
    char* blocks[100];
    void* other = unalloc(bytes <= 400 ? 100000 : 16);
    for (int i = 0; i < 100; ++i) {
      blocks[i] = unalloc(bytes);
      CHECK(blocks[i] != NULL);
      blocks[i][0] = (char)i;
    }
    for (int i = 0; i < 100; ++i) unfree(blocks[(i * 7) % 100]);
    unfree(other);
    for (int i = 99; i >= 0; --i)
      CHECK((i % 2 ? unalloc(bytes) : uncalloc(1, bytes)) == blocks[(i * 7) % 100]);
    for (int i = 0; i < 100; ++i) unfree(blocks[i]);
  }
  void* const large = unalloc(1 << 20); /* Beyond the classes. */
  unfree(large);
  char* p = unalloc(100);
  memcpy(p, "contents", 9);
  p = unrealloc(p, 1000);
  CHECK(memcmp(p, "contents", 9) == 0);
  CHECK(unrealloc(p, 0) == NULL && unalloc(1000) == p);
  unfree(p);
}

/* What a thread has stacked goes back to the heap when it ends; another thread's blocks to their
 * pages. */
static void* stack_and_end(void* theirs) {
  void* mine[64];
  unfree(theirs);
  for (int i = 0; i < 64; ++i) CHECK((mine[i] = unalloc(500)) != NULL);
  for (int i = 0; i < 64; ++i) unfree(mine[i]);
  CHECK(unalloc(500) == mine[63]);
  unfree(mine[63]);
  return NULL;
}
static void stacked_by_threads(void) {
  void* const p = unalloc(500);
  const tarn_heap heap = tarn_heap_of(p);
  tarn_heap_stats before = TARN_HEAP_STATS(), after = TARN_HEAP_STATS();
  CHECK(tarn_heap_get_stats(heap, &before) == 0);
  for (int round = 0; round < 20; ++round) {
    pthread_t thread;
    void* const given = unalloc(500);
    CHECK(pthread_create(&thread, NULL, stack_and_end, given) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
  CHECK(tarn_heap_get_stats(heap, &after) == 0 && after.live_blocks <= before.live_blocks);
  unfree(p);
}

static void lifo(void) {
  last_in_first_out();
  stacked_by_threads();
  in_child(last_in_first_out);
  errno = 0;
  CHECK(tarn_unalloc_use_lifo(0) == -1 && errno == EBUSY);
}

static void chosen_lifo(void) {
  const size_t table[] = {16, 400, 20000, 128 * 1024};
  errno = 5;
  CHECK(tarn_unalloc_use_lifo(0) == 0 && tarn_unalloc_use_lifo(1) == 0 && errno == 5);
  CHECK(tarn_unalloc_use_classes(table, 4) == 0);
  lifo();
}
static void chosen_no_lifo(void) { /* Against the options. */
  CHECK(tarn_unalloc_use_lifo(0) == 0);
  void* blocks[2];
  int same = 0;
  for (int round = 0; round < 1000; ++round) { /* Pages hand out what they have in stock first. */
    for (int i = 0; i < 2; ++i) blocks[i] = unalloc(500);
    unfree(blocks[0]);
    unfree(blocks[1]);
    void* const p = unalloc(500);
    same += p == blocks[1];
    unfree(p);
  }
  CHECK(same < 1000);
}

static void from_options(void) {
  void* const p = unalloc(1025);
  CHECK(p != NULL && tarn_malloc_usable_size(p) == 1280);
  unfree(p);
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "steps") == 0) { /* Under TARN_OPTIONS=unalloc_steps=4. */
    in_child(chosen_table);
    from_options();
    return 0;
  }
  if (argc > 1 && strcmp(argv[1], "lifo") == 0) { /* Under TARN_OPTIONS=unalloc_lifo=1. */
    in_child(chosen_lifo);
    in_child(chosen_no_lifo);
    lifo();
    return 0;
  }
  if (argc > 1 && strcmp(argv[1], "little") == 0) { /* Under a limit of address space. */
    const struct rlimit limit = {(rlim_t)3 << 30, (rlim_t)3 << 30};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    out_of_memory_changes_nothing();
    return 0;
  }
  if (argc > 1 && strcmp(argv[1], "none") == 0) {
    nothing_frees_without_a_heap();
    return 0;
  }
  if (getenv("UNALLOC_LATE") != NULL) { /* Nothing has been taken yet. */
    in_child(chosen_steps);
    in_child(chosen_table);
    in_child(refused_tables);
    first_use_by_threads();
    in_child(every_name);
    return 0;
  }
  CHECK(early != NULL);
  every_name();
  powers_of_two_take_themselves();
  nothing_is_a_block();
  realloc_stays_while_the_class_holds();
  overflow_and_too_much_are_null();
  zeroed_memory_is_zero_again();
  freed_memory_is_taken_again();
  others_blocks_are_taken();
  chosen_too_late();
  in_child(every_name);
  in_child(first_use_by_threads);
  return 0;
}
