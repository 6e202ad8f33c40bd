/* deepbind: modules opened with RTLD_DEEPBIND share one heap with everything else. Without the
 * flag being cleared, the module's free is the C library's while the blocks that the C library
 * hands it (strdup, getline, asprintf) are tarn's: php crashes that way on every other malloc.
 *
 * Usage: deepbind MODULE.
 *
 * SPDX-License-Identifier: MIT */
#include "check.h"
#include "family.h"
#include "pattern.h"

typedef void* (*make_function)(size_t size);
typedef void (*take_function)(void* block);
typedef char* (*copy_function)(const char* text);
typedef int (*plain_function)(void);
typedef void* (*open_function)(const char* path, int flags);

static void* find(void* module, const char* name) {
  void* address = dlsym(module, name);
  CHECK(address != NULL);
  return address;
}

static void cross_the_boundary(void* module) {
  make_function make = (make_function)(uintptr_t)find(module, "deep_make");
  take_function take = (take_function)(uintptr_t)find(module, "deep_take");
  make_function make_new = (make_function)(uintptr_t)find(module, "deep_make_new");
  take_function take_new = (take_function)(uintptr_t)find(module, "deep_take_new");
  copy_function copy = (copy_function)(uintptr_t)find(module, "deep_copy");
  plain_function use_library = (plain_function)(uintptr_t)find(module, "deep_use_library");
  for (size_t size = 1; size < 1000000; size = size * 2 + 5) {
    void* block = make(size);
    CHECK(block != NULL);
    pattern_fill(block, size, 1);
    block = realloc(block, size * 2);
    CHECK(block != NULL && pattern_holds(block, size, 1));
    free(block);
    take(malloc(size));
    take_new(make_new(size));
    free(make_new(size));
    take_new(malloc(size));
  }
  char* text = copy("across the boundary");
  CHECK(strcmp(text, "across the boundary") == 0);
  free(text);
  take(strdup("the other way"));
  CHECK(use_library() == 0);
}

static void* open_plainly(const char* path, int flags) { return dlopen(path, flags); }
static void* open_in_base(const char* path, int flags) { return dlmopen(LM_ID_BASE, path, flags); }

static void open_and_cross(open_function open_module, const char* path, int flags) {
  void* module = open_module(path, flags);
  if (module == NULL) dprintf(STDERR_FILENO, "%s\n", dlerror());
  CHECK(module != NULL);
  cross_the_boundary(module);
  CHECK(dlclose(module) == 0);
}

/* What dlopen says otherwise must not change because somebody stands before it. */
static void keep_the_rest_of_dlopen(const char* path) {
  CHECK(dlopen("libthere-is-none.so.7", RTLD_NOW | RTLD_DEEPBIND) == NULL);
  const char* message = dlerror();
  CHECK(message != NULL && strstr(message, "libthere-is-none.so.7") != NULL);
  CHECK(dlerror() == NULL);
  void* self = dlopen(NULL, RTLD_NOW);
  CHECK(self != NULL && dlsym(self, "main") == dlsym(RTLD_DEFAULT, "main"));
  CHECK(dlclose(self) == 0);
  CHECK(dlopen(path, RTLD_NOW | RTLD_NOLOAD | RTLD_DEEPBIND) == NULL);
  (void)dlerror();
  CHECK(dlopen(path, 0) == NULL);
  CHECK(dlerror() != NULL);
}

/* A new namespace has a C library, and so a heap, of its own: what stays inside works. */
static void open_a_namespace(const char* path) {
  void* module = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
  if (module == NULL) dprintf(STDERR_FILENO, "%s\n", dlerror());
  CHECK(module != NULL);
  plain_function use_library = (plain_function)(uintptr_t)find(module, "deep_use_library");
  make_function make = (make_function)(uintptr_t)find(module, "deep_make");
  take_function take = (take_function)(uintptr_t)find(module, "deep_take");
  CHECK(use_library() == 0);
  take(make(5000));
  CHECK(dlclose(module) == 0);
}

int main(int argc, char** argv) {
  begin(60);
  CHECK(argc == 2);
  keep_the_rest_of_dlopen(argv[1]);
  open_and_cross(open_plainly, argv[1], RTLD_NOW | RTLD_DEEPBIND);
  open_and_cross(open_plainly, argv[1], RTLD_LAZY | RTLD_DEEPBIND);
  open_and_cross(open_in_base, argv[1], RTLD_NOW | RTLD_DEEPBIND);
  open_a_namespace(argv[1]);
  open_and_cross(open_plainly, argv[1], RTLD_NOW | RTLD_GLOBAL | RTLD_DEEPBIND);
  return 0;
}
