// hooks: what code that is compiled with -fsanitize=thread calls, in place of ThreadSanitizer's
// run-time library; and the few calls to the OS by which threads wait or tell the time. Outside an
// exploration they do what their names say.
//
// SPDX-License-Identifier: MIT
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "platform/os/thread.hpp"
#include "turns.hpp"

using namespace explorer;

namespace {

long ask_kernel(long number, long a, long b, long c, long d, long e, long f) {
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  long result = number;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

// As libc says what the kernel said.
long said(long result) {
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}

constexpr bool acquires(int order) {
  return order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME || order == __ATOMIC_ACQ_REL ||
         order == __ATOMIC_SEQ_CST;
}
constexpr bool releases(int order) {
  return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

template <class T>
std::uintptr_t place_of(const volatile T* at) {
  return reinterpret_cast<std::uintptr_t>(at);
}

// One step of the calling thread, which `make` makes.
template <class T, class Make>
void step(volatile T* at, Kind kind, int order, const void* site, Make make) {
  if (!is_explored()) {
    make();
    return;
  }
  await_turn(place_of(at), kind, site);
  make();
  end_step(place_of(at), sizeof(T), kind, {acquires(order), releases(order)});
}

template <class T>
T load(const volatile T* at, int order, const void* site) {
  T value{};
  step(const_cast<volatile T*>(at), Kind::read, order, site, [&] {
    std::uint64_t own = 0;
    const bool is_own = is_explored() && find_stored(place_of(at), &own);
    value = is_own ? static_cast<T>(own) : __atomic_load_n(at, __ATOMIC_SEQ_CST);
  });
  return value;
}

template <class T>
void store(volatile T* at, T value, int order, const void* site) {
  if (!is_explored()) return __atomic_store_n(at, value, __ATOMIC_SEQ_CST);
  if (order != __ATOMIC_SEQ_CST && stores_wait()) {
    return store_later(place_of(at), sizeof(T), value, releases(order), site);
  }
  await_turn(place_of(at), Kind::write, site, true);
  __atomic_store_n(at, value, __ATOMIC_SEQ_CST);
  end_step(place_of(at), sizeof(T), Kind::write, {false, releases(order)});
}

template <class T, class Change>
T update(volatile T* at, int order, const void* site, Change change) {
  T before{};
  step(at, Kind::update, order, site, [&] { before = change(at); });
  return before;
}

template <class T>
bool exchange_if(volatile T* at, T* expected, T value, int order, int failure, const void* site) {
  if (!is_explored()) {
    return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
  }
  await_turn(place_of(at), Kind::update, site);
  const bool done =
      __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  const int how = done ? order : failure;
  end_step(place_of(at), sizeof(T), done ? Kind::update : Kind::read,
           {acquires(how), done && releases(how)});
  return done;
}

void touched(const volatile void* at, std::size_t bytes, bool writes, const void* site) {
  if (is_explored()) touch(reinterpret_cast<std::uintptr_t>(at), bytes, writes, site);
}

}  // namespace

namespace explorer {

void begin_thread() { tarn::os::thread_id(); }

void sleep_on(const std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  ask_kernel(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAIT_PRIVATE, expected, 0, 0, 0);
}
void wake(const std::atomic<std::uint32_t>& word) {
  ask_kernel(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

}  // namespace explorer

#define SITE __builtin_return_address(0)

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void**) {}
void __tsan_vptr_update(void** at, void*) { touched(at, sizeof *at, true, SITE); }
void __tsan_read_range(void* at, std::size_t bytes) { touched(at, bytes, false, SITE); }
void __tsan_write_range(void* at, std::size_t bytes) { touched(at, bytes, true, SITE); }
void AnnotateIgnoreReadsBegin(const char*, int) {}
void AnnotateIgnoreReadsEnd(const char*, int) {}

#define EXPLORER_PLAIN(bytes)                                                      \
  void __tsan_read##bytes(void* at) { touched(at, bytes, false, SITE); }           \
  void __tsan_write##bytes(void* at) { touched(at, bytes, true, SITE); }           \
  void __tsan_unaligned_read##bytes(void* at) { touched(at, bytes, false, SITE); } \
  void __tsan_unaligned_write##bytes(void* at) { touched(at, bytes, true, SITE); } \
  void __tsan_volatile_read##bytes(void* at) { touched(at, bytes, false, SITE); }  \
  void __tsan_volatile_write##bytes(void* at) { touched(at, bytes, true, SITE); }
EXPLORER_PLAIN(1)
EXPLORER_PLAIN(2)
EXPLORER_PLAIN(4)
EXPLORER_PLAIN(8)
EXPLORER_PLAIN(16)

#define EXPLORER_UPDATE(T, bits, name, builtin)                                        \
  T __tsan_atomic##bits##_##name(volatile T* at, T value, int order) {                 \
    return update(at, order, SITE,                                                     \
                  [&](volatile T* a) { return builtin(a, value, __ATOMIC_SEQ_CST); }); \
  }
#define EXPLORER_ATOMIC(T, bits)                                                                   \
  T __tsan_atomic##bits##_load(const volatile T* at, int order) { return load(at, order, SITE); }  \
  void __tsan_atomic##bits##_store(volatile T* at, T value, int order) {                           \
    store(at, value, order, SITE);                                                                 \
  }                                                                                                \
  EXPLORER_UPDATE(T, bits, exchange, __atomic_exchange_n)                                          \
  EXPLORER_UPDATE(T, bits, fetch_add, __atomic_fetch_add)                                          \
  EXPLORER_UPDATE(T, bits, fetch_sub, __atomic_fetch_sub)                                          \
  EXPLORER_UPDATE(T, bits, fetch_and, __atomic_fetch_and)                                          \
  EXPLORER_UPDATE(T, bits, fetch_or, __atomic_fetch_or)                                            \
  EXPLORER_UPDATE(T, bits, fetch_xor, __atomic_fetch_xor)                                          \
  EXPLORER_UPDATE(T, bits, fetch_nand, __atomic_fetch_nand)                                        \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* at, T* expected, T value,          \
                                                    int order, int failure) {                      \
    return exchange_if(at, expected, value, order, failure, SITE);                                 \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* at, T* expected, T value, int order, \
                                                  int failure) {                                   \
    return exchange_if(at, expected, value, order, failure, SITE);                                 \
  }                                                                                                \
  T __tsan_atomic##bits##_compare_exchange_val(volatile T* at, T expected, T value, int order,     \
                                               int failure) {                                      \
    exchange_if(at, &expected, value, order, failure, SITE);                                       \
    return expected;                                                                               \
  }
