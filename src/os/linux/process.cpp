// process on Linux.
//
// SPDX-License-Identifier: MIT
#include "os/process.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tarn::os {

const char* environment(const char* name) noexcept {
  if (getauxval(AT_SECURE) != 0 || environ == nullptr) return nullptr;
  return getenv(name);
}

std::uint64_t clock_coarse_ms() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 +
         static_cast<std::uint64_t>(now.tv_nsec) / 1000000;
}

void write_error(const char* text, std::size_t bytes) noexcept {
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

void* file_map_create(const char* path, std::size_t bytes) noexcept {
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return nullptr;
  void* start = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(bytes)) == 0) {
    start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  const int failed = errno;
  close(file);
  errno = failed;
  return start == MAP_FAILED ? nullptr : start;
}

void file_unmap(void* start, std::size_t bytes) noexcept { munmap(start, bytes); }

}  // namespace tarn::os
