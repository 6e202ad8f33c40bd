/* no_descriptors: not one file can be opened (RLIMIT_NOFILE is 0), from the very first allocation
 * of each thread on; allocation, threads and forks need none.
 *
 * SPDX-License-Identifier: MIT */
#include <sys/resource.h>

#include "load.h"

static void* body(void* argument) {
  load_churn((uint64_t)(uintptr_t)argument, 500, NULL);
  return NULL;
}

int main(void) {
  begin(60);
  const struct rlimit none = {0, 0};
  CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
  CHECK(open("/dev/null", O_RDONLY) < 0 && errno == EMFILE);
  for (uintptr_t round = 1; round <= 100; ++round) {
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) {
      CHECK(pthread_create(&threads[i], NULL, body, (void*)(round * 4 + (uintptr_t)i)) == 0);
    }
    for (int i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
    load_churn(round, 500, NULL);
  }
  void* large = malloc((size_t)1 << 30);
  CHECK(large != NULL);
  free(large);
  const pid_t child = fork();
  if (child == 0) {
    load_churn(5, 1000, NULL);
    _exit(0);
  }
  CHECK(status_of_child(child) == 0);
  return 0;
}
