/* crimes: uses blocks of a pool or heap of some kind wrongly, for tools to find.
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kinds.h"
#include "tarn/heap/tlsf.h"
#include "tarn/pool/array_pool.h"
#include "tarn/pool/static_pool.h"

#define NO_LOCK(pool) ((void)(pool))
#define SIZES(X) X(24, 16) X(96, 4)
TARN_STATIC_POOL_WITH(block_pool, 20, 16, 8, NO_LOCK, NO_LOCK)
TARN_STATIC_POOL_LOCK_FREE(shared_pool, 20, 16, 8)
TARN_STATIC_HEAP(class_heap, SIZES)
TARN_STATIC_TLSF(text_heap, 4096)

static struct block_pool c_static_pool;
static struct shared_pool c_lock_free_pool;
static struct class_heap c_static_heap;
static struct text_heap c_tlsf;
static tarn_array_pool c_array_pool;
static uint64_t c_notes[100];
static uint64_t c_frames[3 * 16];

static void* take_static(void) { return block_pool_allocate(&c_static_pool); }
static void give_static(void* p) { block_pool_deallocate(&c_static_pool, p); }
static void* take_lock_free(void) { return shared_pool_allocate(&c_lock_free_pool); }
static void give_lock_free(void* p) { shared_pool_deallocate(&c_lock_free_pool, p); }
static void* take_heap(void) { return class_heap_allocate(&c_static_heap, 20, 1); }
static void give_heap(void* p) { class_heap_deallocate(&c_static_heap, p); }
static void* take_tlsf(void) { return text_heap_allocate(&c_tlsf, 20, 1); }
static void give_tlsf(void* p) { text_heap_deallocate(&c_tlsf, p); }
static void give_array(void* p) { tarn_array_pool_deallocate(&c_array_pool, p); }
static void* take_array(void) {
  if (c_array_pool.region == NULL) {
    if (tarn_array_pool_format(c_notes, sizeof c_notes, 16, 24, TARN_ARRAY_EXACT) != 0 ||
        tarn_array_pool_attach(&c_array_pool, c_notes, sizeof c_notes, c_frames, sizeof c_frames) !=
            0) {
      return NULL;
    }
    tarn_array_pool_watch(&c_array_pool);
  }
  return tarn_array_pool_allocate(&c_array_pool);
}

static const struct kind c_kinds[] = {{"c_static_pool", take_static, give_static, 20},
                                      {"c_lock_free_pool", take_lock_free, give_lock_free, 20},
                                      {"c_static_heap", take_heap, give_heap, 24},
                                      {"c_frames", take_array, give_array, 24},
                                      {"c_tlsf", take_tlsf, give_tlsf, 20}};

static void use_after_free(const struct kind* kind) {
  volatile char* const p = kind->allocate();
  void* const q = kind->allocate();
  kind->deallocate((void*)p);
  p[0] = 1;
  kind->deallocate(q);
}

static void use_in_the_middle(const struct kind* kind) {
  volatile char* const p = kind->allocate();
  void* const q = kind->allocate();
  kind->deallocate((void*)p);
  printf("%d\n", p[13]);
  kind->deallocate(q);
}

/* Into what is left of the block's place, or the next block, which is free. */
static void overrun(const struct kind* kind) {
  volatile char* const p = kind->allocate();
  void* const q = kind->allocate();
  void* const r = kind->allocate();
  kind->deallocate(q);
  p[kind->bytes] = 1;
  kind->deallocate(r);
}

static void neighbour(const struct kind* kind) {
  volatile char* const p = kind->allocate();
  volatile char* const q = kind->allocate();
  void* const r = kind->allocate();
  kind->deallocate((void*)q);
  p[q - p] = 1;
  kind->deallocate(r);
}

static void fresh(const struct kind* kind) {
  volatile char* const p = kind->allocate();
  p[9 * 24 + 1] = 1;
}

static void uninitialised(const struct kind* kind) {
  volatile char* const first = kind->allocate();
  memset((void*)first, 7, kind->bytes);
  kind->deallocate((void*)first);
  const volatile char* const p = kind->allocate();
  if (p[3] == 7) puts("seven");
}

static void free_twice(const struct kind* kind) {
  void* const p = kind->allocate();
  kind->deallocate(p);
  kind->deallocate(p);
}

static void named(const struct kind* kind) {
  volatile char* const p = kind->allocate();
  const uintptr_t name = tarn_watch_name((const void*)p, 24, "pool of orders");
  kind->deallocate((void*)p);
  p[1] = 1;
  tarn_watch_forget(name);
  p[2] = 1;
}

static const struct crime {
  const char* name;
  void (*commit)(const struct kind*);
} crimes[] = {{"use-after-free", use_after_free},
              {"use-in-the-middle", use_in_the_middle},
              {"overrun", overrun},
              {"neighbour", neighbour},
              {"fresh", fresh},
              {"uninitialised", uninitialised},
              {"double-free", free_twice},
              {"named", named}};

static const struct kind* kind_of(const char* name) {
  for (size_t i = 0; i < sizeof c_kinds / sizeof c_kinds[0]; ++i) {
    if (strcmp(name, c_kinds[i].name) == 0) return &c_kinds[i];
  }
  for (size_t i = 0; i < cpp_kind_count; ++i) {
    if (strcmp(name, cpp_kinds[i].name) == 0) return &cpp_kinds[i];
  }
  return NULL;
}

/* In a process of its own, since it ends that; what it says stands between two lines. */
static int commit(const struct crime* crime, const struct kind* kind) {
  fprintf(stderr, "--- begin %s\n", crime->name);
  const pid_t child = fork();
  if (child == 0) {
    crime->commit(kind);
    exit(0); /* A tool may end it otherwise. */
  }
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) != child) return 2;
  fprintf(stderr, "--- end %s: %s\n", crime->name, status == 0 ? "well" : "badly");
  return 0;
}

/* crimes KIND CRIME... */
int main(int argc, char** argv) {
  const struct kind* const kind = argc < 3 ? NULL : kind_of(argv[1]);
  if (kind == NULL) return 2;
  for (int at = 2; at < argc; ++at) {
    size_t i = 0;
    while (i < sizeof crimes / sizeof crimes[0] && strcmp(argv[at], crimes[i].name) != 0) ++i;
    if (i == sizeof crimes / sizeof crimes[0] || commit(&crimes[i], kind) != 0) return 2;
  }
  return 0;
}
