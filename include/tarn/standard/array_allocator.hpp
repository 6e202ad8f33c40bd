// array_allocator.hpp: an allocator without state for the standard's node containers (forward_list,
// list, set, multiset, map, multimap). Its nodes lie in static ArrayPools (C++17, header only).
//
//   std::list<int, tarn::ArrayAllocator<int, 1000>> numbers;   // at most 1000 elements, in .bss
//
// All lists of such a type share one pool of 1000 nodes. The pool is constant-initialised and never
// destroyed, so static containers may use it before and after main.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_ARRAY_ALLOCATOR_HPP
#define TARN_ARRAY_ALLOCATOR_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cstddef>
#include <limits>
#include <new>
#include <type_traits>

#include "../detail/lock.hpp"
#include "../pool/array_pool.hpp"

namespace tarn {

// A lock by which the threads of a program share a static pool. (With NoLock they do not: one
// thread uses all containers of the type, or the program orders its threads.) It is meant for the
// few instructions of a pool: waiting threads spin, and interrupt handlers must not use it.
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

// The static pool of all nodes with one size, alignment, capacity, policy, tag and lock.
template <std::size_t node_count, std::size_t node_bytes, std::size_t alignment, class Overflow,
          class Tag, class Lock>
struct ArrayNodes {
  using Pool = ArrayPool<node_count, node_bytes, alignment, Overflow>;
  static_assert(std::is_trivially_destructible_v<Overflow>,
                "the pool outlives all static containers: its fallback has no destructor");
  static inline Pool pool{};
  static inline Lock lock{};
};

// An allocator whose nodes lie in a static pool. node_count is the number of nodes, shared by all
// containers whose allocators have equal parameters and whose nodes have equal size; a Tag of your
// own keeps containers apart. Overflow says what happens when no node is free, as for ArrayPool:
// with OverflowThrow std::bad_alloc is thrown, or the program traps where there are no exceptions,
// since no container expects null. Arrays (vectors, the buckets of unordered containers) come from
// the fallback; without one they are out of memory. allocate and deallocate take constant time.
template <class T, std::size_t node_count, class Overflow = OverflowThrow, class Tag = void,
          class Lock = NoLock>
class ArrayAllocator {
  static constexpr bool has_fallback_ = !std::is_same_v<Overflow, OverflowThrow>;
  static_assert(!std::is_same_v<Overflow, OverflowNull>, "no container expects null");
  static_assert(!std::is_same_v<Lock, LockFree>, "an ArrayPool has no way without a lock");

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

  [[nodiscard]] T* allocate(std::size_t count) {
    void* const p = count <= 1 ? try_allocate_node() : try_allocate_array(count);
    if (TARN_UNLIKELY(p == nullptr)) out_of_memory();
    return static_cast<T*>(p);
  }
  void deallocate(T* p, std::size_t count) noexcept {
    using Nodes = NodesOf<T>;
    const LockScope<Lock> held(Nodes::lock);
    if (count <= 1) return Nodes::pool.deallocate(p);
    if constexpr (has_fallback_) {
      Nodes::pool.overflow().deallocate(p, count * sizeof(T), alignof(T));
    }
  }

  std::size_t max_size() const noexcept {
    return has_fallback_ ? PTRDIFF_MAX / sizeof(T) : node_count;
  }

  // The pool of nodes of type Node. (The nodes of a container are larger than its values.)
  template <class Node = T>
  static auto& pool() noexcept {
    return NodesOf<Node>::pool;
  }

 private:
  template <class Node>
  using NodesOf = ArrayNodes<node_count, sizeof(Node), alignof(Node), Overflow, Tag, Lock>;

  static void* try_allocate_node() noexcept {
    using Nodes = NodesOf<T>;
    const LockScope<Lock> held(Nodes::lock);
    return Nodes::pool.try_allocate();
  }
  static void* try_allocate_array(std::size_t count) noexcept {
    if constexpr (has_fallback_) {
      std::size_t bytes = 0;
      if (!checked_multiply(count, sizeof(T), &bytes)) return nullptr;
      using Nodes = NodesOf<T>;
      const LockScope<Lock> held(Nodes::lock);
      return Nodes::pool.overflow().try_allocate(bytes, alignof(T));
    } else {
      return nullptr;
    }
  }
  [[noreturn]] static void out_of_memory() {
#if defined(__cpp_exceptions)
    throw std::bad_alloc();
#else
    __builtin_trap();
#endif
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
