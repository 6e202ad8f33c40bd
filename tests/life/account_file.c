/* account_file: TARN_OPTIONS=account=DIR where the file DIR/PID cannot be had, is there already, or
 * is out of reach later. The program runs as it would without; at most it is told once.
 *
 * Usage: account_file size_limit | full | mapped | lost | change_root | exec. Each starts this
 * program again, as a subject that allocates and ends with a status of its own.
 *
 * SPDX-License-Identifier: MIT */
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tarn/diagnose/account.h>

#include "load.h"

enum { SUBJECT_STATUS = 42, NO_RIGHT_STATUS = 43 };

/* What a subject's folder is called, and its file for a process. */
static char folder[200];
static char path[256];

typedef struct outcome {
  pid_t process;
  int status;
  char errors[2000]; /* What it wrote on standard error. */
} outcome;

static void name_path(pid_t process) { snprintf(path, sizeof path, "%s/%d", folder, (int)process); }

static void make_folder(void) {
  const char* place = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%s/account-XXXXXX", place != NULL ? place : "/tmp");
  CHECK(mkdtemp(folder) != NULL);
}

static void remove_folder(void) {
  (void)unlink(path);
  CHECK(rmdir(folder) == 0);
}

static void exec_subject(const char* verb) {
  execl("/proc/self/exe", "account_file", "subject", verb, folder, NULL);
  CHECK(0 && "exec");
}

/* `prepare` runs in the process of the subject before it is one. */
static outcome run_subject(const char* verb, void (*prepare)(void)) {
  outcome result;
  memset(&result, 0, sizeof result);
  int ends[2];
  CHECK(pipe2(ends, O_CLOEXEC) == 0);
  result.process = fork();
  CHECK(result.process >= 0);
  if (result.process == 0) {
    char options[256];
    snprintf(options, sizeof options, "account=%s", folder);
    CHECK(setenv("TARN_OPTIONS", options, 1) == 0);
    if (prepare != NULL) prepare();
    CHECK(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    exec_subject(verb);
  }
  close(ends[1]);
  size_t length = 0;
  for (ssize_t got = 1; got > 0; length += (size_t)got) {
    CHECK(length < sizeof result.errors - 1);
    got = read(ends[0], result.errors + length, sizeof result.errors - 1 - length);
    CHECK(got >= 0);
  }
  close(ends[0]);
  CHECK(waitpid(result.process, &result.status, 0) == result.process);
  name_path(result.process);
  return result;
}

static void expect_quiet(const outcome* result) {
  if (result->errors[0] != '\0') dprintf(STDERR_FILENO, "it said: %s", result->errors);
  if (result->status == NO_RIGHT_STATUS << 8) {
    remove_folder();
    skip("chroot is not allowed here");
  }
  CHECK(result->status == SUBJECT_STATUS << 8);
  CHECK(result->errors[0] == '\0');
}

static void expect_one_message(const outcome* result) {
  CHECK(result->status == SUBJECT_STATUS << 8);
  const char* end = strchr(result->errors, '\n');
  if (end == NULL || end[1] != '\0') dprintf(STDERR_FILENO, "it said: %s\n", result->errors);
  CHECK(end != NULL && end[1] == '\0');
  CHECK(strstr(result->errors, "tarn: account: ") == result->errors);
  CHECK(strstr(result->errors, path) != NULL);
  CHECK(access(path, F_OK) != 0 && errno == ENOENT);
}

static void read_account(tarn_account* account) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  CHECK(file >= 0);
  CHECK(read(file, account, sizeof *account) == (ssize_t)sizeof *account);
  close(file);
  CHECK(account->magic == TARN_ACCOUNT_MAGIC);
}

static void expect_final_account(const outcome* result) {
  tarn_account account;
  read_account(&account);
  CHECK(account.state == TARN_ACCOUNT_FINAL);
  CHECK(account.pid == (uint64_t)result->process);
}

static void limit_files(void) {
  const struct rlimit limit = {100, 100};
  CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void test_size_limit(void) {
  const outcome result = run_subject("work", limit_files);
  expect_one_message(&result);
}

/* A file system of a few pages, seen by this process and its children only. */
static void mount_small(void) {
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
      mount("none", folder, "tmpfs", 0, "size=65536") != 0) {
    (void)rmdir(folder);
    skip("mount is not allowed here");
  }
}

static void test_full(void) {
  mount_small();
  char filler[256];
  snprintf(filler, sizeof filler, "%s/filler", folder);
  const int file = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  CHECK(file >= 0);
  static const char page[4096];
  off_t length = 0;
  while (write(file, page, sizeof page) == (ssize_t)sizeof page) length += (off_t)sizeof page;
  CHECK(errno == ENOSPC);
  outcome result = run_subject("work", NULL);
  expect_one_message(&result);
  /* Room for the beginning of an account. */
  CHECK(sizeof(tarn_account) > sizeof page);
  CHECK(ftruncate(file, length - (off_t)sizeof page) == 0);
  result = run_subject("work", NULL);
  expect_one_message(&result);
  CHECK(ftruncate(file, 0) == 0);
  close(file);
  result = run_subject("work", NULL);
  expect_quiet(&result);
  expect_final_account(&result);
  CHECK(unlink(filler) == 0 && umount2(folder, MNT_DETACH) == 0);
}

