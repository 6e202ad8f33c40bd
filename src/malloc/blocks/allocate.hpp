// allocate: malloc's allocation, the hit path inline. Nothing here throws: out of memory (or a size
// above PTRDIFF_MAX) is null, with errno ENOMEM set on the slow path that found out.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>

#include "engine/records/thread.hpp"
#include "engine/zones/zone.hpp"

namespace tarn {

// What a program does to a block is told with the return address of the function that it called:
// `site`. Where none is passed it is that of the callee, to which the compiler jumps.
void* allocate_stepped(std::size_t bytes) noexcept;  // Above linear_bytes_max.
// Any size; the hit path found no block.
void* allocate_slow(std::size_t bytes, const void* site) noexcept;
// 14 instructions and 2 branches to the return.
TARN_INLINE void* allocate(std::size_t bytes) noexcept {
  if (TARN_UNLIKELY(bytes > linear_bytes_max)) return allocate_stepped(bytes);
  Page* const page = current_heap->current[linear_class_of(bytes)];
  if (TARN_UNLIKELY(page->free == nullptr)) {
    return allocate_slow(bytes, __builtin_return_address(0));
  }
  return page_pop(page);
}

// All that usable_bytes() says of it reads as zero: programs zero no more when they come to use it.
void* allocate_zeroed(std::size_t bytes) noexcept;

// pre: alignment is a power of two.
void* allocate_aligned(std::size_t bytes, std::size_t alignment) noexcept;

}  // namespace tarn
