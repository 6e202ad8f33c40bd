// resize: resizes a block, in place or moved, in its heap or into another one.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "tarn/heap/heap.h"

namespace tarn {

// As realloc for p != null and bytes != 0: the block stays in its heap. On failure null with errno
// ENOMEM, and the block is as it was.
void* reallocate(void* p, std::size_t bytes) noexcept;

// True when a block of `size` bytes that is to have `bytes` stays where it is.
bool keeps_place(std::size_t size, std::size_t bytes) noexcept;

// As realloc for p != null and bytes != 0, into `heap`, from whatever heap p is of.
void* heap_reallocate(tarn_heap heap, void* p, std::size_t bytes, const char* function,
                      const void* site) noexcept;

// As tarn_heap_try_expand(), called at `site`.
bool heap_try_expand(void* p, std::size_t bytes, const void* site = nullptr) noexcept;

}  // namespace tarn
