/* innocent: the pools and heaps in C, in which nothing is wrong; see innocent.cpp.
 *
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tarn/heap/tlsf.h"
#include "tarn/pool/static_pool.h"

#define NO_LOCK(pool) ((void)(pool))
#define SIZES(X) X(1, 9) X(24, 16) X(100, 4)
TARN_STATIC_POOL(bytes_pool, 1, 70)
TARN_STATIC_POOL_WITH(block_pool, 20, 16, 8, NO_LOCK, NO_LOCK)
TARN_STATIC_POOL_LOCK_FREE(shared_pool, 24, 16, 8)
TARN_STATIC_HEAP(class_heap, SIZES)
TARN_STATIC_TLSF(text_heap, 4096)
TARN_TLSF(region_heap, 8192)

void c_innocent(void);

#define EXPECT(holds) ((holds) ? (void)0 : abort())

#define WORK(name, bytes, ...)                                                           \
  __attribute__((noinline)) static void work_in_##name(struct name* of) {                \
    unsigned char* blocks[200];                                                          \
    for (int round = 0; round < 4; ++round) {                                            \
      int count = 0;                                                                     \
      while (count < 200 && (blocks[count] = name##_allocate(of __VA_ARGS__)) != NULL) { \
        memset(blocks[count++], round, bytes);                                           \
      }                                                                                  \
      EXPECT(count > 0 && name##_check(of));                                             \
      for (int i = round % 2; i < count; i += 2) name##_deallocate(of, blocks[i]);       \
      for (int i = 1 - round % 2; i < count; i += 2) {                                   \
        EXPECT(blocks[i][0] == round && blocks[i][(bytes)-1] == round);                  \
        name##_deallocate(of, blocks[i]);                                                \
      }                                                                                  \
    }                                                                                    \
    memset(name##_allocate(of __VA_ARGS__), 7, bytes);                                   \
  }                                                                                      \
  /* On the stack; in static memory, zeroed and used again; in malloc's. */              \
  __attribute__((noinline)) static void work_on_stack_of_##name(void) {                  \
    struct name local;                                                                   \
    memset(&local, 0, sizeof local);                                                     \
    work_in_##name(&local);                                                              \
  }                                                                                      \
  static void work_with_##name(void) {                                                   \
    static struct name in_bss;                                                           \
    for (int i = 0; i < 3; ++i) {                                                        \
      work_in_##name(&in_bss);                                                           \
      tarn_watch_end(&in_bss, sizeof in_bss);                                            \
      memset(&in_bss, 0, sizeof in_bss);                                                 \
      work_on_stack_of_##name();                                                         \
      work_on_plain_stack();                                                             \
      struct name* const in_heap = calloc(1, sizeof *in_heap);                           \
      work_in_##name(in_heap);                                                           \
      free(in_heap);                                                                     \
      void* const plain = malloc(sizeof(struct name));                                   \
      memset(plain, 1, sizeof(struct name));                                             \
      free(plain);                                                                       \
    }                                                                                    \
  }

/* Where a pool was on the stack there are other things now. */
__attribute__((noinline)) static void work_on_plain_stack(void) {
  volatile unsigned char bytes[9000];
  for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = (unsigned char)i;
  unsigned char copy[sizeof bytes];
  memcpy(copy, (const void*)bytes, sizeof bytes);
  EXPECT(copy[100] == 100 && bytes[200] == 200);
}

WORK(bytes_pool, 1)
WORK(block_pool, 20)
WORK(shared_pool, 24)
WORK(class_heap, 24, , 24, 1)
WORK(text_heap, 30, , 30, 16)

static void realloc_texts(void) {
  static struct text_heap heap;
  char* text = text_heap_allocate(&heap, 1, 1);
  for (size_t n = 1; n < 900; ++n) {
    text[n - 1] = (char)n;
    char* const guard = n % 50 == 0 ? text_heap_allocate(&heap, n % 40, 1) : NULL;
    text = text_heap_reallocate(&heap, text, n + 1, 1);
    text_heap_deallocate(&heap, guard);
    EXPECT(text != NULL && text[0] == 1 && text[n - 1] == (char)n);
  }
  for (void* p = text_heap_next(&heap, NULL); p != NULL; p = text_heap_next(&heap, p)) {
    memset(p, 0, text_heap_block_bytes_of(&heap, p));
  }
  text_heap_deallocate(&heap, text_heap_reallocate(&heap, text, 3, 1));
  EXPECT(text_heap_stats(&heap).blocks == 0 && text_heap_check(&heap));
}

/* A heap over the stack; its memory leaves the scope without a word. */
__attribute__((noinline)) static void region_on_stack(void) {
  unsigned char memory[4000];
  struct region_heap heap;
  memset(&heap, 0, sizeof heap);
  EXPECT(region_heap_add_region(&heap, memory, sizeof memory));
  for (int i = 0; i < 20; ++i) {
    void* const p = region_heap_allocate(&heap, 100, 1);
    memset(p, i, 100);
    if (i % 2 != 0) region_heap_deallocate(&heap, p);
  }
  EXPECT(region_heap_check(&heap));
}

void c_innocent(void) {
  work_with_bytes_pool();
  work_with_block_pool();
  work_with_shared_pool();
  work_with_class_heap();
  work_with_text_heap();
  realloc_texts();
  for (int i = 0; i < 3; ++i) {
    region_on_stack();
    work_on_plain_stack();
  }
}
