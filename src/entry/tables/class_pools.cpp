// class_pools: tables over class pools, of one's own and the process's. See
// tarn/heap/malloc_table.h.
//
// SPDX-License-Identifier: MIT
#include "tarn/pool/class_pools.h"

#include <cstddef>

#include "tarn/heap/malloc_table.h"
#include "tarn/pool/xalloc.h"

namespace tarn {

namespace {

tarn_class_pools* pools_of(void* context) noexcept {
  return static_cast<tarn_class_pools*>(context);
}

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

tarn_malloc_table tarn_class_pools_malloc_table(tarn_class_pools* pools) {
  if (pools == nullptr) return {};
  tarn_malloc_table made = TARN_MALLOC_TABLE_FIELDS();
  made.allocate = [](void* self, std::size_t bytes) {
    return tarn_class_pools_allocate(pools_of(self), bytes);
  };
  made.allocate_zeroed = [](void* self, std::size_t count, std::size_t bytes) {
    return tarn_class_pools_allocate_zeroed(pools_of(self), count, bytes);
  };
  made.allocate_aligned = [](void* self, std::size_t alignment, std::size_t bytes) {
    return tarn_class_pools_allocate_aligned(pools_of(self), alignment, bytes);
  };
  made.reallocate = [](void* self, void* p, std::size_t bytes) {
    return tarn_class_pools_reallocate(pools_of(self), p, bytes);
  };
  made.deallocate = [](void* self, void* p) { tarn_class_pools_deallocate(pools_of(self), p); };
  made.usable_size = [](void* self, const void* p) {
    return tarn_class_pools_usable_bytes(pools_of(self), p);
  };
  made.context = pools;
  return made;
}

tarn_malloc_table tarn_xalloc_malloc_table(void) {
  tarn_malloc_table made = TARN_MALLOC_TABLE_FIELDS();
  made.allocate = [](void*, std::size_t bytes) { return tarn_xmalloc(bytes); };
  made.allocate_zeroed = [](void*, std::size_t count, std::size_t bytes) {
    return tarn_xcalloc(count, bytes);
  };
  made.allocate_aligned = [](void*, std::size_t alignment, std::size_t bytes) {
    return tarn_xmalloc_aligned(alignment, bytes);
  };
  made.reallocate = [](void*, void* p, std::size_t bytes) { return tarn_xrealloc(p, bytes); };
  made.deallocate = [](void*, void* p) { tarn_xfree(p); };
  made.usable_size = [](void*, const void* p) { return tarn_xalloc_usable_bytes(p); };
  return made;
}

}  // extern "C"
