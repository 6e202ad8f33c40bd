// libc_malloc: the system's malloc for passthrough heaps, where tarn is the process's malloc: the
// one that libc has under names of its own. Weak: a static link leaves it out, and other libcs have
// none; then there are no passthrough heaps.
//
// SPDX-License-Identifier: MIT
#include "platform/os/system_malloc.hpp"

#include <cstddef>

extern "C" {
[[gnu::weak]] void* __libc_malloc(std::size_t bytes);
[[gnu::weak]] void* __libc_memalign(std::size_t alignment, std::size_t bytes);
[[gnu::weak]] void* __libc_realloc(void* p, std::size_t bytes);
[[gnu::weak]] void __libc_free(void* p);
}

namespace tarn {

bool system_malloc_known() noexcept {
  return __libc_malloc != nullptr && __libc_memalign != nullptr && __libc_realloc != nullptr &&
         __libc_free != nullptr;
}

void* system_allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (alignment <= alignof(std::max_align_t)) return __libc_malloc(bytes);
  return __libc_memalign(alignment, bytes);
}

void* system_reallocate(void* p, std::size_t bytes) noexcept {
  return __libc_realloc(p, bytes == 0 ? 1 : bytes);
}

void system_free(void* p) noexcept { __libc_free(p); }

}  // namespace tarn
