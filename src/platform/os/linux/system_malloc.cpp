// system_malloc: the system's malloc for passthrough heaps, where tarn is not the process's malloc:
// what the program calls malloc, be it libc's or that of a tool.
//
// SPDX-License-Identifier: MIT
#include "platform/os/system_malloc.hpp"

#include <cstddef>
#include <cstdlib>

namespace tarn {

bool system_malloc_known() noexcept { return true; }

void* system_allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes == 0 ? 1 : bytes);
  void* block = nullptr;
  return posix_memalign(&block, alignment, bytes == 0 ? 1 : bytes) == 0 ? block : nullptr;
}

void* system_reallocate(void* p, std::size_t bytes) noexcept {
  return std::realloc(p, bytes == 0 ? 1 : bytes);
}

void system_free(void* p) noexcept { std::free(p); }

}  // namespace tarn
