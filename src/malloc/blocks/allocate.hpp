// allocate: malloc's allocation, the hit path inline. Nothing here throws: out of memory (or a size
// above PTRDIFF_MAX) is null, with errno ENOMEM set on the slow path that found out.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>

#include "engine/records/thread.hpp"
#include "engine/zones/zone.hpp"
#include "heaps/heap/request.hpp"

namespace tarn {

// `site` is the return address of the public function, for reports. Where none is passed, it is
// that of the callee, to which the compiler jumps. The family is what heaps that check their blocks
// remember; without one it is malloc's.
void* allocate_stepped(std::size_t bytes) noexcept;  // Above linear_bytes_max.
void* allocate_stepped(std::size_t bytes, Family family, const void* site) noexcept;
// Any size, when the hit path found no block.
void* allocate_slow(std::size_t bytes, Family family, const void* site) noexcept;

// A block that is at hand; null when there is none, and for what is above linear_bytes_max.
TARN_INLINE void* allocate_at_hand(std::size_t bytes) noexcept {
  if (TARN_UNLIKELY(bytes > linear_bytes_max)) return nullptr;
  return cache_take(current_serving->cache, linear_class_of(bytes));
}
// After that one.
TARN_INLINE void* allocate_past_hand(std::size_t bytes, Family family, const void* site) noexcept {
  if (bytes > linear_bytes_max) return allocate_stepped(bytes, family, site);
  return allocate_slow(bytes, family, site);
}
// 15 instructions and 2 branches to the return.
TARN_INLINE void* allocate(std::size_t bytes) noexcept {
  if (TARN_UNLIKELY(bytes > linear_bytes_max)) return allocate_stepped(bytes);
  if (void* const block = allocate_at_hand(bytes)) return block;
  return allocate_slow(bytes, Family::malloc, __builtin_return_address(0));
}

// A block of which all usable bytes read as zero: programs that use more than they asked for do not
// zero it again.
void* allocate_zeroed(std::size_t bytes) noexcept;

// pre: alignment is a power of two.
void* allocate_aligned(std::size_t bytes, std::size_t alignment, Family family = Family::malloc,
                       const void* site = __builtin_return_address(0)) noexcept;

}  // namespace tarn
