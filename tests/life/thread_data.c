/* thread_data: very large thread-local data, in the program and in a module. A module's data is
 * allocated by the dynamic linker, with malloc, at a thread's first touch; and it is freed after
 * every destructor of the thread has run, the allocator's own included.
 *
 * Usage: thread_data MODULE.
 *
 * SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "check.h"
#include "family.h"
#include "pattern.h"

typedef unsigned char* (*data_function)(size_t* size);

enum { AT_ONCE = 4 };

static _Thread_local unsigned char program_data[8 << 20];
static _Thread_local unsigned char program_text[64] = "initialised";
static data_function module_data;

static void* body(void* unused) {
  size_t size = 0;
  unsigned char* data = module_data(&size);
  CHECK(size == (size_t)4 << 20);
  CHECK(strcmp((char*)data, "the module's") == 0 && data[size - 1] == 0);
  CHECK(strcmp((char*)program_text, "initialised") == 0);
  CHECK(program_data[0] == 0 && program_data[sizeof program_data - 1] == 0);
  memset(data, 1, 4096);
  data[size - 1] = 1;
  program_data[sizeof program_data - 1] = 1;
  free(malloc(500));
  return unused;
}

static void run_round(const pthread_attr_t* attributes) {
  pthread_t threads[AT_ONCE];
  for (int i = 0; i < AT_ONCE; ++i) {
    CHECK(pthread_create(&threads[i], attributes, body, NULL) == 0);
  }
  for (int i = 0; i < AT_ONCE; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(int argc, char** argv) {
  begin(90);
  CHECK(argc == 2);
  void* module = dlopen(argv[1], RTLD_NOW);
  if (module == NULL) dprintf(STDERR_FILENO, "%s\n", dlerror());
  CHECK(module != NULL);
  module_data = (data_function)(uintptr_t)dlsym(module, "module_data");
  CHECK(module_data != NULL);
  pthread_attr_t attributes;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, (size_t)16 << 20) == 0);
  body(NULL);
  for (int round = 0; round < 20; ++round) run_round(&attributes);
  const size_t before = mapped_bytes();
  const size_t resident_before = resident_bytes();
  for (int round = 0; round < 200; ++round) run_round(&attributes);
  CHECK(mapped_bytes() < before + 512 * MEBIBYTE);
  CHECK_RESIDENT_BELOW(resident_before + 48 * MEBIBYTE);
  return 0;
}
