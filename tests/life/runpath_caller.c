/* runpath_caller: the library in whose RUNPATH the plugin of the runpath test lies.
 *
 * SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef int (*plugin_function)(void);

/* What the plugin answers, or -1 when it is not found. */
__attribute__((visibility("default"))) int runpath_call_plugin(const char* name, int flags,
                                                               int in_base);
int runpath_call_plugin(const char* name, int flags, int in_base) {
  void* plugin = in_base ? dlmopen(LM_ID_BASE, name, flags) : dlopen(name, flags);
  if (plugin == NULL) {
    fprintf(stderr, "runpath_caller: %s\n", dlerror());
    return -1;
  }
  plugin_function answer = (plugin_function)(uintptr_t)dlsym(plugin, "runpath_answer");
  const int result = answer == NULL ? -1 : answer();
  dlclose(plugin);
  return result;
}
