/* background_purge fork|vfork|exit|refused|signals: the thread that purges while the program
 * sleeps, asked for in TARN_OPTIONS.
 *
 *   fork      the child of a fork has none, and makes its own when it allocates; again and again
 *   vfork     nor has that of a vfork, whose memory is its parent's: it makes none
 *   exit      processes end while it is at work, from main and from other threads
 *   refused   the system refuses threads: the program goes on without
 *   signals   it takes none of the program's signals
 *
 * SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "peak.h"

static const size_t used_bytes = 64 * MEBIBYTE;

/* Of the process's threads that are called so. */
static int purgers(void) {
  char path[64];
  char name[32];
  int found = 0;
  DIR* const tasks = opendir("/proc/self/task");
  CHECK(tasks != NULL);
  for (struct dirent* task = readdir(tasks); task != NULL; task = readdir(tasks)) {
    if (task->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "/proc/self/task/%.16s/comm", task->d_name);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? 0 : read(file, name, sizeof name - 1);
    if (file >= 0) close(file);
    name[length < 0 ? 0 : length] = '\0';
    found += strcmp(name, "tarn-purge\n") == 0;
  }
  closedir(tasks);
  return found;
}

static void use_and_free(void) { peak_free(peak_fill(used_bytes, 400, 50)); }

/* No call of malloc here. */
static bool purged_asleep(void) {
  for (int i = 0; i < 200; ++i) {
    if (resident_bytes() < used_bytes / 4) return true;
    usleep(50000);
  }
  return false;
}

static void expect_in_children(int generations) {
  use_and_free();
  CHECK(purgers() == 1);
  CHECK(purged_asleep());
  if (generations == 0) return;
  use_and_free(); /* It is at work, or about to be. */
  const pid_t child = fork();
  if (child == 0) {
    CHECK(purgers() == 0);
    expect_in_children(generations - 1);
    exit(0);
  }
  CHECK(status_of_child(child) == 0);
}

static void expect_none_of_a_vfork(void) {
  const pid_t child = vfork();
  if (child == 0) {
    for (int i = 0; i < 100; ++i) free(peak_take(300000));
    _exit(0);
  }
  CHECK(status_of_child(child) == 0);
  use_and_free();
  CHECK(purgers() == 1);
  CHECK(purged_asleep());
}

static void* leave(void* argument) {
  use_and_free();
  exit(0);
  return argument;
}

static void expect_to_end(void) {
  for (int i = 0; i < 40; ++i) {
    const pid_t child = fork();
    if (child != 0) {
      CHECK(status_of_child(child) == 0);
      continue;
    }
    alarm(20);
    pthread_t thread;
    if (i % 2 == 1) {
      CHECK(pthread_create(&thread, NULL, leave, NULL) == 0);
      for (;;) pause();
    }
    use_and_free();
    usleep((useconds_t)i * 20000); /* At any time of its rounds. */
    exit(0);
  }
}

static void expect_to_do_without(void) {
  struct rlimit none = {0, 0};
  CHECK(setrlimit(RLIMIT_NPROC, &none) == 0);
  if (geteuid() == 0) CHECK(setuid(65534) == 0); /* The limit is not the superuser's. */
  use_and_free();
  if (purgers() != 0) skip("this system does not limit threads");
  use_and_free();
}

static volatile sig_atomic_t arrived;

static void note(int signal) {
  (void)signal;
  char name[16] = "";
  CHECK(pthread_getname_np(pthread_self(), name, sizeof name) == 0);
  CHECK(strcmp(name, "tarn-purge") != 0);
  ++arrived;
}

static void expect_no_signal(void) {
  use_and_free();
  CHECK(purgers() == 1);
  struct sigaction action = {0};
  action.sa_handler = note;
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  CHECK(pthread_sigmask(SIG_BLOCK, &blocked, NULL) == 0);
  for (int i = 0; i < 10; ++i) {
    CHECK(kill(getpid(), SIGUSR1) == 0);
    usleep(10000);
    CHECK(arrived == 0); /* No other thread could take it. */
  }
}

int main(int count, char** words) {
  CHECK(count == 2);
  begin(120);
  if (strcmp(words[1], "fork") == 0) expect_in_children(3);
  if (strcmp(words[1], "vfork") == 0) expect_none_of_a_vfork();
  if (strcmp(words[1], "exit") == 0) expect_to_end();
  if (strcmp(words[1], "refused") == 0) expect_to_do_without();
  if (strcmp(words[1], "signals") == 0) expect_no_signal();
  return 0;
}
