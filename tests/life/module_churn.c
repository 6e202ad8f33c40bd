/* module_churn: dlopen and dlclose, over and over, of C++ code that allocates in its constructors,
 * in its functions, in threads with thread-local objects and in its destructors; blocks outlive it.
 *
 * Usage: module_churn MODULE.
 *
 * SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "check.h"
#include "family.h"
#include "pattern.h"

typedef void* (*make_function)(size_t size);
typedef void (*take_function)(void* block);
typedef void (*plain_function)(void);

static void* run_plain(void* argument) {
  plain_function function;
  memcpy(&function, argument, sizeof function);
  function();
  return NULL;
}

static void* find(void* module, const char* name) {
  void* address = dlsym(module, name);
  CHECK(address != NULL);
  return address;
}

static void run_round(const char* path, size_t round) {
  void* module = dlopen(path, round % 2 == 0 ? RTLD_NOW : RTLD_LAZY | RTLD_GLOBAL);
  if (module == NULL) dprintf(STDERR_FILENO, "%s\n", dlerror());
  CHECK(module != NULL);
  make_function make = (make_function)(uintptr_t)find(module, "module_make");
  take_function take = (take_function)(uintptr_t)find(module, "module_take");
  plain_function use_thread_data =
      (plain_function)(uintptr_t)find(module, "module_use_thread_data");
  void* outliving[20];
  for (size_t i = 0; i < 20; ++i) {
    const size_t size = 10 + i * i * 100;
    outliving[i] = make(size);
    CHECK(outliving[i] != NULL);
    pattern_fill(outliving[i], size, (unsigned)i);
    take(malloc(size));
  }
  pthread_t threads[2];
  for (size_t i = 0; i < 2; ++i) {
    CHECK(pthread_create(&threads[i], NULL, run_plain, &use_thread_data) == 0);
  }
  for (size_t i = 0; i < 2; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(dlclose(module) == 0);
  for (size_t i = 0; i < 20; ++i) {
    CHECK(pattern_holds(outliving[i], 10 + i * i * 100, (unsigned)i));
    free(outliving[i]);
  }
}

int main(int argc, char** argv) {
  begin(90);
  CHECK(argc == 2);
  for (size_t round = 0; round < 50; ++round) run_round(argv[1], round);
  const size_t before = resident_bytes();
  for (size_t round = 0; round < 300; ++round) run_round(argv[1], round);
  CHECK_RESIDENT_BELOW(before + 16 * MEBIBYTE);
  CHECK(dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) == NULL);
  return 0;
}
