// system_malloc: the system's malloc, for passthrough heaps and the source of that name. Where tarn
// is not the process's malloc, it is what the program calls malloc (system_malloc.cpp in the
// system's folder). Where tarn is, it is libc's, under libc's own names for it (libc_malloc.cpp).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace tarn {

// False when there is none that the library can call: then the functions below may not be called.
bool system_malloc_known() noexcept;

// Like malloc, or like posix_memalign beyond its alignment; null when out of memory. pre: alignment
// is a power of two
void* system_allocate(std::size_t bytes, std::size_t alignment) noexcept;

void* system_reallocate(void* p, std::size_t bytes) noexcept;
void system_free(void* p) noexcept;

}  // namespace tarn
