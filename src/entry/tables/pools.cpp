// pools: tables over what has blocks of one size. See tarn/heap/malloc_table.h.
//
// SPDX-License-Identifier: MIT
#include "tarn/heap/malloc_table.hpp"
#include "tarn/pool/fixed_allocator.h"
#include "tarn/pool/object_cache.h"
#include "tarn/pool/region_array_pool.h"
#include "tarn/pool/shared_array_pool.h"

namespace tarn {

namespace {

// What these tables have in common; Own says how an A is asked, and the size and alignment of its
// blocks.
template <class A, class Own>
struct BlocksUse {
  static constexpr bool keeps_size = false;
  static void* take(A& a, std::size_t bytes, std::size_t alignment) noexcept {
    return bytes <= Own::bytes(a) && alignment <= Own::alignment(a) ? Own::take(&a) : nullptr;
  }
  static void give(A& a, void* p, std::size_t, std::size_t) noexcept { Own::give(&a, p); }
  static std::size_t bytes_of(A& a, const void*) noexcept { return Own::bytes(a); }
};

struct PoolBlocks {
  static std::size_t bytes(const tarn_pool& a) noexcept { return a.block_bytes; }
  static std::size_t alignment(const tarn_pool& a) noexcept { return a.alignment; }
  static void* take(tarn_pool* a) noexcept { return tarn_pool_allocate(a); }
  static void give(tarn_pool* a, void* p) noexcept { tarn_pool_deallocate(a, p); }
};

struct FixedAllocatorBlocks {
  static std::size_t bytes(const tarn_fixed_allocator& a) noexcept { return a.block_bytes; }
  static std::size_t alignment(const tarn_fixed_allocator& a) noexcept { return a.alignment; }
  static void* take(tarn_fixed_allocator* a) noexcept { return tarn_fixed_allocator_allocate(a); }
  static void give(tarn_fixed_allocator* a, void* p) noexcept {
    tarn_fixed_allocator_deallocate(a, p);
  }
};

struct ObjectMemory {
  static std::size_t bytes(const tarn_object_cache& a) noexcept {
    return a.pool.block_bytes - a.offset;
  }
  static std::size_t alignment(const tarn_object_cache& a) noexcept { return a.pool.alignment; }
  static void* take(tarn_object_cache* a) noexcept { return tarn_object_cache_allocate(a); }
  static void give(tarn_object_cache* a, void* p) noexcept { tarn_object_cache_deallocate(a, p); }
};

struct ArrayBlocks {
  static std::size_t bytes(const tarn_array_pool& a) noexcept { return a.blocks.block_bytes; }
  static std::size_t alignment(const tarn_array_pool& a) noexcept {
    return tarn_array_alignment(&a.blocks);
  }
  static void* take(tarn_array_pool* a) noexcept { return tarn_array_pool_allocate(a); }
  static void give(tarn_array_pool* a, void* p) noexcept { tarn_array_pool_deallocate(a, p); }
};

struct SharedArrayBlocks {
  static std::size_t bytes(const tarn_shared_array_pool& a) noexcept {
    return a.blocks.block_bytes;
  }
  static std::size_t alignment(const tarn_shared_array_pool& a) noexcept {
    return tarn_array_alignment(&a.blocks);
  }
  static void* take(tarn_shared_array_pool* a) noexcept {
    return tarn_shared_array_pool_allocate(a);
  }
  static void give(tarn_shared_array_pool* a, void* p) noexcept {
    tarn_shared_array_pool_deallocate(a, p);
  }
};

template <class Own, class A>
tarn_malloc_table table_of(A* blocks) noexcept {
  if (blocks == nullptr || Own::alignment(*blocks) < 16) return {};
  return MallocTableOf<A, BlocksUse<A, Own>>::table(blocks);
}

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

tarn_malloc_table tarn_pool_malloc_table(tarn_pool* pool) { return table_of<PoolBlocks>(pool); }

tarn_malloc_table tarn_fixed_allocator_malloc_table(tarn_fixed_allocator* blocks) {
  return table_of<FixedAllocatorBlocks>(blocks);
}

tarn_malloc_table tarn_object_cache_malloc_table(tarn_object_cache* cache) {
  return table_of<ObjectMemory>(cache);
}

tarn_malloc_table tarn_array_pool_malloc_table(tarn_array_pool* pool) {
  return table_of<ArrayBlocks>(pool);
}

tarn_malloc_table tarn_shared_array_pool_malloc_table(tarn_shared_array_pool* pool) {
  return table_of<SharedArrayBlocks>(pool);
}

}  // extern "C"
