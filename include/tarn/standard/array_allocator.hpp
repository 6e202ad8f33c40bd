// array_allocator.hpp: an allocator without state for the standard's node containers (forward_list,
// list, set, multiset, map, multimap, and the unordered ones). Its nodes lie in static ArrayPools
// (C++11, header only).
//
//   std::list<int, tarn::ArrayAllocator<int, 1000>> numbers;   // at most 1000 elements, in .bss
//
// All lists of such a type share one pool of 1000 nodes. The pool is constant-initialised and never
// destroyed, so static containers may use it before and after main.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_ARRAY_ALLOCATOR_HPP
#define TARN_ARRAY_ALLOCATOR_HPP

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <cstddef>
#include <limits>
#include <new>
#include <type_traits>

#include "../detail/errors.hpp"
#include "../detail/lock.hpp"
#include "../pool/array_pool.hpp"

namespace tarn {

// A lock of the user's choice for a pool that several threads share. It is meant for the few
// instructions of a pool: waiting threads spin, and interrupt handlers must not use it.
class SpinLock {
 public:
  constexpr SpinLock() noexcept = default;
  // Acquire: pairs with the release in unlock().
  void lock() noexcept {
    while (__atomic_exchange_n(&taken_, true, __ATOMIC_ACQUIRE)) {
      while (__atomic_load_n(&taken_, __ATOMIC_RELAXED)) {
      }
    }
  }
  void unlock() noexcept { __atomic_store_n(&taken_, false, __ATOMIC_RELEASE); }

 private:
  bool taken_ = false;
};

// For ArrayAllocator: no more nodes than its capacity, as with OverflowThrow, but arrays come from
// operator new.
struct OverflowThrowNodes : OverflowNew {};

// The static pool of all nodes with one size, alignment, capacity, policy, tag and lock.
template <std::size_t node_count, std::size_t node_bytes, std::size_t alignment, class Overflow,
          class Tag, class Lock>
struct ArrayNodes {
  using NodeOverflow = typename std::conditional<std::is_same<Overflow, OverflowThrowNodes>::value,
                                                 OverflowThrow, Overflow>::type;
  static_assert(std::is_trivially_destructible<Overflow>::value,
                "the pool outlives all static containers: its fallback has no destructor");
  using Pool = ArrayPool<node_count, node_bytes, alignment, NodeOverflow, ArrayChecks::cheap, Lock>;
  static Pool pool;
};
template <std::size_t node_count, std::size_t node_bytes, std::size_t alignment, class Overflow,
          class Tag, class Lock>
typename ArrayNodes<node_count, node_bytes, alignment, Overflow, Tag, Lock>::Pool
    ArrayNodes<node_count, node_bytes, alignment, Overflow, Tag, Lock>::pool;

// An allocator whose nodes lie in a static pool. node_count is the number of nodes, shared by all
// containers whose allocators have equal parameters and whose nodes have equal size; a Tag of your
// own keeps containers apart. Overflow says what happens when no node is free, as for ArrayPool:
// with OverflowThrow std::bad_alloc is thrown, or the program traps where there are no exceptions,
// since no container expects null. Arrays (vectors, the buckets of unordered containers) come from
// the fallback; without one they are out of memory, unless the policy is OverflowThrowNodes.
// Threads may use containers of one type, each its own, unless Lock is NoLock: then they share
// nodes, and one thread uses all of them, or the program orders its threads. allocate and
// deallocate take constant time.
template <class T, std::size_t node_count, class Overflow = OverflowThrow, class Tag = void,
          class Lock = DefaultLock>
class ArrayAllocator {
  static_assert(!std::is_same<Overflow, OverflowNull>::value, "no container expects null");
  template <class Node>
  using NodesOf = ArrayNodes<node_count, sizeof(Node), alignof(Node), Overflow, Tag, Lock>;
  template <class Node>
  using PoolOf = typename NodesOf<Node>::Pool;

 public:
  using value_type = T;
  using is_always_equal = std::true_type;
  using propagate_on_container_copy_assignment = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  template <class U>
  struct rebind {
    using other = ArrayAllocator<U, node_count, Overflow, Tag, Lock>;
  };

  constexpr ArrayAllocator() noexcept = default;
  template <class U>
  constexpr ArrayAllocator(const ArrayAllocator<U, node_count, Overflow, Tag, Lock>&) noexcept {}

  TARN_NODISCARD T* allocate(std::size_t count) {
    void* const p = count <= 1 ? pool().try_allocate() : try_allocate_array(count);
    if (TARN_UNLIKELY(p == nullptr)) throw_or_trap<std::bad_alloc>();
    return static_cast<T*>(p);
  }
  void deallocate(T* p, std::size_t count) noexcept {
    if (count <= 1) return pool().deallocate(p);
    if (arrays_are_new_) return OverflowNew::deallocate(p, count * sizeof(T), alignof(T));
    pool().deallocate_overflow(p, count * sizeof(T), alignof(T));
  }

  std::size_t max_size() const noexcept {
    return has_arrays_ ? PTRDIFF_MAX / sizeof(T) : node_count;
  }

  // The pool of nodes of type Node. (The nodes of a container are larger than its values.)
  template <class Node = T>
  static PoolOf<Node>& pool() noexcept {
    return NodesOf<Node>::pool;
  }

 private:
  static constexpr bool has_arrays_ = !std::is_same<Overflow, OverflowThrow>::value;
  static constexpr bool arrays_are_new_ = std::is_same<Overflow, OverflowThrowNodes>::value;

  static void* try_allocate_array(std::size_t count) noexcept {
    std::size_t bytes = 0;
    if (!checked_multiply(count, sizeof(T), &bytes)) return nullptr;
    if (arrays_are_new_) return OverflowNew::try_allocate(bytes, alignof(T));
    return pool().try_allocate_overflow(bytes, alignof(T));
  }
};

template <class T, class U, std::size_t node_count, class Overflow, class Tag, class Lock>
constexpr bool operator==(const ArrayAllocator<T, node_count, Overflow, Tag, Lock>&,
                          const ArrayAllocator<U, node_count, Overflow, Tag, Lock>&) noexcept {
  return true;
}
template <class T, class U, std::size_t node_count, class Overflow, class Tag, class Lock>
constexpr bool operator!=(const ArrayAllocator<T, node_count, Overflow, Tag, Lock>&,
                          const ArrayAllocator<U, node_count, Overflow, Tag, Lock>&) noexcept {
  return false;
}

}  // namespace tarn

#endif
#endif
