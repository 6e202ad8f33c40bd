/* secure_run: a set-user-id program ignores TARN_OPTIONS, so that whoever starts it cannot have it
 * write files with its rights. The same file without the bit obeys.
 *
 * It copies itself, gives the copy to another user, and runs it as a third one; that takes root.
 * The library is linked in: the dynamic linker ignores LD_PRELOAD in such programs anyway.
 *
 * SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <sys/auxv.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tarn/tarn.h>

#include "check.h"

enum { OWNER = 54321, CALLER = 54322, NOT_SECURE = 3, SECURE = 4 };

static char folder[200];
static char copy[256];
static char accounts[256];

static void make_folders(void) {
  const char* place = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%s/secure-XXXXXX", place != NULL ? place : "/tmp");
  CHECK(mkdtemp(folder) != NULL && chmod(folder, 0755) == 0);
  snprintf(copy, sizeof copy, "%s/program", folder);
  snprintf(accounts, sizeof accounts, "%s/accounts", folder);
  CHECK(mkdir(accounts, 0777) == 0 && chmod(accounts, 0777) == 0);
}

static void copy_program(void) {
  const int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const int to = open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
  CHECK(from >= 0 && to >= 0);
  struct stat state;
  CHECK(fstat(from, &state) == 0);
  for (off_t done = 0; done < state.st_size;) {
    CHECK(sendfile(to, from, &done, (size_t)(state.st_size - done)) > 0);
  }
  CHECK(fchown(to, OWNER, OWNER) == 0);
  close(from);
  close(to);
}

/* Empties the folder of accounts, and says how many there were. */
static int remove_accounts(void) {
  DIR* entries = opendir(accounts);
  CHECK(entries != NULL);
  int count = 0;
  for (struct dirent* entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
    if (entry->d_name[0] == '.') continue;
    CHECK(unlinkat(dirfd(entries), entry->d_name, 0) == 0);
    ++count;
  }
  closedir(entries);
  return count;
}

static void remove_folders(void) {
  (void)remove_accounts();
  CHECK(rmdir(accounts) == 0 && unlink(copy) == 0 && rmdir(folder) == 0);
}

/* The exit status of the copy, started by CALLER; its standard error is in `errors`. */
static int run_copy(char* errors, size_t errors_bytes) {
  int ends[2];
  CHECK(pipe2(ends, O_CLOEXEC) == 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    char options[300];
    snprintf(options, sizeof options, "surely_no_option=1,account=%s", accounts);
    CHECK(setenv("TARN_OPTIONS", options, 1) == 0);
    CHECK(setgid(CALLER) == 0 && setuid(CALLER) == 0);
    CHECK(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    execl(copy, "program", "subject", NULL);
    _exit(127);
  }
  close(ends[1]);
  size_t length = 0;
  for (ssize_t got; (got = read(ends[0], errors + length, errors_bytes - 1 - length)) > 0;) {
    length += (size_t)got;
  }
  errors[length] = '\0';
  close(ends[0]);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

static int subject(void) {
  void* block = tarn_malloc(100);
  CHECK(block != NULL);
  tarn_free(block);
  return getauxval(AT_SECURE) != 0 ? SECURE : NOT_SECURE;
}

int main(int argc, char** argv) {
  alarm(60);
  if (argc == 2 && strcmp(argv[1], "subject") == 0) return subject();
  if (geteuid() != 0) skip("only root can give a program to another user");
  make_folders();
  copy_program();
  char errors[4000];

  /* That the options are understood at all. */
  int status = run_copy(errors, sizeof errors);
  CHECK(status == NOT_SECURE);
  CHECK(strstr(errors, "surely_no_option") != NULL);
  CHECK(remove_accounts() == 1);

  CHECK(chmod(copy, S_ISUID | 0755) == 0);
  status = run_copy(errors, sizeof errors);
  if (status == NOT_SECURE) {
    remove_folders();
    skip("set-user-id has no effect where temporary files are");
  }
  CHECK(status == SECURE);
  CHECK(errors[0] == '\0');
  CHECK(remove_accounts() == 0);
  remove_folders();
  return 0;
}
