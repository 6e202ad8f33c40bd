// thread on Linux: futexes, a pthread key for the end of threads, pthread_atfork.
//
// SPDX-License-Identifier: MIT
#include "platform/os/thread.hpp"

#include <cerrno>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" int __register_atfork(void (*)(), void (*)(), void (*)(), void*) noexcept;
extern "C" [[gnu::visibility("hidden")]] void* __dso_handle;

namespace tarn::os {

constinit std::atomic<std::uint32_t> forks{0};

namespace {

constexpr int spins_before_sleep = 64;

// The key is made once, by the first thread that asks. 0 is a valid key, hence the offset.
std::atomic<std::uint32_t> keys_plus_one[3]{};
constexpr std::uint32_t key_none = 0;

// Words that read as zero in the child of a fork, and stay in one of vfork, which shares its
// parent's memory and must not repair it. Null where the kernel has no such memory (before 4.14).
struct ForkMark {
  std::atomic<std::uint32_t> is_repaired;
  std::atomic<std::uint32_t> is_numbered;  // New threads have numbers of this process's own.
};
ForkMark* fork_mark = nullptr;
void (*fork_child)() = nullptr;

// A thread's number is the kernel's, below 2^22 (PID_MAX_LIMIT), and above it the generation of the
// process in which the thread asked. The survivor of a fork keeps a number that in the child is no
// thread's as far as the kernel knows, so a new thread may get the kernel's part of it; the
// generation then tells the two apart.
constexpr int generation_shift = 22;
constexpr std::uint32_t generation_mask = (std::uint32_t{1} << 9) - 1;  // Below the locks' top bit.
std::atomic<std::uint32_t> generation{0};

// Any generation will do but the survivor's. All other threads of the process ask in it from here
// on.
void begin_generation(ThreadId survivor) noexcept {
  const std::uint32_t now = generation.load(std::memory_order_relaxed);
  const std::uint32_t next = (now + 1) & generation_mask;
  const bool is_survivors = survivor >> generation_shift == next;
  generation.store(is_survivors ? (next + 1) & generation_mask : next, std::memory_order_relaxed);
  if (fork_mark != nullptr) fork_mark->is_numbered.store(1, std::memory_order_relaxed);
}

ForkMark* make_fork_mark() noexcept {
  const auto bytes = static_cast<std::size_t>(getpagesize());
  void* const page =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (madvise(page, bytes, MADV_WIPEONFORK) != 0) {
    munmap(page, bytes);
    return nullptr;
  }
  return new (page) ForkMark{1, 1};
}

// True in the child of a fork whose `child` has not been called yet.
bool is_unrepaired_child() noexcept {
  return fork_mark != nullptr && fork_mark->is_repaired.load(std::memory_order_relaxed) == 0;
}

// Threads wait once for each fork, and not for long: one that holds a lock which the fork is to
// take delays it by that much.
constexpr timespec fork_wait_most{0, 10'000'000};
TARN_INITIAL_EXEC __thread bool is_forking = false;
TARN_INITIAL_EXEC __thread std::uint32_t fork_waited_for = 0;

void fork_begins() noexcept {
  is_forking = true;
  // Relaxed: nothing else is told by it.
  forks.fetch_add(fork_one + fork_under_way, std::memory_order_relaxed);
}

void fork_is_over() noexcept {
  is_forking = false;
  forks.fetch_sub(fork_under_way, std::memory_order_relaxed);
  const int saved = errno;
  syscall(SYS_futex, &forks, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  errno = saved;
}

void repair_after_fork() noexcept {
  is_forking = false;
  forks.store(0, std::memory_order_relaxed);
  if (fork_mark != nullptr && fork_mark->is_repaired.exchange(1, std::memory_order_relaxed) != 0) {
    return;
  }
  begin_generation(known_thread_id);
  fork_child();
}

pthread_key_t end_key(ThreadEnded ended, ThreadEndFor whom, bool* ok) noexcept {
  auto& key_plus_one = keys_plus_one[static_cast<int>(whom)];
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

// A shared library with tarn inside may be closed (dlclose) while threads live that used it: when
// these end, nothing of it may be called. At the end of the process nothing is lost by this.
[[gnu::destructor(101)]] void forget_ends() noexcept {
  for (auto& key_plus_one : keys_plus_one) {
    const std::uint32_t known = key_plus_one.exchange(key_none, std::memory_order_acq_rel);
    if (known != key_none) pthread_key_delete(known - 1);
  }
}

}  // namespace

void word_wait(std::atomic<std::uint32_t>* word, std::uint32_t expected) noexcept {
  if (is_unrepaired_child()) return repair_after_fork();
  const int saved = errno;
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
  errno = saved;
}

void word_wait_for(std::atomic<std::uint32_t>* word, std::uint32_t expected,
                   std::uint64_t ms) noexcept {
  const int saved = errno;
  timespec time{};
  time.tv_sec = static_cast<time_t>(ms / 1000);
  time.tv_nsec = static_cast<long>(ms % 1000) * 1'000'000;
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, &time, nullptr, 0);
  errno = saved;
}

void word_wake(std::atomic<std::uint32_t>* word) noexcept {
  const int saved = errno;
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  errno = saved;
}

__thread ThreadId known_thread_id = 0;

ThreadId ask_thread_id() noexcept {
  // A child that was made without libc's handlers, or is about to call them.
  if (fork_mark != nullptr && fork_mark->is_numbered.load(std::memory_order_relaxed) == 0) {
    begin_generation(0);
  }
  const std::uint32_t asked_in = generation.load(std::memory_order_relaxed);
  known_thread_id = static_cast<ThreadId>(gettid()) | asked_in << generation_shift;
  return known_thread_id;
}

void Lock::lock_slow(ThreadId me) noexcept {
  for (int i = 0; i < spins_before_sleep; ++i) {
    // Looks before it writes: a failing exchange would take the line from the lock's holder.
    std::uint32_t expected = word_.load(std::memory_order_relaxed);
    if (expected == free_ && word_.compare_exchange_weak(expected, me, std::memory_order_acquire,
                                                         std::memory_order_relaxed)) {
      return;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  if (is_unrepaired_child()) repair_after_fork();  // Or the holder may be a thread that is gone.
  for (;;) {
    std::uint32_t seen = free_;
    // A thread that has slept does not know whether others sleep: it says that they may, and
    // unlock() wakes one.
    if (word_.compare_exchange_strong(seen, me | awaited_, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
      return;
    }
    // Relaxed: the word says only that unlock() is to wake somebody.
    if ((seen & awaited_) == 0 &&
        !word_.compare_exchange_strong(seen, seen | awaited_, std::memory_order_relaxed)) {
      continue;
    }
    word_wait(&word_, seen | awaited_);
  }
}

bool barrier_in_all_threads() noexcept {
  const int saved = errno;
  bool done = syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
  if (!done && errno == EPERM) {  // Not registered yet.
    done = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
           syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
  }
  errno = saved;
  return done;
}

bool await_fork_slow() noexcept {
  const std::uint32_t seen = forks.load(std::memory_order_relaxed);
  const std::uint32_t number = seen / fork_one;
  if (is_forking || seen % fork_one == 0 || fork_waited_for == number) return false;
  fork_waited_for = number;
  const int saved = errno;
  syscall(SYS_futex, &forks, FUTEX_WAIT_PRIVATE, seen, &fork_wait_most, nullptr, 0);
  errno = saved;
  return true;
}

void wait_for_stores() noexcept {
  const int saved = errno;
  timespec left{0, 2'000'000};
  while (syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &left, &left) != 0 && errno == EINTR) {
  }
  errno = saved;
}

void yield() noexcept {
  if (is_unrepaired_child()) repair_after_fork();
  sched_yield();
}

bool thread_on_end(ThreadEnded ended, void* value, ThreadEndFor whom) noexcept {
  bool ok = false;
  const pthread_key_t key = end_key(ended, whom, &ok);
  return ok && pthread_setspecific(key, value) == 0;
}

// As pthread_atfork(), of which each library has a copy at its end, where a start would load it.
void process_around_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept {
  const int saved = errno;
  __register_atfork(before, in_parent, in_child, __dso_handle);
  errno = saved;
}
void process_on_fork_also(void (*child)()) noexcept {
  process_around_fork(nullptr, nullptr, child);
}
void process_on_fork(void (*child)()) noexcept {
  const int saved = errno;
  fork_child = child;
  fork_mark = make_fork_mark();
  errno = saved;
  process_around_fork(fork_begins, fork_is_over, repair_after_fork);
}

}  // namespace tarn::os
