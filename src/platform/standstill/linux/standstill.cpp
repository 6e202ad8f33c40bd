// standstill on Linux: each thread of /proc/self/task gets a signal that carries the number of its
// place in a table. The handler describes its thread in its own frame, leaves the address of that
// in the place, and sleeps until the round is over.
//
//   word of a place:  | round | state |                 called -> missed, gone  by the waiting one
//                     | address of a Standing | here |  called -> here          by the handler
//
// Each change is one step, so no thread is waited for that could be held up in between, by a
// debugger for instance. A thread that comes late finds another word, and returns: for that the
// table stays. System calls are made without libc, since what it or a sanitizer does around them is
// not for handlers.
//
// SPDX-License-Identifier: MIT
#include "platform/standstill/standstill.hpp"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "platform/base/config.hpp"
#include "platform/os/linux/lines.hpp"
#include "platform/os/vm.hpp"
#include "platform/standstill/linux/system_call.hpp"

#if defined(__x86_64__)

namespace tarn::os {

namespace {

enum State : std::uint64_t { state_none, state_called, state_here, state_missed, state_gone };
constexpr unsigned state_bits = 4;
constexpr std::uint64_t state_mask = (std::uint64_t{1} << state_bits) - 1;
constexpr unsigned place_bits = 17;
constexpr std::size_t places_max = std::size_t{1} << place_bits;  // 2 MiB, of addresses.

// A thread that has the signal blocked for long is not waited for to the end.
constexpr unsigned step_ms = 2;
constexpr std::uint32_t looks_max = 25;

struct Place {
  std::uint64_t word;
  std::uint32_t thread;
  std::uint32_t looks;  // How often it was found to have the signal blocked.
};

struct alignas(state_mask + 1) Described {
  Standing standing;
};

Place* places = nullptr;      // Made at the first round, never given back.
std::uint32_t round_now = 1;  // Odd while threads are to stand still. A futex.
std::uint32_t arrivals = 0;   // A futex.
int signal_in_use = 0;        // 0: the handler is not installed.

// The kernel's form of a sigaction.
struct Action {
  std::uintptr_t handler;
  unsigned long flags;
  void (*restorer)();
  std::uint64_t mask;
};
Action action_before{};

template <class Handler>
TARN_UNSANITIZED std::uintptr_t address_of_handler(Handler handler) noexcept {
  return reinterpret_cast<std::uintptr_t>(handler);
}

constexpr unsigned long flag_restorer = 0x04000000;

constexpr long red_zone_bytes = 128;  // Below the stack pointer, and in use.

// What the kernel says behind the 512 bytes of the old format: how much there is in all.
constexpr std::size_t extended_at = 464;
constexpr std::uint32_t extended_magic = 0x46505853;

TARN_UNSANITIZED void describe(Standing* to, const ucontext_t* context) noexcept {
  to->stack =
      reinterpret_cast<const std::byte*>(context->uc_mcontext.gregs[REG_RSP]) - red_zone_bytes;
  to->registers = {reinterpret_cast<const std::byte*>(&context->uc_mcontext.gregs),
                   reinterpret_cast<const std::byte*>(&context->uc_mcontext.gregs + 1)};
  const auto* const wide = reinterpret_cast<const std::byte*>(context->uc_mcontext.fpregs);
  to->vectors = {};
  if (wide != nullptr) {
    const auto* const more = reinterpret_cast<const std::uint32_t*>(wide + extended_at);
    to->vectors = {wide, wide + (more[0] == extended_magic ? more[1] : 512)};
  }
  to->tls = thread_pointer();
  to->modules = modules_of(to->tls);
}

// Treats a signal of that number which the library did not send as if the handler were not there.
TARN_UNSANITIZED void forward(int signal, siginfo_t* info, void* context) noexcept {
  const Action before = action_before;
  if (before.handler == address_of_handler(SIG_IGN)) return;
  if (before.handler != address_of_handler(SIG_DFL)) {
    const auto handler = reinterpret_cast<void (*)(int, siginfo_t*, void*)>(before.handler);
    return handler(signal, info, context);
  }
  call(SYS_rt_sigaction, signal, &action_before, nullptr, mask_bytes);
  call(SYS_rt_tgsigqueueinfo, call(SYS_getpid), call(SYS_gettid), signal, info);
}

TARN_UNSANITIZED void on_signal(int signal, siginfo_t* info, void* context) noexcept {
  if (info->si_code != SI_QUEUE || info->si_pid != static_cast<pid_t>(call(SYS_getpid))) {
    return forward(signal, info, context);
  }
  const auto value = reinterpret_cast<std::uintptr_t>(info->si_value.sival_ptr);
  const std::uint64_t round = value >> place_bits;
  Place& place = places[value & (places_max - 1)];
  std::uint64_t expected = round << state_bits | state_called;
  if (__atomic_load_n(&place.word, __ATOMIC_RELAXED) != expected) return;
  Described self;
  describe(&self.standing, static_cast<const ucontext_t*>(context));
  // Release: pairs with the thread that counts those that are here.
  if (!__atomic_compare_exchange_n(&place.word, &expected,
                                   reinterpret_cast<std::uintptr_t>(&self) | state_here, false,
                                   __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    return;
  }
  __atomic_fetch_add(&arrivals, 1, __ATOMIC_RELEASE);
  call(SYS_futex, &arrivals, FUTEX_WAKE_PRIVATE, 1, nullptr);
  const auto now = static_cast<std::uint32_t>(round);
  // Acquire: pairs with end().
  while (__atomic_load_n(&round_now, __ATOMIC_ACQUIRE) == now) {
    call(SYS_futex, &round_now, FUTEX_WAIT_PRIVATE, now, nullptr);
  }
}

std::uint64_t state_of(const Place& place) noexcept {
  return __atomic_load_n(&place.word, __ATOMIC_ACQUIRE) & state_mask;
}

std::uint64_t word_of(State state) noexcept {
  return std::uint64_t{round_now} << state_bits | state;
}

std::uint64_t clock_ms() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 +
         static_cast<std::uint64_t>(now.tv_nsec) / 1000000;
}

// Waits until a thread has arrived since `seen`, or for so long.
void wait_for_arrival(std::uint32_t seen, unsigned ms) noexcept {
  const timespec longest{0, static_cast<long>(ms) * 1000000};
  call(SYS_futex, &arrivals, FUTEX_WAIT_PRIVATE, seen, &longest);
}

std::uint32_t number(const char* text) noexcept {
  std::uint32_t value = 0;
  for (; *text >= '0' && *text <= '9'; ++text) {
    value = value * 10 + static_cast<std::uint32_t>(*text - '0');
  }
  return value;
}

// /proc/self/task/THREAD/status
int open_status(std::uint32_t thread) noexcept {
  char path[64] = "/proc/self/task/";
  char digits[12];
  std::size_t count = 0;
  do {
    digits[count++] = static_cast<char>('0' + thread % 10);
    thread /= 10;
  } while (thread != 0);
  std::size_t length = strlen(path);
  while (count != 0) path[length++] = digits[--count];
  memcpy(path + length, "/status", sizeof "/status");
  return open(path, O_RDONLY | O_CLOEXEC);
}

struct Status {
  bool is_gone;
  bool blocks;
};

Status status_of(std::uint32_t thread, int signal) noexcept {
  Status status{false, false};
  const int file = open_status(thread);
  if (file < 0) return {errno == ENOENT || errno == ESRCH, false};
  Lines lines(file);
  char line[line_bytes];
  while (lines.next(line)) {
    if (strncmp(line, "State:", 6) == 0) {
      status.is_gone = strpbrk(line + 6, "ZX") != nullptr;
    } else if (strncmp(line, "SigBlk:", 7) == 0) {
      const char* text = line + 7;
      // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): a line that was read.
      while (*text == '\t' || *text == ' ') ++text;
      status.blocks = (read_hexadecimal(&text) >> (signal - 1) & 1) != 0;
      break;
    }
  }
  close(file);
  return status;
}

// Sends the signal. Returns the state in which the thread's place is then.
State send(std::uint32_t thread, int signal, std::size_t i) noexcept {
  siginfo_t info;
  memset(&info, 0, sizeof info);
  info.si_code = SI_QUEUE;
  info.si_pid = static_cast<pid_t>(call(SYS_getpid));
  info.si_uid = getuid();
  info.si_value.sival_ptr = reinterpret_cast<void*>(std::uintptr_t{round_now} << place_bits | i);
  const long error = call(SYS_rt_tgsigqueueinfo, info.si_pid, thread, signal, &info);
  if (error == 0) return state_called;
  return error == -ESRCH ? state_gone : state_missed;
}

// SIG_IGN drops what is pending for threads that had it blocked: with the action of before it might
// end the process.
void uninstall() noexcept {
  const int signal = signal_in_use;
  if (signal == 0) return;
  Action ignore{};
  ignore.handler = address_of_handler(SIG_IGN);
  call(SYS_rt_sigaction, signal, &ignore, nullptr, mask_bytes);
  call(SYS_rt_sigaction, signal, &action_before, nullptr, mask_bytes);
  signal_in_use = 0;
}

bool install(int signal) noexcept {
  Action action{};
  action.handler = address_of_handler(on_signal);
  action.flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK | flag_restorer;
  action.restorer = tarn_signal_return;
  action.mask = ~std::uint64_t{0};
  const long error = call(SYS_rt_sigaction, signal, &action, &action_before, mask_bytes);
  if (error == 0) signal_in_use = signal;
  errno = error == 0 ? errno : static_cast<int>(-error);
  return error == 0;
}

struct Entry {  // linux_dirent64
  std::uint64_t inode;
  std::int64_t next;
  unsigned short bytes;
  unsigned char type;
  char name[1];
};

}  // namespace

// Signals the threads of the folder that are not known yet.
bool Standstill::call_new(int folder, std::size_t* called) noexcept {
  alignas(Entry) char buffer[4096];
  std::size_t next = 0;  // Threads come in the order in which they came before.
  const auto self = static_cast<std::uint32_t>(call(SYS_gettid));
  lseek(folder, 0, SEEK_SET);
  for (;;) {
    const long got = call(SYS_getdents64, folder, buffer, sizeof buffer);
    if (got <= 0) {
      errno = got == 0 ? errno : static_cast<int>(-got);
      return got == 0;
    }
    for (long at = 0; at < got;) {
      const auto* const entry = reinterpret_cast<const Entry*>(buffer + at);
      at += entry->bytes;
      const std::uint32_t thread = number(entry->name);
      if (thread == 0 || thread == self) continue;
      std::size_t i = next;
      if (i >= known_ || places[i].thread != thread) i = 0;
      while (i < known_ && places[i].thread != thread) ++i;
      next = i + 1;
      // A number that was given anew is a new thread.
      if (i < known_ && (state_of(places[i]) != state_gone || status_of(thread, signal_).is_gone)) {
        continue;
      }
      if (i == places_max) {
        errno = EAGAIN;
        return false;
      }
      if (i == known_) ++known_;
      // A thread that has blocked the signal for as long as before is given up at the next look.
      const bool known_to_block = places[i].thread == thread && places[i].looks >= looks_max;
      places[i].thread = thread;
      places[i].looks = known_to_block ? looks_max - 1 : 0;
      __atomic_store_n(&places[i].word, word_of(state_called), __ATOMIC_RELEASE);
      const State state = send(thread, signal_, i);
      if (state != state_called) {
        __atomic_store_n(&places[i].word, word_of(state), __ATOMIC_RELAXED);
      }
      *called += state == state_called ? 1 : 0;
    }
  }
}

void Standstill::wait_for_called(int signal, std::uint64_t until_ms) noexcept {
  for (;;) {
    const std::uint32_t seen = __atomic_load_n(&arrivals, __ATOMIC_ACQUIRE);
    std::size_t waited_for = 0;
    for (std::size_t i = 0; i < known_; ++i) {
      waited_for += state_of(places[i]) == state_called ? 1 : 0;
    }
    if (waited_for == 0) return;
    wait_for_arrival(seen, step_ms);
    if (__atomic_load_n(&arrivals, __ATOMIC_ACQUIRE) != seen) continue;
    const bool late = clock_ms() >= until_ms;
    for (std::size_t i = 0; i < known_; ++i) {
      if (state_of(places[i]) != state_called) continue;
      const Status status = status_of(places[i].thread, signal);
      if (status.blocks) ++places[i].looks;
      std::uint64_t expected = word_of(state_called);
      if (!status.is_gone && !late && places[i].looks < looks_max) continue;
      __atomic_compare_exchange_n(&places[i].word, &expected,
                                  word_of(status.is_gone ? state_gone : state_missed), false,
                                  __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
  }
}

// Until a look at the folder shows nobody new: those that stand still make no threads. Those that
// are missed may make some without end: if the last look finds any, there may be one more.
bool Standstill::call_all(int signal, unsigned wait_ms) noexcept {
  const int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  const std::uint64_t until_ms = clock_ms() + wait_ms;
  bool done = true;
  bool last = false;
  std::size_t called = 1;
  while (done && called != 0 && !last) {
    last = clock_ms() >= until_ms;
    called = 0;
    done = call_new(folder, &called);
    if (done) wait_for_called(signal, until_ms);
  }
  missed_ = called != 0 ? 1 : 0;
  const int saved = errno;
  close(folder);
  errno = saved;
  return done;
}

bool Standstill::begin(int signal, unsigned wait_ms) noexcept {
  const bool is_of_libc = signal >= __SIGRTMIN && signal < SIGRTMIN;  // For its threads.
  if (signal < 1 || signal > SIGRTMAX || is_of_libc) {
    errno = EINVAL;
    return false;
  }
  if (places == nullptr) {
    places = static_cast<Place*>(vm_reserve_sparse(places_max * sizeof(Place)));
    if (places == nullptr) {
      errno = ENOMEM;
      return false;
    }
  }
  if (!install(signal)) return false;
  signal_ = signal;
  known_ = stopped_ = missed_ = 0;
  __atomic_store_n(&round_now, round_now | 1, __ATOMIC_RELEASE);
  if (!call_all(signal, wait_ms)) {
    end();
    return false;
  }
  count();
  return true;
}

// Counts the threads, and puts those that stand still first.
void Standstill::count() noexcept {
  for (std::size_t i = 0; i < known_; ++i) {
    const std::uint64_t state = state_of(places[i]);
    missed_ += state == state_missed ? 1 : 0;
    if (state == state_here) places[stopped_++].word = places[i].word;
  }
}

Standing Standstill::standing(std::size_t i) const noexcept {
  return reinterpret_cast<const Described*>(places[i].word & ~state_mask)->standing;
}

void Standstill::end() noexcept {
  const int saved = errno;
  __atomic_store_n(&round_now, (round_now | 1) + 2, __ATOMIC_RELEASE);
  call(SYS_futex, &round_now, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr);
  uninstall();
  errno = saved;
}

void Standstill::recover_after_fork() noexcept {
  round_now = (round_now | 1) + 2;
  uninstall();
}

}  // namespace tarn::os

#else  // Nothing stops here, so nothing is asked of what stands still.

namespace tarn::os {

bool Standstill::begin(int, unsigned) noexcept {
  errno = ENOTSUP;
  return false;
}
void Standstill::end() noexcept {}
Standing Standstill::standing(std::size_t) const noexcept { return {}; }
void Standstill::recover_after_fork() noexcept {}

}  // namespace tarn::os

#endif
