// allocator.hpp: allocators for the standard's containers, over any allocator of tarn's (C++17;
// header only).
//
//   tarn::Heap heap("orders");
//   std::vector<Order, tarn::Allocator<Order>> orders{tarn::Allocator<Order>(heap)};
//
//   static tarn::StaticPool<48, 1000> nodes;                  // part of the type: no state
//   std::list<int, tarn::StaticAllocator<int, nodes>> numbers;
//
// A container that is given no heap does not compile. When there is no memory std::bad_alloc is
// thrown, and for a size that overflows std::bad_array_new_length; without exceptions both trap, as
// containers expect no null. Threads: as the allocator below. (Guide: docs/standard.md; containers:
// tarn/standard/containers.hpp.)
//
// SPDX-License-Identifier: MIT
#ifndef TARN_ALLOCATOR_HPP
#define TARN_ALLOCATOR_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "../detail/align.hpp"
#include "../detail/errors.hpp"
#include "../heap/heap.hpp"

namespace tarn {

// What happens to the allocator when containers are copied, moved or swapped. Moves and swaps take
// constant time where the allocator goes along. Where it does not, a move between different
// allocators moves each element, and a swap between them is not allowed.
//   PropagateMoves  a moved or swapped container takes its allocator along; copy assignment keeps
//                   the target's; a copy has the original's
//   PropagateAll    copy assignment brings the allocator along too: containers are values
//   PropagateNone   a container keeps the allocator it was made with, as std::pmr's do (except
//                   that copies of those have the default one)
struct PropagateMoves {
  using propagate_on_container_copy_assignment = std::false_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
};
struct PropagateAll {
  using propagate_on_container_copy_assignment = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
};
struct PropagateNone {
  using propagate_on_container_copy_assignment = std::false_type;
  using propagate_on_container_move_assignment = std::false_type;
  using propagate_on_container_swap = std::false_type;
};

// The result of allocate_at_least(): C++23's own where the standard library has it.
#if defined(__cpp_lib_allocate_at_least)
template <class Pointer>
using AllocationResult = std::allocation_result<Pointer>;
#else
template <class Pointer>
struct AllocationResult {
  Pointer ptr;
  std::size_t count;
};
#endif

// True for allocators that are handles. These are kept by value; others are kept by address, and
// must outlive their users.
template <class A, class = void>
struct IsHandle : std::false_type {};
template <class A>
struct IsHandle<A, std::void_t<decltype(A::is_handle)>> : std::bool_constant<A::is_handle> {};

// The type that refers to an allocator: HeapRef for a Heap or a tarn_heap, ArenaRef for an Arena;
// otherwise the allocator itself.
template <class A, class = void>
struct Reference {
  using Type = A;
  static constexpr bool is_of_owner = false;
};
template <class A>
struct Reference<A, std::void_t<typename A::Ref>> {
  using Type = typename A::Ref;
  static constexpr bool is_of_owner = true;
};
template <>
struct Reference<tarn_heap> {
  using Type = HeapRef;
  static constexpr bool is_of_owner = false;
};
template <class A>
using ReferenceTo = Reference<std::remove_cv_t<std::remove_reference_t<A>>>;
template <class A>
using RefOf = typename ReferenceTo<A>::Type;

// Whether a From leads to an A: it is an lvalue of what owns memory, or a handle.
template <class A, class From, bool by_value = IsHandle<A>::value>
struct LeadsTo : std::bool_constant<std::is_lvalue_reference_v<From> &&
                                    std::is_convertible_v<std::remove_reference_t<From>*, A*>> {};
template <class A, class From>
struct LeadsTo<A, From, true>
    : std::bool_constant<std::is_convertible_v<From, A> &&
                         (std::is_lvalue_reference_v<From> || !ReferenceTo<From>::is_of_owner)> {};

// Where an allocator is: a copy of the handle, or an address.
template <class A>
class AllocatorPlace {
  static constexpr bool holds_ = IsHandle<A>::value;

 public:
  // Made from the heap, pool or arena itself, or from anything that converts to the handle.
  template <class From, class = std::enable_if_t<LeadsTo<A, From&&>::value>>
  AllocatorPlace(From&& from) noexcept : place_(hold(from)) {}

  A& get() noexcept {
    if constexpr (holds_) {
      return place_;
    } else {
      return *place_;
    }
  }

  friend bool operator==(const AllocatorPlace& a, const AllocatorPlace& b) noexcept {
    return a.place_ == b.place_;
  }

 private:
  template <class From>
  static auto hold(From& from) noexcept {
    if constexpr (holds_) {
      return A(from);
    } else {
      return static_cast<A*>(std::addressof(from));
    }
  }