enum { OLD_BYTES = 65536 };
static int old_file = -1;
static char* old_content;

/* As if an earlier process of the same number had left its file, and somebody were reading it. */
static void leave_old_file(void) {
  name_path(getpid());
  old_file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  CHECK(old_file >= 0 && ftruncate(old_file, OLD_BYTES) == 0);
  char* content = mmap(NULL, OLD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, old_file, 0);
  CHECK(content != MAP_FAILED);
  memset(content, 'x', OLD_BYTES);
  CHECK(kill(getpid(), SIGSTOP) == 0); /* Until the parent has it mapped as well. */
}

static void* map_when_stopped(void* argument) {
  int status = 0;
  pid_t process = -1;
  while ((process = waitpid(-1, &status, WUNTRACED | WNOHANG)) == 0 || process < 0) usleep(1000);
  CHECK(WIFSTOPPED(status));
  name_path(process);
  old_file = open(path, O_RDONLY | O_CLOEXEC);
  CHECK(old_file >= 0);
  old_content = mmap(NULL, OLD_BYTES, PROT_READ, MAP_SHARED, old_file, 0);
  CHECK(old_content != MAP_FAILED);
  CHECK(kill(process, SIGCONT) == 0);
  return argument;
}

static void test_mapped(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, map_when_stopped, NULL) == 0);
  const outcome result = run_subject("work", leave_old_file);
  CHECK(pthread_join(thread, NULL) == 0);
  expect_quiet(&result);
  struct stat state;
  CHECK(fstat(old_file, &state) == 0);
  CHECK(state.st_size == OLD_BYTES && state.st_nlink == 0);
  for (size_t i = 0; i < OLD_BYTES; ++i) CHECK(old_content[i] == 'x');
  expect_final_account(&result);
}

/* The program had its account; the children that it forks later cannot have theirs. */
static void test_lost(void) {
  const outcome result = run_subject("lose_folder", NULL);
  expect_quiet(&result);
  expect_final_account(&result);
}

static void test_change_root(void) {
  const outcome result = run_subject("change_root", NULL);
  expect_quiet(&result);
  expect_final_account(&result);
}

static void test_exec(void) {
  const outcome result = run_subject("exec", NULL);
  expect_quiet(&result);
  expect_final_account(&result);
  tarn_account account;
  read_account(&account);
  CHECK(account.live_bytes_peak > 0 && account.live_bytes_peak < 64 * MEBIBYTE);
  CHECK(account.threads_started == 1);
}

static void expect_child_works(void) {
  const pid_t child = fork();
  if (child == 0) {
    load_churn(8, 1000, NULL);
    exit(SUBJECT_STATUS);
  }
  CHECK(status_of_child(child) == SUBJECT_STATUS << 8);
}

static int subject(const char* verb) {
  alarm(30);
  load_churn(7, 1000, NULL);
  if (strcmp(verb, "lose_folder") == 0) {
    char away[256];
    snprintf(away, sizeof away, "%s-away", folder);
    CHECK(rename(folder, away) == 0);
    expect_child_works();
    CHECK(rename(away, folder) == 0);
  } else if (strcmp(verb, "change_root") == 0) {
    if (chroot(folder) != 0) return NO_RIGHT_STATUS;
    CHECK(chdir("/") == 0);
    expect_child_works();
  } else if (strcmp(verb, "exec") == 0) {
    memset(malloc(100 * MEBIBYTE), 1, 100 * MEBIBYTE);
    exec_subject("work");
  }
  return SUBJECT_STATUS;
}

int main(int argc, char** argv) {
  if (argc == 4 && strcmp(argv[1], "subject") == 0) {
    snprintf(folder, sizeof folder, "%s", argv[3]);
    return subject(argv[2]);
  }
  static const struct {
    const char* name;
    void (*test)(void);
  } tests[] = {{"size_limit", test_size_limit},   {"full", test_full},
               {"mapped", test_mapped},           {"lost", test_lost},
               {"change_root", test_change_root}, {"exec", test_exec}};
  begin(60);
  CHECK(argc == 2);
  make_folder();
  bool found = false;
  for (size_t i = 0; i < sizeof tests / sizeof tests[0]; ++i) {
    if (strcmp(argv[1], tests[i].name) != 0) continue;
    tests[i].test();
    found = true;
  }
  CHECK(found);
  remove_folder();
  return 0;
}
