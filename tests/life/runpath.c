/* runpath: dlopen of a bare name is found through the RUNPATH of the library that calls it, whoever
 * stands between that library and the C library's dlopen.
 *
 * Usage: runpath CALLER PLUGIN. CALLER is a library whose RUNPATH leads to PLUGIN, a bare name that
 * this program itself cannot find.
 *
 * SPDX-License-Identifier: MIT */
#include <stdint.h>

#include "check.h"

typedef int (*call_plugin_function)(const char* name, int flags, int in_base);

int main(int argc, char** argv) {
  begin(30);
  CHECK(argc == 3);
  CHECK(dlopen(argv[2], RTLD_NOW) == NULL);
  CHECK(dlopen(argv[2], RTLD_NOW | RTLD_DEEPBIND) == NULL);
  void* caller = dlopen(argv[1], RTLD_NOW);
  if (caller == NULL) dprintf(STDERR_FILENO, "%s\n", dlerror());
  CHECK(caller != NULL);
  call_plugin_function call_plugin =
      (call_plugin_function)(uintptr_t)dlsym(caller, "runpath_call_plugin");
  CHECK(call_plugin != NULL);
  for (int in_base = 0; in_base < 2; ++in_base) {
    CHECK(call_plugin(argv[2], RTLD_NOW, in_base) == 77);
    CHECK(call_plugin(argv[2], RTLD_LAZY, in_base) == 77);
    CHECK(call_plugin(argv[2], RTLD_NOW | RTLD_DEEPBIND, in_base) == 77);
  }
  CHECK(dlopen(argv[2], RTLD_NOW) == NULL);
  return 0;
}
