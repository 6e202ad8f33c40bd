/* account_signal: with TARN_OPTIONS=account=DIR, a signal handler forks or ends the process at
 * whatever point of malloc or free it interrupts. None hangs or dies, also once DIR is gone.
 *
 * Usage: account_signal fork | lost | exit. Each starts this program again, as a subject.
 *
 * SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <sys/stat.h>

#include "handler_forks.h"
#include "load.h"

enum { EXITS = 60, SUBJECT_STATUS = 42 };

static char folder[200];

static void handle_by_exit(int signal_number) {
  (void)signal_number;
  exit(SUBJECT_STATUS);
}

static void take_and_give(void) {
  void* block = malloc(opaque(200000));
  CHECK(block != NULL);
  free(block);
}

static int fork_in_handler(void) {
  alarm(60);
  const timer_t timer = handler_forks_start();
  while (fork_count < FORKS && !is_child) take_and_give();
  if (is_child) {
    for (int i = 0; i < 1000; ++i) take_and_give();
    load_churn(5, 300, NULL);
    exit(SUBJECT_STATUS);
  }
  handler_forks_finish(timer, SUBJECT_STATUS);
  return SUBJECT_STATUS;
}

static void exit_in_handler(long turn) {
  alarm(10);
  (void)signal_timer_start(
      (signal_timer){SIGUSR1, SA_RESTART, 1000000 + turn * 37000, handle_by_exit});
  for (;;) take_and_give();
}

static void remove_folder(void) {
  DIR* entries = opendir(folder);
  CHECK(entries != NULL);
  for (struct dirent* entry; (entry = readdir(entries)) != NULL;) {
    if (entry->d_name[0] != '.') CHECK(unlinkat(dirfd(entries), entry->d_name, 0) == 0);
  }
  closedir(entries);
  CHECK(rmdir(folder) == 0);
}

static void run_subject(const char* verb, int turn) {
  const pid_t process = fork();
  if (process == 0) {
    char options[256];
    char number[20];
    snprintf(options, sizeof options, "account=%s", folder);
    snprintf(number, sizeof number, "%d", turn);
    CHECK(setenv("TARN_OPTIONS", options, 1) == 0);
    execl("/proc/self/exe", "account_signal", "subject", verb, folder, number, NULL);
    CHECK(0 && "exec");
  }
  CHECK(status_of_child(process) == SUBJECT_STATUS << 8);
}

static int subject(const char* verb, int turn) {
  if (strcmp(verb, "exit") == 0) exit_in_handler(turn);
  if (strcmp(verb, "lost") == 0) remove_folder();
  return fork_in_handler();
}

int main(int argc, char** argv) {
  if (argc == 5 && strcmp(argv[1], "subject") == 0) {
    snprintf(folder, sizeof folder, "%s", argv[3]);
    return subject(argv[2], atoi(argv[4]));
  }
  begin(90);
  CHECK(argc == 2);
  const char* place = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%s/account-XXXXXX", place != NULL ? place : "/tmp");
  CHECK(mkdtemp(folder) != NULL);
  const int turns = strcmp(argv[1], "exit") == 0 ? EXITS : 1;
  for (int turn = 0; turn < turns; ++turn) run_subject(argv[1], turn);
  if (strcmp(argv[1], "lost") == 0) {
    CHECK(access(folder, F_OK) != 0 && errno == ENOENT);
  } else {
    remove_folder();
  }
  return 0;
}