EXPLORER_ATOMIC(std::uint8_t, 8)
EXPLORER_ATOMIC(std::uint16_t, 16)
EXPLORER_ATOMIC(std::uint32_t, 32)
EXPLORER_ATOMIC(std::uint64_t, 64)

void __tsan_atomic_thread_fence(int) {}
void __tsan_atomic_signal_fence(int) {}

// tarn::os::Lock. A thread that wants a lock which another one has waits, and does not look.
void _ZN4tarn2os4Lock4lockEv(std::uint32_t* word) {
  const std::uint32_t me = tarn::os::thread_id();
  if (!is_explored()) {
    while (!__sync_bool_compare_and_swap(word, 0, me)) sched_yield();
    return;
  }
  await_turn(place_of(word), Kind::lock, SITE);
  *word = me;
  end_step(place_of(word), sizeof *word, Kind::lock, {true, false});
}
bool _ZN4tarn2os4Lock8try_lockEv(std::uint32_t* word) {
  std::uint32_t free = 0;
  return exchange_if(word, &free, tarn::os::thread_id(), __ATOMIC_ACQUIRE, __ATOMIC_RELAXED, SITE);
}
void _ZN4tarn2os4Lock6unlockEv(std::uint32_t* word) {
  step(word, Kind::unlock, __ATOMIC_RELEASE, SITE,
       [=] { __atomic_store_n(word, 0u, __ATOMIC_SEQ_CST); });
}
// Whatever others do meanwhile.
bool _ZNK4tarn2os4Lock19held_by_this_threadEv(const std::uint32_t* word) {
  return *word == tarn::os::thread_id();
}

int sched_yield() noexcept {
  if (is_explored()) {
    wait_for_write();
    return 0;
  }
  return static_cast<int>(ask_kernel(SYS_sched_yield, 0, 0, 0, 0, 0, 0));
}

// Time stands still in an exploration.
int clock_gettime(clockid_t clock, timespec* now) noexcept {
  if (is_explored()) {
    *now = {1'000'000, 0};
    return 0;
  }
  return static_cast<int>(
      ask_kernel(SYS_clock_gettime, clock, reinterpret_cast<long>(now), 0, 0, 0, 0));
}

// A child that forgets this memory would repair what a fork has left.
int madvise(void* start, std::size_t bytes, int advice) noexcept {
  if (advice == MADV_WIPEONFORK) return 0;
  const long result = ask_kernel(SYS_madvise, reinterpret_cast<long>(start),
                                 static_cast<long>(bytes), advice, 0, 0, 0);
  return static_cast<int>(said(result));
}

long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& one : a) one = va_arg(list, long);
  va_end(list);
  if (is_explored()) {
    if (number == SYS_membarrier || number == SYS_clock_nanosleep) {
      await_stores_of_all(SITE);
      return 0;
    }
    if (number == SYS_futex) fail("a futex that the explorer does not know");
  }
  return said(ask_kernel(number, a[0], a[1], a[2], a[3], a[4], a[5]));
}

}  // extern "C"
