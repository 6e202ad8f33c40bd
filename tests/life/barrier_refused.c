/* barrier_refused: membarrier is refused after the library has used it, by a seccomp filter, when
 * there are threads that allocate without fences. Whoever closes a heap then waits long enough.
 *
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

#include <tarn/tarn.h>

#include "check.h"

#ifdef __x86_64__
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

static tarn_heap heap;
static _Atomic int waits, stops, hits;

static void on_trapped_call(int signal, siginfo_t* info, void* context) {
  (void)signal;
  ucontext_t* const at = context;
  if (info->si_syscall == SYS_clock_nanosleep) {
    const struct timespec as_long = {0, 2000000};
    syscall(SYS_nanosleep, &as_long, NULL);
    ++waits;
  }
  at->uc_mcontext.gregs[REG_RAX] = 0;
}

/* membarrier fails, clock_nanosleep is counted. */
static void install_filter(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_trapped_call;
  action.sa_flags = SA_SIGINFO;
  CHECK(sigaction(SIGSYS, &action, NULL) == 0);
  struct sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_nanosleep, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof steps / sizeof steps[0], steps};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
    skip("no filters");
  }
}

static void* allocate(void* unused) {
  (void)unused;
  while (stops == 0) {
    for (int i = 0; i < 64; ++i) {
      if (tarn_heap_allocate(heap, 48) != NULL) ++hits;
    }
  }
  return NULL;
}

int main(void) {
  begin(60);
  heap = tarn_heap_create(NULL);
  for (int i = 0; i < 2000; ++i) CHECK(tarn_heap_allocate(heap, 48) != NULL);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, allocate, NULL) == 0);
  while (hits < 100000) {
  }
  if (syscall(SYS_membarrier, 0, 0, 0) < 0) skip("there never was a membarrier");
  install_filter();
  for (int turn = 0; turn < SCALED(200) + 3; ++turn) {
    const int before = waits;
    CHECK(tarn_heap_clear(heap) == 0);
    CHECK(waits > before);
    CHECK(tarn_heap_check(heap) == 1);
  }
  stops = 1;
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(tarn_heap_destroy(heap) == 0);
  return 0;
}
#else
int main(void) { skip("for x86-64"); }
#endif
