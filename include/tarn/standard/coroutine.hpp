// coroutine.hpp: frames of coroutines from an arena, a pool or any other allocator (C++20). A
// promise type that inherits from CoroutineFrames takes the frame from the allocator that is the
// coroutine's first parameter (in a member function, the first after the object):
//
//   struct Task { struct promise_type : tarn::CoroutineFrames { ... }; };
//   Task count(tarn::Arena& arena, int n);      // its frame is in the arena
//   Task total(int n);                          // no allocator: from operator new
//
// The frame has two words more, by which it is given back when the coroutine is destroyed. The
// allocator is known by its address and must still exist then. Handles (ArenaRef, RegionArrayPool,
// SharedArrayPool: types with a true `is_handle`) may be passed by value, since the frame keeps a
// copy. When there is no memory, or a pool's blocks are too small, std::bad_alloc is thrown.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_COROUTINE_HPP
#define TARN_COROUTINE_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17) && __cplusplus < 202002L
#error "tarn/standard/coroutine.hpp needs C++20: compile with -std=c++20, or a later one"
#elif defined(TARN_LANGUAGE_17)

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "../detail/align.hpp"
#include "../detail/errors.hpp"
#include "../source/concepts.hpp"

namespace tarn {

// The base of a promise type whose frames come from an allocator.
class CoroutineFrames {
 public:
  // The templates are always inlined. Where gcc 12 does not inline them, without optimisation, it
  // warns that they and operator delete are no pair.
  template <BlockAllocator A, class... Others>
  [[gnu::always_inline]] static void* operator new(std::size_t bytes, A& allocator, Others&&...) {
    return allocate(bytes, allocator);
  }
  // For a coroutine that is a member function: the object comes first.
  template <class Object, BlockAllocator A, class... Others>
  requires(!BlockAllocator<std::remove_cvref_t<Object>>) [[gnu::always_inline]] static void*
  operator new(std::size_t bytes, Object&&, A& allocator, Others&&...) {
    return allocate(bytes, allocator);
  }
  static void* operator new(std::size_t bytes) {
    if (bytes > SIZE_MAX - sizeof(Header)) return or_bad_alloc(nullptr);
    return begin(::operator new(bytes + sizeof(Header)), {});
  }

  static void operator delete(void* frame, std::size_t bytes) noexcept {
    Header* const header = static_cast<Header*>(frame) - 1;
    const Header from = *header;
    if (from.give == nullptr) return ::operator delete(header);
    from.give(from.allocator, header, bytes + sizeof(Header));
  }

 private:
  struct alignas(std::max_align_t) Header {
    void* allocator;
    void (*give)(void* allocator, void* p, std::size_t bytes);
  };

  template <class A>
  static void* allocate(std::size_t bytes, A& allocator) {
    if (bytes > PTRDIFF_MAX) return or_bad_alloc(nullptr);
    if constexpr (requires { requires A::is_handle; }) {
      return allocate_with_handle(bytes + sizeof(Header), allocator);
    }
    void* const p = allocator.try_allocate(bytes + sizeof(Header), alignof(Header));
    return begin(or_bad_alloc(p), {&allocator, [](void* a, void* q, std::size_t taken) {
                                     static_cast<A*>(a)->deallocate(q, taken, alignof(Header));
                                   }});
  }
  // Allocates from a handle, and keeps a copy of the handle behind the frame.
  template <class A>
  static void* allocate_with_handle(std::size_t bytes, A handle) {
    void* const p = or_bad_alloc(handle.try_allocate(with_handle<A>(bytes), alignof(Header)));
    ::new (static_cast<char*>(p) + with_handle<A>(bytes) - sizeof(A)) A(handle);
    return begin(p, {nullptr, [](void*, void* q, std::size_t taken) {
                       const std::size_t all = with_handle<A>(taken);
                       void* const copy = static_cast<char*>(q) + all - sizeof(A);
                       A(*std::launder(static_cast<A*>(copy))).deallocate(q, all, alignof(Header));
                     }});
  }
  template <class A>
  static constexpr std::size_t with_handle(std::size_t bytes) noexcept {
    static_assert(alignof(A) <= alignof(Header));
    return align_up(bytes, alignof(A)) + sizeof(A);
  }
  static void* begin(void* p, const Header& header) noexcept {
    return ::new (p) Header(header) + 1;
  }
};

}  // namespace tarn

#endif
#endif
