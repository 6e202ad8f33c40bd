// thread on Linux: futexes, a pthread key for the end of threads, pthread_atfork.
//
// SPDX-License-Identifier: MIT
#include "os/thread.hpp"

#include <cerrno>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tarn::os {

namespace {

constexpr int spins_before_sleep = 64;

// The key is made once, by the first thread that asks. 0 is a valid key, hence the offset.
std::atomic<std::uint32_t> key_plus_one{0};
constexpr std::uint32_t key_none = 0;

pthread_key_t end_key(ThreadEnded ended, bool* ok) noexcept {
  // Acquire: pairs with the release below; the key itself is made by libc.
  std::uint32_t known = key_plus_one.load(std::memory_order_acquire);
  if (known == key_none) {
    pthread_key_t made;
    if (pthread_key_create(&made, ended) != 0) {
      *ok = false;
      return 0;
    }
    if (key_plus_one.compare_exchange_strong(known, made + 1, std::memory_order_acq_rel)) {
      known = made + 1;
    } else {
      pthread_key_delete(made);
    }
  }
  *ok = true;
  return known - 1;
}

}  // namespace

void word_wait(std::atomic<std::uint32_t>* word, std::uint32_t expected) noexcept {
  const int saved = errno;
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
  errno = saved;
}

void word_wake(std::atomic<std::uint32_t>* word) noexcept {
  const int saved = errno;
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  errno = saved;
}

void Lock::lock_slow() noexcept {
  for (int i = 0; i < spins_before_sleep; ++i) {
    std::uint32_t expected = free_;
    if (word_.compare_exchange_weak(expected, held_, std::memory_order_acquire,
                                    std::memory_order_relaxed)) {
      return;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  // Whoever sleeps marks the word, so that unlock() wakes one; acquire pairs with unlock().
  while (word_.exchange(contended_, std::memory_order_acquire) != free_) {
    word_wait(&word_, contended_);
  }
}

bool thread_on_end(ThreadEnded ended, void* value) noexcept {
  bool ok = false;
  const pthread_key_t key = end_key(ended, &ok);
  return ok && pthread_setspecific(key, value) == 0;
}

void process_on_fork(void (*child)()) noexcept { pthread_atfork(nullptr, nullptr, child); }

}  // namespace tarn::os
