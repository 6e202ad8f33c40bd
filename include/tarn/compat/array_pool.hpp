// compat/array_pool.hpp: the pool and the allocator of V. Stadnik's "Array-Based Memory Pool and
// Allocator" (2023) under their own names, over tarn::ArrayPool (C++11, header only, nothing to
// link). docs/array_pools.md says what differs from the source, docs/migration.md has each name.
//
//   ArrayPool<1000, 24> pool;                        // the last freed block first, else the lowest
//   void* block = pool.Allocate();
//   pool.Deallocate(block);
//   std::list<int, ArrayAllocatorSTL<int>> numbers;  // its nodes lie in a static pool
//
// A pool is for one thread at a time; containers of one type may be used by several threads, each
// its own. Constant time. Freeing what is no live block is reported and ends the process.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_COMPAT_ARRAY_POOL_HPP
#define TARN_COMPAT_ARRAY_POOL_HPP

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <cstddef>
#include <new>
#include <utility>

#include "../standard/array_allocator.hpp"

// How many nodes of a type the containers of ArrayAllocatorSTL<T> have together. Define it before
// this header, alike in all files of the program. What is not used is reserved, not touched.
#if !defined(ARRAY_ALLOCATOR_CAPACITY)
#define ARRAY_ALLOCATOR_CAPACITY 100000
#endif
constexpr std::size_t ALR_CAPACITY = ARRAY_ALLOCATOR_CAPACITY;

// A pool of num_blocks blocks of block_size bytes, at least 1, in the object itself. Blocks are
// aligned as their size allows, to std::max_align_t at most. The pool is constant-initialised,
// however large, and memory that was never used is never touched. Each free is checked to be of a
// live block.
template <std::size_t num_blocks, std::size_t block_size>
class ArrayPool {
 public:
  constexpr ArrayPool() noexcept {}
  ArrayPool(const ArrayPool&) = delete;
  ArrayPool& operator=(const ArrayPool&) = delete;

  // A block, not zeroed; null when none is free.
  TARN_NODISCARD void* Allocate() noexcept { return pool_.try_allocate(); }
  // Two names for one function: frees a block. Null is ignored.
  void Deallocate(void* p_back) noexcept { pool_.deallocate(p_back); }
  void Free(void* block) noexcept { pool_.deallocate(block); }

  // Beware: these two speak of the stack of free blocks, as the source does, so they mean the
  // reverse of is_empty() and is_full() everywhere else. IsEmpty is true when no block is free,
  // IsFull when all blocks are.
  bool IsEmpty() const noexcept { return pool_.is_full(); }
  bool IsFull() const noexcept { return pool_.is_empty(); }

  std::size_t Capacity() const noexcept { return num_blocks; }
  std::size_t NumFree() const noexcept { return num_blocks - NumUsed(); }
  std::size_t NumUsed() const noexcept { return pool_.in_use(); }
  std::size_t MemorySize() const noexcept { return num_blocks * block_size; }  // Bytes of blocks.

  // The largest NumUsed() so far: how many blocks the pool should have. (Not in the source.)
  std::size_t NumUsedPeak() const noexcept { return pool_.peak(); }

 private:
  using Pool = tarn::ArrayPool<num_blocks, block_size, tarn::natural_alignment(block_size),
                               tarn::OverflowNull, tarn::ArrayChecks::exact>;
  Pool pool_;
};

// The names that allocators had before C++11.
template <class T>
class AllocrBaseSTL {
 public:
  typedef T value_type;
  typedef std::size_t size_type;
  typedef std::ptrdiff_t difference_type;
  typedef T* pointer;
  typedef const T* const_pointer;
  typedef T& reference;
  typedef const T& const_reference;

  pointer address(reference value) const noexcept { return &value; }
  const_pointer address(const_reference value) const noexcept { return &value; }
  template <class U, class... Args>
  void construct(U* p, Args&&... args) {
    ::new (static_cast<void*>(p)) U(std::forward<Args>(args)...);
  }
  template <class U>
  void destroy(U* p) {
    p->~U();
  }
};

// An allocator for the standard's containers. All nodes of one type lie in a static pool of
// `capacity` of them; what happens when none is free, and among threads, is said by the last two,
// as for tarn::ArrayAllocator. Here std::bad_alloc is thrown, arrays (of vectors, deques, unordered
// containers) come from operator new, and threads may use containers of one type, each its own. It
// has no state, so all of one type are equal.
template <class T, std::size_t capacity = ALR_CAPACITY, class Overflow = tarn::OverflowThrowNodes,
          class Lock = tarn::DefaultLock>
class ArrayAllocatorSTL : public AllocrBaseSTL<T> {
  using Nodes = tarn::ArrayAllocator<T, capacity, Overflow, T, Lock>;  // T's own, by the tag.

 public:
  using is_always_equal = typename Nodes::is_always_equal;
  using propagate_on_container_copy_assignment = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  template <class U>
  struct rebind {
    using other = ArrayAllocatorSTL<U, capacity, Overflow, Lock>;
  };

  constexpr ArrayAllocatorSTL() noexcept {}
  constexpr ArrayAllocatorSTL(const ArrayAllocatorSTL&) noexcept : AllocrBaseSTL<T>() {}
  template <class U>
  constexpr ArrayAllocatorSTL(const ArrayAllocatorSTL<U, capacity, Overflow, Lock>&) noexcept {}
  ArrayAllocatorSTL& operator=(const ArrayAllocatorSTL&) noexcept = default;

  TARN_NODISCARD T* allocate(std::size_t count, const void* = nullptr) {
    return Nodes().allocate(count);
  }
  void deallocate(T* p, std::size_t count) noexcept { Nodes().deallocate(p, count); }
  std::size_t max_size() const noexcept { return Nodes().max_size(); }
};

template <class T, class U, std::size_t capacity, class Overflow, class Lock>
constexpr bool operator==(const ArrayAllocatorSTL<T, capacity, Overflow, Lock>&,
                          const ArrayAllocatorSTL<U, capacity, Overflow, Lock>&) noexcept {
  return true;
}
template <class T, class U, std::size_t capacity, class Overflow, class Lock>
constexpr bool operator!=(const ArrayAllocatorSTL<T, capacity, Overflow, Lock>&,
                          const ArrayAllocatorSTL<U, capacity, Overflow, Lock>&) noexcept {
  return false;
}

// Nodes beyond the capacity come from operator new.
template <class T, std::size_t capacity = ALR_CAPACITY>
using ArrayAllocatorSpilling = ArrayAllocatorSTL<T, capacity, tarn::OverflowNew>;

// For programs that use all containers of a type in one thread.
template <class T, std::size_t capacity = ALR_CAPACITY>
using ArrayAllocatorUnlocked =
    ArrayAllocatorSTL<T, capacity, tarn::OverflowThrowNodes, tarn::NoLock>;

#endif
#endif
