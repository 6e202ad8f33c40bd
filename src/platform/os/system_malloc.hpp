// system_malloc: the system's malloc, for passthrough heaps and the source of that name. Where tarn
// is not the process's malloc it is what the program calls so (system_malloc.cpp in the system's
// folder); else it is the one that libc has under names of its own (libc_malloc.cpp).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace tarn {

// Without one, the functions below may not be called.
bool system_malloc_known() noexcept;

// As malloc or posix_memalign; null when out of memory. The alignment is a power of two.
void* system_allocate(std::size_t bytes, std::size_t alignment) noexcept;

void* system_reallocate(void* p, std::size_t bytes) noexcept;
void system_free(void* p) noexcept;

}  // namespace tarn
