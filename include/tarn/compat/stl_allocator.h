// compat/stl_allocator.h: D. Lafreniere's stl_allocator ("A Custom STL std::allocator Replacement
// Improves Performance"), in C++11: containers with blocks of xmalloc (xallocator.h). xlist.h and
// its sisters have containers that take it by themselves.
//
//   std::list<int, stl_allocator<int>> numbers;
//
// Any thread, as xmalloc; with STATIC_POOLS as these. Without memory the new-handler is asked, and
// then std::bad_alloc is thrown (without exceptions the process ends, as containers expect no
// null).
//
// SPDX-License-Identifier: MIT
#ifndef TARN_COMPAT_STL_ALLOCATOR_H
#define TARN_COMPAT_STL_ALLOCATOR_H

#include "xallocator.h"
#if defined(TARN_LANGUAGE)

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

template <class T>
class stl_allocator {
 public:
  typedef T value_type;
  typedef T* pointer;
  typedef const T* const_pointer;
  typedef T& reference;
  typedef const T& const_reference;
  typedef std::size_t size_type;
  typedef std::ptrdiff_t difference_type;
  typedef std::true_type propagate_on_container_move_assignment;
  typedef std::true_type is_always_equal;
  template <class U>
  struct rebind {
    typedef stl_allocator<U> other;
  };

  stl_allocator() noexcept {}
  template <class U>
  stl_allocator(const stl_allocator<U>&) noexcept {}

  T* allocate(std::size_t n, const void* = nullptr) {
    if (n > SIZE_MAX / sizeof(T)) tarn::throw_or_trap<std::bad_alloc>();
    void* const p = tarn::ClassMemory<tarn::XallocatorMemory>::allocate(n * sizeof(T), alignof(T));
    if (p == nullptr) tarn::throw_or_trap<std::bad_alloc>();
    return static_cast<T*>(p);
  }
  void deallocate(T* p, std::size_t) noexcept { xfree(p); }
};

template <>
class stl_allocator<void> {
 public:
  typedef void value_type;
  typedef void* pointer;
  typedef const void* const_pointer;
  template <class U>
  struct rebind {
    typedef stl_allocator<U> other;
  };
};

template <class T, class U>
bool operator==(const stl_allocator<T>&, const stl_allocator<U>&) noexcept {
  return true;
}
template <class T, class U>
bool operator!=(const stl_allocator<T>&, const stl_allocator<U>&) noexcept {
  return false;
}

#endif
#endif
