/* fork_numbers: in the child of a fork a new thread whose number is the kernel's old one of the
 * survivor. A PID namespace makes it so: there all numbers are free but the first.
 *
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <tarn/tarn.h>

#include "check.h"

static tarn_heap heap;
static pid_t number;

static void* is_kept_out(void* unused) {
  (void)unused;
  if ((pid_t)syscall(SYS_gettid) != number) skip("the kernel gave another number");
  CHECK(tarn_heap_unlock(heap) != 0);
  return NULL;
}

static void in_namespace(void) {
  char text[16];
  const int length = snprintf(text, sizeof text, "%d", (int)number - 1);
  const int last = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
  if (last < 0 || write(last, text, (size_t)length) != length) skip("numbers cannot be chosen");
  close(last);
  CHECK(tarn_heap_lock(heap) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, is_kept_out, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(tarn_heap_unlock(heap) == 0);
}

int main(void) {
  begin(60);
  number = (pid_t)syscall(SYS_gettid);
  heap = tarn_heap_create(NULL);
  CHECK(tarn_heap_allocate(heap, 100) != NULL);
  if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) skip("no namespaces");
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    in_namespace();
    _exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}
