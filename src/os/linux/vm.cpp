// vm on Linux: anonymous private mappings.
//
// SPDX-License-Identifier: MIT
#include "os/vm.hpp"

#include <atomic>
#include <cerrno>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "base/check.hpp"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

namespace tarn::os {

void* vm_reserve(std::size_t bytes) noexcept {
  const int saved = errno;
  void* const start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  errno = saved;
  return start == MAP_FAILED ? nullptr : start;
}

bool vm_release(void* start, std::size_t bytes) noexcept {
  const int saved = errno;
  const bool done = munmap(start, bytes) == 0;
  errno = saved;
  return done;
}

bool vm_purge(void* start, std::size_t bytes) noexcept {
  const int saved = errno;
  const bool done = madvise(start, bytes, MADV_DONTNEED) == 0;
  errno = saved;
  return done;
}

bool vm_move(void* from, void* to, std::size_t bytes) noexcept {
  const int saved = errno;
  void* const moved =
      mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to);
  if (moved != to) {
    // Kernels before 6.17 unmap the target first, and then refuse a source that earlier moves have
    // left in several mappings.
    void* const again = mmap(to, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    TARN_CHECK(again == to);
  }
  errno = saved;
  return moved == to;
}

void vm_name(void* start, std::size_t bytes, const char* name) noexcept {
  // Kernels without CONFIG_ANON_VMA_NAME say EINVAL; then asking again is a call for nothing.
  static std::atomic<bool> names_refused{false};
  if (names_refused.load(std::memory_order_relaxed)) return;
  const int saved = errno;
  if (prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, start, bytes, name) != 0) {
    names_refused.store(true, std::memory_order_relaxed);
  }
  errno = saved;
}

}  // namespace tarn::os
