/* exec_storm: threads allocate while others start programs by fork, vfork and posix_spawn, and in
 * the end one of many threads replaces the process by exec. Each new program finds a malloc as new,
 * with the environment and descriptors that it was given, and no file of the library's.
 *
 * SPDX-License-Identifier: MIT */
#include <spawn.h>
#include <sys/resource.h>

#include "load.h"

enum { ROUNDS = 200, FILES_MOST = 64 };

extern char** environ;
static char* self;
static load background;

/* What a new program sees. Descriptors 0, 1 and 2 are its own. */
static int be_new(const char* value) {
  CHECK(value != NULL && strcmp(value, "kept") == 0);
  for (int file = 3; file < FILES_MOST; ++file) CHECK(fcntl(file, F_GETFD) == -1);
  load_churn(1, 300, NULL);
  return 0;
}

static pid_t start(size_t round, char* const* words) {
  pid_t child = -1;
  if (round % 3 == 0) {
    child = fork();
  } else if (round % 3 == 1) {
    child = vfork();
  } else {
    CHECK(posix_spawn(&child, self, NULL, NULL, words, environ) == 0);
    return child;
  }
  if (child == 0) {
    (void)execv(self, words);
    _exit(9);
  }
  return child;
}

static void* start_all(void* unused) {
  char* const words[] = {self, "new", NULL};
  for (size_t round = 0; round < ROUNDS; ++round) {
    CHECK(status_of_child(start(round, words)) == 0);
  }
  return unused;
}

/* In a child, whose threads it replaces in the middle of what they do. */
static void replace_many(void) {
  char* const words[] = {self, "new", NULL};
  for (size_t round = 0; round < ROUNDS / 10; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      static load own;
      load_start(&own, 3);
      load_churn(round, 200, own.shared);
      (void)execv(self, words);
      _exit(9);
    }
    CHECK(status_of_child(child) == 0);
  }
}

int main(int argc, char** argv) {
  self = argv[0];
  begin(120);
  if (argc == 2) return be_new(getenv("TARN_TEST_EXEC"));
  for (int file = 3; file < FILES_MOST; ++file) close(file); /* Whoever started this left some. */
  CHECK(setenv("TARN_TEST_EXEC", "kept", 1) == 0);
  pthread_t starters[2];
  load_start(&background, 2);
  for (size_t i = 0; i < 2; ++i) CHECK(pthread_create(&starters[i], NULL, start_all, NULL) == 0);
  for (size_t i = 0; i < 2; ++i) CHECK(pthread_join(starters[i], NULL) == 0);
  load_stop(&background);
  replace_many();
  return 0;
}
