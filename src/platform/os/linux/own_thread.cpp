// own_thread: threads of the library's own, on Linux.
//
// SPDX-License-Identifier: MIT
#include <cerrno>
#include <csignal>
#include <pthread.h>
#include <sys/prctl.h>

#include "platform/os/linux/uncancelled.hpp"
#include "platform/os/thread.hpp"

namespace tarn::os {

namespace {

// A few pages of it are touched. The program's thread-local data is taken from it.
constexpr std::size_t stack_bytes = 256 * 1024;

struct Work {
  void (*run)();
  const char* name;
};

// One thread at a time is begun. The new thread reads this before thread_begin_own() may be called
// again.
constinit Work next_work{};

void* run_work(void*) {
  prctl(PR_SET_NAME, next_work.name, 0, 0, 0);
  next_work.run();
  return nullptr;
}

int create(pthread_t* made, std::size_t stack) noexcept {
  pthread_attr_t attributes;
  int failed = pthread_attr_init(&attributes);
  if (failed != 0) return failed;
  if (stack != 0) failed = pthread_attr_setstacksize(&attributes, stack);
  if (failed == 0) failed = pthread_create(made, &attributes, run_work, nullptr);
  pthread_attr_destroy(&attributes);
  return failed;
}

}  // namespace

bool thread_begin_own(void (*work)(), const char* name, OwnThread* thread) noexcept {
  next_work = {work, name};
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t made{};
  int failed = create(&made, stack_bytes);
  if (failed == EINVAL) failed = create(&made, 0);  // Too small for the thread-local data.
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failed != 0) {
    errno = failed;
    return false;
  }
  thread->handle = made;
  return true;
}

void thread_join_own(OwnThread thread) noexcept {
  Uncancelled uncancelled;
  pthread_join(thread.handle, nullptr);
}

}  // namespace tarn::os
