// compat/array_pool.hpp: the pool and the allocator of V. Stadnik's "Array-Based Memory Pool and
// Allocator" (2023) under their own names, over tarn::ArrayPool and tarn::ArrayAllocator (C++17,
// header only, nothing to link). docs/array_pools.md says what differs from the source.
//
//   ArrayPool<1000, 24> pool;                        // the last freed block first, else the lowest
//   void* block = pool.Allocate();
//   pool.Free(block);
//   std::list<int, ArrayAllocatorSTL<int, 1000>> numbers;   // its nodes lie in a static pool
//
// One thread at a time. Constant time. Freeing what is no live block of the pool is reported and
// ends the process.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_COMPAT_ARRAY_POOL_HPP
#define TARN_COMPAT_ARRAY_POOL_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cstddef>

#include "../standard/array_allocator.hpp"

// A pool of num_blocks blocks of block_size bytes, at least 1, in the object itself. Blocks are
// aligned as their size allows, to std::max_align_t at most. The pool is constant-initialised,
// however large, and memory that was never used is never touched. Each free is checked to be of a
// live block.
template <std::size_t num_blocks, std::size_t block_size>
class ArrayPool {
 public:
  constexpr ArrayPool() noexcept = default;
  ArrayPool(const ArrayPool&) = delete;
  ArrayPool& operator=(const ArrayPool&) = delete;

  // A block, not zeroed; null when none is free.
  [[nodiscard]] void* Allocate() noexcept { return pool_.try_allocate(); }
  // Frees a block. Null is ignored.
  void Free(void* block) noexcept { pool_.deallocate(block); }

  // Beware: these two speak of the stack of free blocks, as the source does, so they mean the
  // reverse of is_empty() and is_full() everywhere else. IsEmpty is true when no block is free,
  // IsFull when all blocks are.
  bool IsEmpty() const noexcept { return pool_.is_full(); }
  bool IsFull() const noexcept { return pool_.is_empty(); }

 private:
  using Pool = tarn::ArrayPool<num_blocks, block_size, tarn::natural_alignment(block_size),
                               tarn::OverflowNull, tarn::ArrayChecks::exact>;
  Pool pool_;
};

// An allocator for the standard's node containers. All whose nodes have one size and alignment
// share a static pool of N nodes; std::bad_alloc is thrown when none is free. It has no state, so
// all of them are equal.
template <class T, std::size_t N>
using ArrayAllocatorSTL = tarn::ArrayAllocator<T, N>;

#endif
#endif
