// offset_allocator.hpp: pointers that hold distances, and an allocator that uses them, for
// containers in memory that several processes map at different addresses (C++17; header only).
//
//   using Nodes = tarn::BasicStaticHeap<tarn::LockFree, tarn::Spill::larger, tarn::Class<64, 999>>;
//   struct Shared {
//     Nodes nodes;
//     boost::container::list<int, tarn::OffsetAllocator<int, Nodes>> list{nodes};
//   };
//   auto* shared = new (mapping) Shared{...};     // by one process; others only map it
//
// The allocator below, the container and its elements must all lie in that memory. The container
// must keep `pointer`s: std::vector, libc++'s containers and Boost.Container's do; libstdc++'s node
// containers (list, map ...) and its std::vector<bool> do not.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_OFFSET_ALLOCATOR_HPP
#define TARN_OFFSET_ALLOCATOR_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <type_traits>

#include "../detail/watch.h"
#include "allocator.hpp"

namespace tarn {

// A pointer that keeps the distance from itself to a T. It may lie wherever its T lies, and can do
// whatever a T* can. A copy has a distance of its own, so the object must not be copied byte by
// byte.
template <class T>
class OffsetPtr {
  static constexpr std::ptrdiff_t null_ = 1;  // No T begins one byte behind its pointer.

 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  using difference_type = std::ptrdiff_t;
  using reference = std::add_lvalue_reference_t<T>;
  using pointer = OffsetPtr;
  using iterator_category = std::random_access_iterator_tag;
  template <class U>
  using rebind = OffsetPtr<U>;

  OffsetPtr() noexcept = default;
  OffsetPtr(std::nullptr_t) noexcept {}
  // (A template, so that a literal 0 takes the constructor above.)
  template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
  OffsetPtr(U* to) noexcept {
    lead_to(to);
  }
  OffsetPtr(const OffsetPtr& other) noexcept { lead_to(other.get()); }
  template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
  OffsetPtr(const OffsetPtr<U>& other) noexcept {
    lead_to(other.get());
  }
  // Converts as static_cast does: down a hierarchy, and from void.
  template <class U, class = std::enable_if_t<!std::is_convertible_v<U*, T*>>,
            class = decltype(static_cast<T*>(static_cast<U*>(nullptr)))>
  explicit OffsetPtr(const OffsetPtr<U>& other) noexcept {
    lead_to(static_cast<T*>(other.get()));
  }
  OffsetPtr& operator=(const OffsetPtr& other) noexcept {
    lead_to(other.get());
    return *this;
  }

  // The assembly makes the compiler forget what the address was made from, since it is another
  // object's.
  T* get() const noexcept {
    if (offset_ == null_) return nullptr;
    std::uintptr_t address =
        reinterpret_cast<std::uintptr_t>(this) + static_cast<std::uintptr_t>(offset_);
    __asm__("" : "+r"(address));
    return reinterpret_cast<T*>(address);
  }
  template <class U = T, class = std::enable_if_t<!std::is_void_v<U>>>
  static OffsetPtr pointer_to(U& object) noexcept {
    return OffsetPtr(std::addressof(object));
  }

  T* operator->() const noexcept { return get(); }
  reference operator*() const noexcept { return *get(); }
  reference operator[](std::ptrdiff_t i) const noexcept { return get()[i]; }
  explicit operator bool() const noexcept { return offset_ != null_; }
  bool operator!() const noexcept { return offset_ == null_; }

  OffsetPtr& operator+=(std::ptrdiff_t n) noexcept {
    lead_to(get() + n);
    return *this;
  }
  OffsetPtr& operator-=(std::ptrdiff_t n) noexcept { return *this += -n; }
  OffsetPtr& operator++() noexcept { return *this += 1; }
  OffsetPtr& operator--() noexcept { return *this += -1; }
  OffsetPtr operator++(int) noexcept {
    const OffsetPtr before = *this;
    *this += 1;
    return before;
  }
  OffsetPtr operator--(int) noexcept {
    const OffsetPtr before = *this;
    *this += -1;
    return before;
  }
  friend OffsetPtr operator+(const OffsetPtr& p, std::ptrdiff_t n) noexcept { return p.get() + n; }
  friend OffsetPtr operator+(std::ptrdiff_t n, const OffsetPtr& p) noexcept { return p.get() + n; }
  friend OffsetPtr operator-(const OffsetPtr& p, std::ptrdiff_t n) noexcept { return p.get() - n; }
  friend std::ptrdiff_t operator-(const OffsetPtr& a, const OffsetPtr& b) noexcept {
    return a.get() - b.get();
  }

