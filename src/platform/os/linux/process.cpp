// process on Linux.
//
// SPDX-License-Identifier: MIT
#include "platform/os/process.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/base/random.hpp"
#include "platform/os/linux/uncancelled.hpp"

namespace tarn::os {

const char* environment(const char* name) noexcept {
  if (getauxval(AT_SECURE) != 0 || environ == nullptr) return nullptr;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): at the start, or as getenv does anywhere.
  return getenv(name);
}

bool environment_known() noexcept { return environ != nullptr; }

std::uint64_t clock_coarse_ms() noexcept {
  const int saved = errno;  // Where there is no vDSO, a filter may refuse the call.
  timespec now{};
  if (clock_gettime(CLOCK_MONOTONIC_COARSE, &now) != 0) errno = saved;
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 +
         static_cast<std::uint64_t>(now.tv_nsec) / 1000000;
}

std::uint64_t clock_ns() noexcept {
  const int saved = errno;
  timespec now{};
  if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) errno = saved;
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// From the bytes of which libc makes its secrets, too: the number says too little to find these.
std::uint64_t process_random() noexcept {
  std::uint64_t drawn[2] = {0x9e3779b97f4a7c15, 0};
  const auto* const bytes = reinterpret_cast<const void*>(getauxval(AT_RANDOM));
  if (bytes != nullptr) memcpy(drawn, bytes, sizeof drawn);
  return mixed_bits(drawn[0] + (drawn[1] << 32 | drawn[1] >> 32));
}

std::uint64_t process_secret() noexcept {
  const int saved = errno;
  std::uint64_t secret = 0;
  const ssize_t drawn = getrandom(&secret, sizeof secret, GRND_NONBLOCK);
  errno = saved;
  if (drawn == static_cast<ssize_t>(sizeof secret)) return secret;
  return mixed_bits(process_random() + mixed_bits(clock_ns()));
}

// A folder has a link from each folder in it, and two of its own.
bool process_is_alone() noexcept {
  const int saved = errno;
  struct stat tasks {};
  const bool known = stat("/proc/self/task", &tasks) == 0;
  errno = saved;
  return known && tasks.st_nlink == 3;
}

void set_error(Error error) noexcept {
  constexpr int numbers[] = {EINVAL, ENOMEM, EBUSY, ENOTSUP, EEXIST, ELOOP};
  errno = numbers[static_cast<int>(error)];
}

void write_error(const char* text, std::size_t bytes) noexcept {
  Uncancelled uncancelled;
  const int saved = errno;
  while (bytes > 0) {
    const ssize_t written = write(STDERR_FILENO, text, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    text += written;
    bytes -= static_cast<std::size_t>(written);
  }
  errno = saved;
}

bool make_absolute(char* path, std::size_t room) noexcept {
  if (path[0] == '/') return true;
  const int saved = errno;
  // Past libc's function, which may allocate for a longer one.
  static char folder[4096];
  const long got = syscall(SYS_getcwd, folder, sizeof folder);  // With its NUL.
  errno = saved;
  const std::size_t length = strlen(path);
  if (got <= 1 || folder[0] != '/' || static_cast<std::size_t>(got) + length >= room) return false;
  memmove(path + got, path, length + 1);
  memcpy(path, folder, static_cast<std::size_t>(got) - 1);
  path[got - 1] = '/';
  return true;
}

void process_exit(int status) noexcept { _exit(status); }

bool write_all(int file, const char* text, std::size_t bytes) noexcept {
  Uncancelled uncancelled;
  while (bytes > 0) {
    const ssize_t written = write(file, text, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return true;
}

void process_abort() noexcept { abort(); }

std::size_t page_bytes() noexcept { return getauxval(AT_PAGESZ); }

std::uint64_t process_id() noexcept { return static_cast<std::uint64_t>(getpid()); }
std::uint64_t parent_id() noexcept { return static_cast<std::uint64_t>(getppid()); }

void program_name(char* text, std::size_t bytes) noexcept {
  const char* name = program_invocation_short_name;
  if (name == nullptr) name = "";
  std::size_t length = strlen(name);
  if (length >= bytes) length = bytes - 1;
  memcpy(text, name, length);
  text[length] = '\0';
}

namespace {

void* file_map(const char* path, void* start, std::size_t bytes) noexcept {
  // A write beyond the limit would raise SIGXFSZ, a store to a page without a block SIGBUS.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) {
    errno = EFBIG;
    return nullptr;
  }
  // Not truncated: another process may have the old file mapped.
  unlink(path);
  const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return nullptr;
  void* mapped = MAP_FAILED;
  int failed = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (failed == 0) {
    const int fixed = start == nullptr ? 0 : MAP_FIXED;
    mapped = mmap(start, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | fixed, file, 0);
    failed = errno;
  }
  if (mapped == MAP_FAILED) unlink(path);
  close(file);
  errno = failed;
  return mapped == MAP_FAILED ? nullptr : mapped;
}

}  // namespace

void* file_map_create(const char* path, std::size_t bytes) noexcept {
  Uncancelled uncancelled;
  return file_map(path, nullptr, bytes);
}

bool file_map_renew(void* start, const char* path, std::size_t bytes) noexcept {
  Uncancelled uncancelled;
  const int saved = errno;
  const bool mapped = file_map(path, start, bytes) != nullptr;
  if (!mapped) {
    // NOLINTNEXTLINE(bugprone-unused-return-value): refused, the old one stays.
    mmap(start, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  }
  errno = saved;
  return mapped;
}

}  // namespace tarn::os
