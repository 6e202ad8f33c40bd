// heap: the functions of tarn/heap/heap.h.
//
// SPDX-License-Identifier: MIT
#include <cerrno>

#include "engine/records/record.hpp"
#include "heaps/blocks/allocate.hpp"
#include "heaps/blocks/fixed.hpp"
#include "heaps/blocks/lookup.hpp"
#include "heaps/heap/handle.hpp"
#include "heaps/operations/check.hpp"
#include "heaps/operations/freeze.hpp"
#include "heaps/operations/life.hpp"
#include "heaps/operations/stats.hpp"
#include "heaps/operations/trim.hpp"
#include "heaps/operations/walk.hpp"
#include "malloc/blocks/default_heap.hpp"
#include "malloc/blocks/free.hpp"
#include "malloc/blocks/resize.hpp"
#include "platform/base/bits.hpp"
#include "tarn/heap/heap.h"

extern "C" {

tarn_heap tarn_heap_create(const tarn_heap_options* options) {
  return tarn::heap_create(options);
}

int tarn_heap_destroy(tarn_heap heap) {
  if (heap.record == nullptr) return 0;
  return tarn::heap_clear(heap, true, "tarn_heap_destroy") ? 0 : -1;
}

int tarn_heap_delete(tarn_heap heap) { return tarn::heap_delete(heap) ? 0 : -1; }

int tarn_heap_clear(tarn_heap heap) {
  return tarn::heap_clear(heap, false, "tarn_heap_clear") ? 0 : -1;
}

void* tarn_heap_allocate(tarn_heap heap, std::size_t size) {
  return tarn::heap_allocate(heap, size, "tarn_heap_allocate");
}

void* tarn_heap_allocate_zeroed(tarn_heap heap, std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (!tarn::checked_multiply(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return tarn::heap_allocate_slow(
      heap, {.bytes = bytes,
             .zero = true,
             .function = "tarn_heap_allocate_zeroed",
             .site = __builtin_return_address(0)});
}

void* tarn_heap_allocate_aligned(tarn_heap heap, std::size_t alignment, std::size_t size) {
  if (!tarn::is_power_of_two(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  return tarn::heap_allocate_slow(
      heap, {.bytes = size,
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
  return tarn::heap_reallocate(heap, p, size, "tarn_heap_reallocate",
                               __builtin_return_address(0));
}

tarn_fixed tarn_heap_fixed(tarn_heap heap, std::size_t size, std::size_t alignment) {
  return tarn::heap_fixed(heap, size, alignment);
}

void* tarn_fixed_allocate(tarn_fixed fixed) { return tarn::fixed_allocate(fixed); }

int tarn_heap_try_expand(void* p, std::size_t size) { return tarn::heap_try_expand(p, size); }

void tarn_heap_deallocate(void* p) { tarn::deallocate(p); }

void tarn_heap_deallocate_sized(void* p, std::size_t size) { tarn::deallocate_sized(p, size); }

std::size_t tarn_heap_usable_bytes(const void* p) {
  return tarn::usable_bytes(p, "tarn_heap_usable_bytes");
}

tarn_heap tarn_heap_of(const void* p) { return tarn::heap_of(p); }

int tarn_heap_owns(tarn_heap heap, const void* p) {
  const tarn_heap of = tarn::heap_of(p);
  return heap.record != nullptr && of.record == heap.record && of.id == heap.id;
}

int tarn_heap_set_ceiling(tarn_heap heap, std::size_t bytes) {
  return tarn::heap_set_limit(heap, &tarn::Limits::set_ceiling, bytes, "tarn_heap_set_ceiling");
}

int tarn_heap_set_floor(tarn_heap heap, std::size_t bytes) {
  return tarn::heap_set_limit(heap, &tarn::Limits::set_floor, bytes, "tarn_heap_set_floor");
}

int tarn_heap_set_soft_mark(tarn_heap heap, std::size_t bytes) {
  return tarn::heap_set_limit(heap, &tarn::Limits::set_soft_mark, bytes, "tarn_heap_set_soft_mark");
}

int tarn_heap_look(tarn_heap heap, const void* p) { return tarn::heap_look(heap, p); }

int tarn_heap_check(tarn_heap heap) { return tarn::heap_check(heap); }

tarn_heap tarn_heap_main(void) { return tarn::main_record.handle(); }

std::size_t tarn_heap_trim(tarn_heap heap, std::size_t keep_bytes) {
  return tarn::heap_trim(heap, keep_bytes);
}

int tarn_heap_lock(tarn_heap heap) {
  return tarn::heap_lock(heap, "tarn_heap_lock") != nullptr ? 0 : -1;
}

int tarn_heap_unlock(tarn_heap heap) { return tarn::heap_unlock(heap) ? 0 : -1; }

int tarn_heap_freeze(tarn_heap heap) {
  return tarn::heap_set_frozen(heap, true, "tarn_heap_freeze") ? 0 : -1;
}

int tarn_heap_thaw(tarn_heap heap) {
  return tarn::heap_set_frozen(heap, false, "tarn_heap_thaw") ? 0 : -1;
}

int tarn_heap_walk(tarn_heap heap, unsigned flags, tarn_heap_visit visit, void* context) {
  if (visit == nullptr || (flags & ~unsigned{TARN_HEAP_WALK_FREE}) != 0) {
    errno = EINVAL;
    return -1;
  }
  return tarn::heap_walk(heap, flags, visit, context);
}

tarn_heap tarn_heap_next(tarn_heap heap) { return tarn::heap_next(heap); }

tarn_heap tarn_heap_set_default(tarn_heap heap) { return tarn::heap_set_default(heap); }

int tarn_heap_get_stats(tarn_heap heap, tarn_heap_stats* stats) {
  return tarn::heap_stats(heap, stats) ? 0 : -1;
}

const char* tarn_heap_name(tarn_heap heap) {
  const tarn::HeapRecord* const record = tarn::live_record(heap, "tarn_heap_name");
  return record == nullptr ? "" : record->name;
}

}  // extern "C"
