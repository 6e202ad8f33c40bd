/* stack_end: a thread allocates ever deeper, down to the end of its stack. What it overruns is the
 * program's fault and ends as that: by SIGSEGV, in a child, or in the program's handler, which may
 * leave by siglongjmp when the fault was not inside the library. How much of a stack an allocation
 * needs is bounded: with 8 KiB left, each succeeds.
 *
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "load.h"

enum {
  STACK_BYTES = 256 * 1024,
  LEFT_BYTES = 8 * 1024,
  PROBE_BYTES = 12 * 1024,
  ALTERNATE_BYTES = 64 * 1024
};

static void* stack;
static sigjmp_buf before;
static volatile bool is_in_library;

__attribute__((noinline)) static void use_all(void) {
  static const size_t sizes[] = {10, 500, 5000, 50000, 500000, 5000000, 50000000};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
    is_in_library = true;
    char* block = malloc(sizes[i]);
    CHECK(block != NULL);
    block = realloc(block, sizes[i] * 2);
    CHECK(block != NULL);
    free(block);
    is_in_library = false;
  }
}

/* Calls itself until so much is left of the stack. */
__attribute__((noinline)) static void go_down(size_t left) {
  volatile char frame[256];
  frame[0] = 1;
  if ((uintptr_t)&frame - (uintptr_t)stack > left + sizeof frame) {
    go_down(left);
  } else {
    use_all();
  }
  CHECK(frame[0] == 1);
}

static void* with_little_left(void* unused) {
  for (int i = 0; i < 50; ++i) go_down(LEFT_BYTES);
  return unused;
}

static void on_overflow(int number, siginfo_t* info, void* context) {
  (void)number;
  (void)context;
  const uintptr_t at = (uintptr_t)info->si_addr;
  CHECK(at < (uintptr_t)stack && at >= (uintptr_t)stack - os_page_bytes());
  if (is_in_library) _exit(3);
  siglongjmp(before, 1);
}

/* Meets the guard before the library can. */
__attribute__((noinline)) static void probe(void) {
  volatile char frame[PROBE_BYTES];
  for (size_t i = 0; i < sizeof frame; i += 1024) frame[i] = 1;
}

__attribute__((noinline)) static void go_down_for_ever(size_t depth) {
  volatile char frame[1024];
  frame[0] = (char)depth;
  probe();
  is_in_library = true;
  free(malloc(depth % 5000 + 1));
  is_in_library = false;
  if (depth < STACK_BYTES) go_down_for_ever(depth + 1);
  CHECK(frame[0] == (char)depth);
}

static void* overflow(void* unused) {
  static char alternate[ALTERNATE_BYTES];
  const stack_t other = {.ss_sp = alternate, .ss_size = sizeof alternate};
  CHECK(sigaltstack(&other, NULL) == 0);
  for (volatile int i = 0; i < 50; ++i) {
    if (sigsetjmp(before, 1) == 0) go_down_for_ever((size_t)i);
    use_all();
  }
  return unused;
}

static void on_own_stack(void* (*work)(void*)) {
  pthread_t thread;
  pthread_attr_t attributes;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstack(&attributes, stack, STACK_BYTES) == 0);
  CHECK(pthread_create(&thread, &attributes, work, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
}

int main(void) {
  begin(60);
  char* const room =
      mmap(NULL, STACK_BYTES + os_page_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(room != MAP_FAILED);
  stack = room + os_page_bytes(); /* Above its guard. */
  CHECK(mprotect(stack, STACK_BYTES, PROT_READ | PROT_WRITE) == 0);
  on_own_stack(with_little_left);
  const struct sigaction action = {.sa_sigaction = on_overflow,
                                   .sa_flags = SA_SIGINFO | SA_ONSTACK};
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  on_own_stack(overflow);
  load_churn(9, 2000, NULL);
  /* Without a handler of the program's the process ends by the fault. */
  CHECK(signal(SIGSEGV, SIG_DFL) != SIG_ERR);
  const pid_t child = fork();
  if (child == 0) {
    on_own_stack(overflow);
    _exit(0);
  }
  const int status = status_of_child(child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  return 0;
}