  std::conditional_t<holds_, A, A*> place_;
};

// True for allocators that say how many bytes a block has (usable_bytes), and need no size to free
// it.
template <class A, class = void>
struct SaysUsableBytes : std::false_type {};
template <class A>
struct SaysUsableBytes<
    A, std::void_t<decltype(std::declval<const A&>().usable_bytes(static_cast<void*>(nullptr)))>>
    : std::true_type {};

// The largest block that an A can ever have, if its type says so.
template <class A, class = void>
struct BlockBytesMax : std::integral_constant<std::size_t, PTRDIFF_MAX> {};
template <class A>
struct BlockBytesMax<A, std::enable_if_t<(A::block_bytes > 0)>>
    : std::integral_constant<std::size_t, A::block_bytes> {};

// How the allocators below use an A.
template <class T, class A>
struct AllocatorCalls {
  static T* allocate(A& a, std::size_t count) {
    static_assert(sizeof(T) <= BlockBytesMax<A>::value,
                  "the blocks of this pool are smaller than what is asked for: a container's node "
                  "is larger than its element");
    std::size_t bytes = 0;
    if (TARN_UNLIKELY(!checked_multiply(count, sizeof(T), &bytes) || bytes > PTRDIFF_MAX)) {
      throw_or_trap<std::bad_array_new_length>();
    }
    void* const p = a.try_allocate(bytes, alignof(T));
    if (TARN_UNLIKELY(p == nullptr)) throw_or_trap<std::bad_alloc>();
    return static_cast<T*>(p);
  }

  static AllocationResult<T*> allocate_at_least(A& a, std::size_t count) {
    T* const p = allocate(a, count);
    if constexpr (SaysUsableBytes<A>::value) count = a.usable_bytes(p) / sizeof(T);
    return {p, count};
  }

  static void deallocate(A& a, T* p, std::size_t count) noexcept {
    a.deallocate(p, count * sizeof(T), alignof(T));
  }

  static constexpr std::size_t count_max() noexcept { return PTRDIFF_MAX / sizeof(T); }
};

// An allocator over a heap, or over anything with try_allocate(bytes, alignment) and deallocate(p,
// bytes, alignment): concept BlockAllocator in tarn/source/concepts.hpp. It is as large as a handle
// or a pointer. Two of them are equal when they lead to the same place, whatever they allocate.
template <class T, class A = HeapRef, class Propagation = PropagateMoves>
class Allocator : public Propagation {
  using Calls = AllocatorCalls<T, A>;

 public:
  using value_type = T;
  using is_always_equal = std::false_type;
  template <class U>
  struct rebind {
    using other = Allocator<U, A, Propagation>;
  };

  // Made from the heap, pool or arena, or a handle to it, so that containers are made by naming it.
  template <class From, class = std::enable_if_t<LeadsTo<A, From&&>::value>>
  Allocator(From&& from) noexcept : place_(std::forward<From>(from)) {}

  template <class U>
  Allocator(const Allocator<U, A, Propagation>& other) noexcept : place_(other.place_) {}

  [[nodiscard]] T* allocate(std::size_t count) { return Calls::allocate(place_.get(), count); }
  [[nodiscard]] AllocationResult<T*> allocate_at_least(std::size_t count) {
    return Calls::allocate_at_least(place_.get(), count);
  }
  // `count` is the one that was asked for, or anything up to what allocate_at_least() gave.
  void deallocate(T* p, std::size_t count) noexcept { Calls::deallocate(place_.get(), p, count); }

  std::size_t max_size() const noexcept { return Calls::count_max(); }

  A& allocator() noexcept { return place_.get(); }

  template <class U>
  bool is_same_place(const Allocator<U, A, Propagation>& other) const noexcept {
    return place_ == other.place_;
  }

 private:
  template <class U, class B, class P>
  friend class Allocator;

  AllocatorPlace<A> place_;
};

template <class T, class U, class A, class Propagation>
bool operator==(const Allocator<T, A, Propagation>& a,
                const Allocator<U, A, Propagation>& b) noexcept {
  return a.is_same_place(b);
}
template <class T, class U, class A, class Propagation>
bool operator!=(const Allocator<T, A, Propagation>& a,
                const Allocator<U, A, Propagation>& b) noexcept {
  return !a.is_same_place(b);
}

// An allocator over an object with static storage duration, which is part of the type. It has no
// state, and all of one type are equal. Static containers may use it before main if the object is
// constant-initialised, and after main if it has no destructor. (Static pools and heaps have
// neither constructor nor destructor to run.)
template <class T, auto& object>
class StaticAllocator : public PropagateAll {
  using A = std::remove_reference_t<decltype(object)>;
  using Calls = AllocatorCalls<T, A>;

 public:
  using value_type = T;
  using is_always_equal = std::true_type;
  template <class U>
  struct rebind {
    using other = StaticAllocator<U, object>;
  };

  constexpr StaticAllocator() noexcept = default;
  template <class U>
  constexpr StaticAllocator(const StaticAllocator<U, object>&) noexcept {}

  [[nodiscard]] T* allocate(std::size_t count) { return Calls::allocate(object, count); }
  [[nodiscard]] AllocationResult<T*> allocate_at_least(std::size_t count) {
    return Calls::allocate_at_least(object, count);
  }
  void deallocate(T* p, std::size_t count) noexcept { Calls::deallocate(object, p, count); }
  std::size_t max_size() const noexcept { return Calls::count_max(); }

  static A& allocator() noexcept { return object; }
};

template <class T, class U, auto& object>
constexpr bool operator==(const StaticAllocator<T, object>&,
                          const StaticAllocator<U, object>&) noexcept {
  return true;
}
template <class T, class U, auto& object>
constexpr bool operator!=(const StaticAllocator<T, object>&,
                          const StaticAllocator<U, object>&) noexcept {
  return false;
}

}  // namespace tarn

#endif
#endif
