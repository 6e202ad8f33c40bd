// family: what each function of the malloc family promises beyond its hit path: checked products,
// alignments, errno. Written once; malloc.cpp and api.cpp give it names. Inline whatever the
// compiler thinks of it: a block's site is the return address of the function that this is compiled
// into.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>

#include "engine/layout/geometry.hpp"
#include "malloc/blocks/allocate.hpp"
#include "malloc/blocks/free.hpp"
#include "malloc/blocks/resize.hpp"
#include "platform/base/bits.hpp"

namespace tarn {

TARN_INLINE void* calloc_checked(std::size_t count, std::size_t size) noexcept {
  std::size_t bytes = 0;
  if (TARN_UNLIKELY(!checked_multiply(count, size, &bytes))) {
    errno = ENOMEM;
    return nullptr;
  }
  return allocate_zeroed(bytes);
}

// Not inline: the usual case of realloc would need a stack frame for it.
TARN_NOINLINE inline void* realloc_to_nothing(void* p) noexcept {
  deallocate(p);
  return nullptr;
}

// As glibc: realloc(p, 0) frees p and gives null.
TARN_INLINE void* realloc_any(void* p, std::size_t bytes) noexcept {
  if (TARN_UNLIKELY(p == nullptr)) return allocate(bytes);
  if (TARN_UNLIKELY(bytes == 0)) return realloc_to_nothing(p);
  return reallocate(p, bytes);
}

TARN_INLINE void* reallocarray_checked(void* p, std::size_t count, std::size_t size) noexcept {
  std::size_t bytes = 0;
  if (!checked_multiply(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc_any(p, bytes);
}

TARN_INLINE void* aligned_alloc_checked(std::size_t alignment, std::size_t bytes) noexcept {
  if (!is_power_of_two(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  return allocate_aligned(bytes, alignment);
}

// As glibc: rounds the alignment up, and refuses one that has no power of two above it.
TARN_INLINE void* memalign_rounded(std::size_t alignment, std::size_t bytes) noexcept {
  constexpr std::size_t alignment_max = SIZE_MAX / 2 + 1;
  if (alignment > alignment_max) {
    errno = EINVAL;
    return nullptr;
  }
  return allocate_aligned(bytes, alignment == 0 ? 1 : std::bit_ceil(alignment));
}

// As glibc: errno is ENOMEM, too, when there is no memory, and otherwise unchanged.
TARN_INLINE int posix_memalign_checked(void** p, std::size_t alignment,
                                       std::size_t bytes) noexcept {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int saved = errno;
  void* const block = allocate_aligned(bytes, alignment);
  if (block == nullptr) return ENOMEM;
  errno = saved;
  *p = block;
  return 0;
}

TARN_INLINE void* pvalloc_rounded(std::size_t bytes) noexcept {
  if (bytes > request_bytes_max) {  // Rounding up below cannot wrap then.
    errno = ENOMEM;
    return nullptr;
  }
  const std::size_t rounded = align_up(bytes, slice_bytes);
  return allocate_aligned(rounded == 0 ? slice_bytes : rounded, slice_bytes);
}

}  // namespace tarn
