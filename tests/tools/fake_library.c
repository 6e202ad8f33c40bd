/* fake_library: stands in for libtarn.so where the command is tested, and not the allocator.
 *
 * It interposes nothing; it leaves the account that a tarn process would, with known figures.
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tarn/diagnose/account.h"

static tarn_account* account;

static void open_account(void) {
  const char* options = getenv("TARN_OPTIONS");
  const char* folder = options == NULL ? NULL : strstr(options, "account=");
  if (folder == NULL) return;
  folder += strlen("account=");
  char path[4096];
  snprintf(path, sizeof path, "%.*s/%d", (int)strcspn(folder, ","), folder, (int)getpid());
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, (off_t)sizeof *account) != 0) return;
  void* const mapped = mmap(NULL, sizeof *account, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED) return;
  account = mapped;
  account->bytes = sizeof *account;
  account->pid = (uint64_t)getpid();
  account->parent_pid = (uint64_t)getppid();
  strncpy(account->program, program_invocation_short_name, TARN_ACCOUNT_PROGRAM - 1);
  account->live_bytes = 1024;
  account->live_bytes_peak = 3u << 20;
  account->committed_bytes_peak = 4u << 20;
  account->large_allocations = 7;
  account->threads_started = 2;
  account->threads_peak = 1;
  account->class_count = 2;
  account->classes[0] = (tarn_account_class){16, 1234567, 12, 100, 1200};
  account->classes[1] = (tarn_account_class){64, 10, 1, 0, 0};
  account->magic = TARN_ACCOUNT_MAGIC;
}

__attribute__((constructor)) static void start(void) {
  open_account();
  pthread_atfork(NULL, NULL, open_account);
}

__attribute__((destructor)) static void finish(void) {
  if (account != NULL) account->state = TARN_ACCOUNT_FINAL;
}