 private:
  void lead_to(T* to) noexcept {
    const std::uintptr_t distance =
        reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(this);
    offset_ = to == nullptr ? null_ : static_cast<std::ptrdiff_t>(distance);
  }

  std::ptrdiff_t offset_ = null_;
};

template <class T, class U>
bool operator==(const OffsetPtr<T>& a, const OffsetPtr<U>& b) noexcept {
  return a.get() == b.get();
}
template <class T, class U>
bool operator!=(const OffsetPtr<T>& a, const OffsetPtr<U>& b) noexcept {
  return a.get() != b.get();
}
template <class T, class U>
bool operator<(const OffsetPtr<T>& a, const OffsetPtr<U>& b) noexcept {
  return a.get() < b.get();
}
template <class T, class U>
bool operator>(const OffsetPtr<T>& a, const OffsetPtr<U>& b) noexcept {
  return a.get() > b.get();
}
template <class T, class U>
bool operator<=(const OffsetPtr<T>& a, const OffsetPtr<U>& b) noexcept {
  return a.get() <= b.get();
}
template <class T, class U>
bool operator>=(const OffsetPtr<T>& a, const OffsetPtr<U>& b) noexcept {
  return a.get() >= b.get();
}
template <class T>
bool operator==(const OffsetPtr<T>& a, std::nullptr_t) noexcept {
  return !a;
}
template <class T>
bool operator!=(const OffsetPtr<T>& a, std::nullptr_t) noexcept {
  return static_cast<bool>(a);
}
template <class T>
bool operator==(std::nullptr_t, const OffsetPtr<T>& a) noexcept {
  return !a;
}
template <class T>
bool operator!=(std::nullptr_t, const OffsetPtr<T>& a) noexcept {
  return static_cast<bool>(a);
}

// An allocator over an A that holds no addresses itself (a StaticPool, a StaticHeap) and lies in
// the same memory.
template <class T, class A>
class OffsetAllocator : public PropagateMoves {
  static_assert(A::holds_no_addresses, "what the allocator keeps must be true in each process");
  static_assert(!(TARN_WATCH && A::holds_no_addresses),  // A parameter of the class that uses it.
                "a tool would be told of blocks at this process's addresses, and see those of "
                "others as ended: compile with -DTARN_WATCH=0");
  using Calls = AllocatorCalls<T, A>;

 public:
  using value_type = T;
  using pointer = OffsetPtr<T>;
  using const_pointer = OffsetPtr<const T>;
  using void_pointer = OffsetPtr<void>;
  using const_void_pointer = OffsetPtr<const void>;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using is_always_equal = std::false_type;
  template <class U>
  struct rebind {
    using other = OffsetAllocator<U, A>;
  };

  OffsetAllocator(A& allocator) noexcept : allocator_(std::addressof(allocator)) {}
  template <class U>
  OffsetAllocator(const OffsetAllocator<U, A>& other) noexcept : allocator_(other.get()) {}

  [[nodiscard]] pointer allocate(std::size_t count) { return Calls::allocate(*allocator_, count); }
  void deallocate(const pointer& p, std::size_t count) noexcept {
    Calls::deallocate(*allocator_, p.get(), count);
  }
  std::size_t max_size() const noexcept { return Calls::count_max(); }

  A* get() const noexcept { return allocator_.get(); }

 private:
  OffsetPtr<A> allocator_;
};

template <class T, class U, class A>
bool operator==(const OffsetAllocator<T, A>& a, const OffsetAllocator<U, A>& b) noexcept {
  return a.get() == b.get();
}
template <class T, class U, class A>
bool operator!=(const OffsetAllocator<T, A>& a, const OffsetAllocator<U, A>& b) noexcept {
  return a.get() != b.get();
}

}  // namespace tarn

#endif
#endif
