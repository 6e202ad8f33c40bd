// pressure on Linux: triggers of pressure stall information (the kernel's accounting/psi.rst), of
// the cgroup or of the machine.
//
// SPDX-License-Identifier: MIT
#include "platform/os/pressure.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace tarn::os {

namespace {

constexpr const char* machine_file = "/proc/pressure/memory";
constexpr const char* cgroup_mount = "/sys/fs/cgroup";
constexpr const char* cgroup_file = "/memory.pressure";
constexpr std::size_t path_bytes_max = 4096;

bool append(char* path, std::size_t* length, const char* text, std::size_t bytes) noexcept {
  if (*length + bytes >= path_bytes_max) return false;
  memcpy(path + *length, text, bytes);
  *length += bytes;
  path[*length] = '\0';
  return true;
}

// The pressure file of the process's version-2 cgroup; false when there is none to be named.
bool cgroup_path(char* path) noexcept {
  char text[path_bytes_max];
  const int file = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t got = read(file, text, sizeof text - 1);
  close(file);
  if (got <= 0) return false;
  text[got] = '\0';
  const char* line = text;
  while (line != nullptr && strncmp(line, "0::", 3) != 0) {
    line = strchr(line, '\n');
    if (line != nullptr) ++line;
  }
  if (line == nullptr) return false;
  line += 3;
  std::size_t bytes = strcspn(line, "\n");
  if (bytes == 1) bytes = 0;  // The root, "/", has no pressure file: the machine's is meant.
  std::size_t length = 0;
  return bytes != 0 && append(path, &length, cgroup_mount, strlen(cgroup_mount)) &&
         append(path, &length, line, bytes) &&
         append(path, &length, cgroup_file, strlen(cgroup_file));
}

std::size_t decimal(char* text, unsigned n) noexcept {
  char digits[10];
  std::size_t count = 0;
  do {
    digits[count++] = static_cast<char>('0' + n % 10);
    n /= 10;
  } while (n != 0);
  for (std::size_t i = 0; i < count; ++i) text[i] = digits[count - 1 - i];
  return count;
}

int open_trigger(const char* path, const char* trigger, std::size_t bytes) noexcept {
  const int file = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return -1;
  if (write(file, trigger, bytes) == static_cast<ssize_t>(bytes)) return file;
  const int why = errno;
  close(file);
  errno = why;
  return -1;
}

}  // namespace

int pressure_open(unsigned stall_us, unsigned window_us) noexcept {
  char trigger[40] = "some ";
  std::size_t length = strlen(trigger);
  length += decimal(trigger + length, stall_us);
  trigger[length++] = ' ';
  length += decimal(trigger + length, window_us);
  trigger[length++] = '\0';  // The kernel wants it.
  char path[path_bytes_max];
  if (cgroup_path(path)) {
    const int file = open_trigger(path, trigger, length);
    if (file >= 0) return file;
  }
  return open_trigger(machine_file, trigger, length);
}

int pressure_wait(int descriptor, int timeout_ms) noexcept {
  pollfd waited{.fd = descriptor, .events = POLLPRI, .revents = 0};
  const int ready = poll(&waited, 1, timeout_ms);
  if (ready <= 0) return ready;
  if ((waited.revents & POLLPRI) != 0) return 1;
  errno = (waited.revents & POLLNVAL) != 0 ? EBADF : ENODEV;  // The cgroup is gone, or no trigger.
  return -1;
}

}  // namespace tarn::os
