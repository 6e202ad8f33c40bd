// file_extend in tests: on a device of which a test says how much it holds.
//
// SPDX-License-Identifier: MIT
#include <atomic>
#include <cerrno>
#include <fcntl.h>

#include "platform/os/fake/fake.hpp"
#include "platform/os/file.hpp"

namespace tarn::os {

namespace {
std::atomic<std::size_t> device{0};
}

namespace fake {
void limit_file_bytes(std::size_t bytes) noexcept { device.store(bytes); }
}  // namespace fake

bool file_extend(int file, std::size_t bytes) noexcept {
  const bool full = device.load() != 0 && bytes > device.load();
  const int failed = full ? ENOSPC : posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (failed != 0) errno = failed;
  return failed == 0;
}

}  // namespace tarn::os
