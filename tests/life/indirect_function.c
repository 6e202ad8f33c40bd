/* indirect_function: allocation from the resolver of an indirect function, which the dynamic linker
 * calls while it still relocates the program: no constructor of any library has run, and the
 * initial values of thread-local data are not in place yet.
 *
 * SPDX-License-Identifier: MIT */
#include "check.h"
#include "family.h"
#include "pattern.h"

static void* resolver_blocks[40];

static int answer_body(void) { return 42; }

__attribute__((used)) static int (*resolve_answer(void))(void) {
  for (size_t i = 0; i < 40; ++i) {
    resolver_blocks[i] = malloc(i * i * 30 + 8);
    if (resolver_blocks[i] != NULL) pattern_fill(resolver_blocks[i], i * i * 30 + 8, 3);
    free(malloc(i * 40 + 1));
  }
  return answer_body;
}

int answer(void) __attribute__((ifunc("resolve_answer")));

int main(void) {
  begin(30);
  CHECK(answer() == 42);
  void* later[1000];
  for (size_t i = 0; i < 1000; ++i) {
    later[i] = malloc(i + 1);
    CHECK(later[i] != NULL);
    memset(later[i], 0x77, i + 1);
  }
  for (size_t i = 0; i < 40; ++i) {
    CHECK(resolver_blocks[i] != NULL);
    CHECK(pattern_holds(resolver_blocks[i], i * i * 30 + 8, 3));
    free(resolver_blocks[i]);
  }
  for (size_t i = 0; i < 1000; ++i) free(later[i]);
  return 0;
}
