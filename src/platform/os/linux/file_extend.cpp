// file_extend on Linux; apart from the rest of `file`, since the fake OS has one that fails.
//
// SPDX-License-Identifier: MIT
#include <cerrno>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>

#include "platform/os/file.hpp"

namespace tarn::os {

bool file_extend(int file, std::size_t bytes) noexcept {
  // A write beyond the limit would raise SIGXFSZ, a store to a page without a block SIGBUS.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) {
    errno = EFBIG;
    return false;
  }
  int before = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  int failed = 0;
  do {
    failed = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  } while (failed == EINTR);
  pthread_setcancelstate(before, nullptr);
  if (failed != 0) errno = failed;
  return failed == 0;
}

}  // namespace tarn::os
