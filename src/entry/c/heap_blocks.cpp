// heap_blocks: the functions of tarn/heap/heap.h for one block of a heap.
//
// SPDX-License-Identifier: MIT
#include <cerrno>

#include "heaps/blocks/allocate.hpp"
#include "heaps/blocks/fixed.hpp"
#include "heaps/blocks/lookup.hpp"
#include "malloc/blocks/free.hpp"
#include "malloc/blocks/resize.hpp"
#include "tarn/heap/heap.h"

extern "C" {

void* tarn_heap_allocate(tarn_heap heap, std::size_t size) {
  return tarn::heap_allocate(heap, size, "tarn_heap_allocate");
}

void* tarn_heap_allocate_zeroed(tarn_heap heap, std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (!tarn::checked_multiply(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return tarn::heap_allocate_slow(heap, {.bytes = bytes,
                                         .zero = true,
                                         .function = "tarn_heap_allocate_zeroed",
                                         .site = __builtin_return_address(0)});
}

void* tarn_heap_allocate_aligned(tarn_heap heap, std::size_t alignment, std::size_t size) {
  if (!tarn::is_power_of_two(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  return tarn::heap_allocate_slow(heap, {.bytes = size,
                                         .alignment = alignment,
                                         .function = "tarn_heap_allocate_aligned",
                                         .site = __builtin_return_address(0)});
}

void* tarn_heap_reallocate(tarn_heap heap, void* p, std::size_t size) {
  if (p == nullptr) return tarn::heap_allocate(heap, size, "tarn_heap_reallocate");
  if (size == 0) {
    tarn::deallocate(p);
    return nullptr;
  }
  return tarn::heap_reallocate(heap, p, size, "tarn_heap_reallocate", __builtin_return_address(0));
}

tarn_fixed tarn_heap_fixed(tarn_heap heap, std::size_t size, std::size_t alignment) {
  return tarn::heap_fixed(heap, size, alignment);
}

void* tarn_fixed_allocate(tarn_fixed fixed) { return tarn::fixed_allocate(fixed); }

int tarn_heap_try_expand(void* p, std::size_t size) {
  return tarn::heap_try_expand(p, size, __builtin_return_address(0));
}

void tarn_heap_deallocate(void* p) { tarn::heap_deallocate(p); }

void tarn_heap_deallocate_sized(void* p, std::size_t size) { tarn::heap_deallocate_sized(p, size); }

std::size_t tarn_heap_usable_bytes(const void* p) {
  return tarn::usable_bytes(p, "tarn_heap_usable_bytes", __builtin_return_address(0));
}

tarn_heap tarn_heap_of(const void* p) { return tarn::heap_of(p); }

int tarn_heap_owns(tarn_heap heap, const void* p) {
  const tarn_heap of = tarn::heap_of(p);
  return heap.record != nullptr && of.record == heap.record && of.id == heap.id;
}

}  // extern "C"
