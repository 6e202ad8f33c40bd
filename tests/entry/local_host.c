/* local_host: a C program, with no C++ of its own, that opens C++ modules under RTLD_LOCAL.
 *
 * Usage: local_host MODULE. It runs with libtarn.so preloaded.
 *
 * SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "pattern.h"

typedef int (*sized_call)(size_t size);
typedef int (*plain_call)(void);

static int failures;

static void expect(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "local_host: expected that %s\n", what);
  ++failures;
}

static void* find(void* module, const char* name) {
  void* address = dlsym(module, name);
  if (address == NULL) {
    fprintf(stderr, "local_host: %s\n", dlerror());
    ++failures;
  }
  return address;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fputs("local_host: give the path of one module\n", stderr);
    return 2;
  }
  expect(dlsym(RTLD_DEFAULT, "__cxa_throw") == NULL, "the program starts without libstdc++");
  void* module = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (module == NULL) {
    fprintf(stderr, "local_host: %s\n", dlerror());
    return 2;
  }
  expect(dlsym(RTLD_DEFAULT, "__cxa_throw") == NULL, "the module's libstdc++ stays local");
  sized_call catches = (sized_call)(uintptr_t)find(module, "module_catches");
  sized_call null = (sized_call)(uintptr_t)find(module, "module_null");
  sized_call handler_calls = (sized_call)(uintptr_t)find(module, "module_handler_calls");
  plain_call works = (plain_call)(uintptr_t)find(module, "module_works");
  if (failures != 0) return 1;
  expect(works() == 999, "the module allocates");
  expect(catches(100) == 0, "a modest request succeeds");
  for (int round = 0; round < 100; ++round) {
    expect(catches(opaque(SIZE_MAX - 100)) == 1, "std::bad_alloc reaches the module");
    expect(null(opaque(SIZE_MAX - 100)) == 1, "the nothrow form returns null");
  }
  expect(handler_calls(opaque(SIZE_MAX - 100)) == 1, "the module's new handler is called once");
  expect(dlclose(module) == 0, "the module closes");
  return failures != 0;
}
