/* fork_bare: processes made without the fork handlers (_Fork, the bare system call), on a borrowed
 * address space (vfork), and by the C library (posix_spawn, system, popen), under load.
 *
 * SPDX-License-Identifier: MIT */
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>

#include "load.h"

extern char** environ;

static void child_body(load_block** inherited) {
  alarm(30);
  load_give(*inherited);
  load_churn(3, 2000, NULL);
  const pid_t grandchild = fork();
  if (grandchild == 0) {
    load_churn(4, 500, NULL);
    _exit(0);
  }
  CHECK(status_of_child(grandchild) == 0);
  _exit(0);
}

/* Alone in its process, a thread may allocate after a fork that runs no handlers. */
static void fork_without_handlers(void) {
  uint64_t state = 5;
  for (int turn = 0; turn < 50; ++turn) {
    load_block* inherited = load_take(&state);
    load_churn((uint64_t)turn + 1, 200, NULL);
    pid_t child = _Fork();
    if (child == 0) child_body(&inherited);
    CHECK(status_of_child(child) == 0);
    child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) child_body(&inherited);
    CHECK(status_of_child(child) == 0);
    load_give(inherited);
  }
}

static void borrow_the_address_space(void) {
  char* const arguments[] = {"true", NULL};
  for (volatile int turn = 0; turn < 100; ++turn) {  // A child of vfork runs in this frame.
    const pid_t child = vfork();
    if (child == 0) {
      execve("/bin/true", arguments, environ);
      _exit(127);
    }
    CHECK(status_of_child(child) == 0);
    load_churn((uint64_t)turn + 1, 100, NULL);
  }
}

static void let_the_library_do_it(void) {
  char* const arguments[] = {"true", NULL};
  for (int turn = 0; turn < 50; ++turn) {
    pid_t child = -1;
    CHECK(posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ) == 0);
    CHECK(status_of_child(child) == 0);
    CHECK(system("exit 3") == 3 << 8);
    FILE* stream = popen("echo tarn", "r");
    char line[16] = "";
    CHECK(stream != NULL && fgets(line, sizeof line, stream) != NULL);
    CHECK(strcmp(line, "tarn\n") == 0);
    CHECK(pclose(stream) == 0);
  }
}

int main(void) {
  begin(120);
  fork_without_handlers();
  static load background;
  load_start(&background, 2);
  borrow_the_address_space();
  let_the_library_do_it();
  load_stop(&background);
  return 0;
}
