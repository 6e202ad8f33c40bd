// file on Linux.
//
// SPDX-License-Identifier: MIT
#include "platform/os/file.hpp"

#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/os/linux/uncancelled.hpp"

namespace tarn::os {

int file_open(const char* name, FileKind kind, unsigned flags, unsigned mode) noexcept {
  Uncancelled uncancelled;
  const int how = ((flags & file_writes) != 0 ? O_RDWR : O_RDONLY) |
                  ((flags & file_creates) != 0 ? O_CREAT : 0) |
                  ((flags & file_is_new) != 0 ? O_EXCL : 0);
  return kind == FileKind::path ? open(name, how | O_CLOEXEC, mode) : shm_open(name, how, mode);
}

void file_close(int file) noexcept {
  Uncancelled uncancelled;
  const int saved = errno;
  close(file);
  errno = saved;
}

bool file_unlink(const char* name, FileKind kind) noexcept {
  return (kind == FileKind::path ? unlink(name) : shm_unlink(name)) == 0;
}

int file_again(int file, bool writes) noexcept {
  const int flags = fcntl(file, F_GETFL);
  if (flags < 0) return -1;
  const int access = flags & O_ACCMODE;
  if (access == O_WRONLY || (writes && access != O_RDWR)) {
    errno = EACCES;
    return -1;
  }
  return fcntl(file, F_DUPFD_CLOEXEC, 0);
}

bool file_bytes(int file, std::size_t* bytes) noexcept {
  struct stat known {};
  if (fstat(file, &known) != 0) return false;
  if (!S_ISREG(known.st_mode)) {
    errno = EINVAL;
    return false;
  }
  *bytes = static_cast<std::size_t>(known.st_size);
  return true;
}

void* file_reserve(std::size_t bytes) noexcept {
  void* const start =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return start == MAP_FAILED ? nullptr : start;
}

bool file_map(void* start, int file, std::size_t offset, std::size_t bytes, bool shared) noexcept {
  const int kind = MAP_FIXED | (shared ? MAP_SHARED : MAP_PRIVATE | MAP_NORESERVE);
  return mmap(start, bytes, PROT_READ | PROT_WRITE, kind, file, static_cast<off_t>(offset)) !=
         MAP_FAILED;
}

bool file_sync(void* start, std::size_t bytes) noexcept {
  Uncancelled uncancelled;
  return msync(start, bytes, MS_SYNC) == 0;
}

bool file_lock(int file) noexcept {
  const int saved = errno;
  while (flock(file, LOCK_EX) != 0) {
    if (errno != EINTR) return false;
  }
  errno = saved;
  return true;
}

void file_unlock(int file) noexcept {
  const int saved = errno;
  flock(file, LOCK_UN);
  errno = saved;
}

}  // namespace tarn::os
