// array_allocator.hpp: an allocator for the standard's node containers (forward_list, list, set,
// multiset, map, multimap) that has no state: its nodes lie in static ArrayPools (C++17, header
// only).
//
//   std::list<int, tarn::ArrayAllocator<int, 1000>> numbers;   // at most 1000 elements, in .bss
//
// All lists of such a type share one pool of 1000 nodes. The pool is constant-initialised and never
// destroyed, so static containers may use it before main and after it.
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

#include "../detail/lock.hpp"
#include "../pool/array_pool.hpp"

namespace tarn {

// How the threads of a program share a static pool: not at all (NoLock: one thread uses all
// containers of the type, or the program orders them), or one after another, by this lock. It is
// for a pool's few instructions: waiting is by turning; interrupt handlers must not use it.
class SpinLock {
 public:
  constexpr SpinLock() noexcept = default;
  // Acquire: partner of unlock's release.
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

// The static pool of all nodes with one size and alignment, one capacity, policy and tag.
template <std::size_t node_count, std::size_t node_bytes, std::size_t alignment, class Overflow,
          class Tag, class Lock>
struct ArrayNodes {
  using Pool = ArrayPool<node_count, node_bytes, alignment, Overflow>;
  static_assert(std::is_trivially_destructible_v<Overflow>,
                "the pool outlives all static containers: its fallback has no destructor");
  static inline Pool pool{};
  static inline Lock lock{};
};

// node_count: nodes of each size, together for all containers whose allocators have equal
// parameters and whose nodes are of equal size; a Tag of one's own keeps containers apart.
// Overflow: what happens at the capacity, as for ArrayPool; OverflowThrow is std::bad_alloc, and a
// trap where there are no exceptions, since no container expects null. Arrays (vectors, the buckets
// of unordered containers) come from the fallback; without one they are out of memory. allocate and
// deallocate: O(1).
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

  // Of nodes like this one; a container's nodes are larger than its values.
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
