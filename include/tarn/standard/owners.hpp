// owners.hpp: smart pointers to objects in a heap, pool or arena of tarn's (C++17; header only).
//
//   tarn::Heap heap("shapes");
//   auto circle = tarn::allocate_unique<Circle>(heap, 2.0);      // std::unique_ptr, one word
//   std::unique_ptr<Shape, tarn::Deleter<Shape>> shape = std::move(circle);
//   auto points = tarn::allocate_unique<Point[]>(heap, 100);
//   auto shared = tarn::allocate_shared<Circle>(heap, 3.0);      // with its counts, in one block
//
// The heap must outlive the objects. When there is no memory std::bad_alloc is thrown; when a
// constructor throws, the memory is given back. Threads: as the allocator.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_OWNERS_HPP
#define TARN_OWNERS_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "../detail/construct.hpp"
#include "../detail/errors.hpp"
#include "allocator.hpp"

namespace tarn {

// The start of an object's block. The object may be the base of another one.
template <class T>
void* block_of(T* object) noexcept {
#if defined(__cpp_rtti)
  if constexpr (std::is_polymorphic_v<T>) {
    return const_cast<void*>(dynamic_cast<const volatile void*>(object));
  }
#endif
  return const_cast<std::remove_cv_t<T>*>(object);
}

// Whether the deleter of a From may become that of a To. A derived object's deleter may become its
// base's where the base has a virtual destructor and the program is compiled with run-time type
// information, which says where the block begins.
template <class From, class To>
inline constexpr bool is_deletable_as =
    std::is_convertible_v<From*, To*> && !std::is_same_v<From, To> &&
#if defined(__cpp_rtti)
    (std::has_virtual_destructor_v<To> ||
     std::is_same_v<std::remove_cv_t<From>, std::remove_cv_t<To>>);
#else
    std::is_same_v<std::remove_cv_t<From>, std::remove_cv_t<To>>;
#endif

// The deleter of a std::unique_ptr. A derived object has another size than its base, so the deleter
// remembers the size.
template <class T, class A = HeapRef>
class Deleter {
 public:
  explicit Deleter(AllocatorPlace<A> place) noexcept : place_(place) {}
  template <class U, class = std::enable_if_t<is_deletable_as<U, T>>>
  Deleter(const Deleter<U, A>& other) noexcept
      : place_(other.place_), bytes_(other.bytes_), alignment_(other.alignment_) {}

  void operator()(T* object) noexcept {
    void* const block = block_of(object);
    object->~T();
    place_.get().deallocate(block, bytes_, alignment_);
  }

 private:
  template <class U, class B>
  friend class Deleter;

  AllocatorPlace<A> place_;
  std::size_t bytes_ = sizeof(T);
  std::size_t alignment_ = alignof(T);
};

// The deleter for heaps. Their blocks are freed by address alone, so it has no member.
template <class T>
class Deleter<T, HeapRef> {
 public:
  constexpr Deleter() noexcept = default;
  explicit Deleter(const AllocatorPlace<HeapRef>&) noexcept {}
  template <class U, class = std::enable_if_t<is_deletable_as<U, T>>>
  Deleter(const Deleter<U, HeapRef>&) noexcept {}

  void operator()(T* object) noexcept {
    void* const block = block_of(object);
    object->~T();
    HeapRef::deallocate(block);
  }
};

// Whether the deleter of an array of From may become that of To: the elements may become constant.
template <class From, class To>
inline constexpr bool is_array_of =
    std::is_convertible_v<From (*)[], To (*)[]> && !std::is_same_v<From, To>;

// Destroys the elements from the last to the first. Elements may be arrays.
template <class T>
void destroy_array(T* array, std::size_t count) noexcept {
  for (std::size_t i = count; i > 0; --i) {
    if constexpr (std::is_array_v<T>) {
      destroy_array(array[i - 1], std::extent_v<T>);
    } else {
      array[i - 1].~T();
    }
  }
}

template <class T, class A>
class Deleter<T[], A> {
 public:
  Deleter(AllocatorPlace<A> place, std::size_t count) noexcept : place_(place), count_(count) {}
  template <class U, class = std::enable_if_t<is_array_of<U, T>>>
  Deleter(const Deleter<U[], A>& other) noexcept : place_(other.place_), count_(other.count_) {}

  void operator()(T* array) noexcept {
    destroy_array(array, count_);
    place_.get().deallocate(const_cast<std::remove_cv_t<T>*>(array), count_ * sizeof(T),
                            alignof(T));
  }
  std::size_t size() const noexcept { return count_; }

 private:
  template <class U, class B>
  friend class Deleter;

  AllocatorPlace<A> place_;
  std::size_t count_;
};

template <class T>
class Deleter<T[], HeapRef> {
 public:
  constexpr Deleter() noexcept = default;
  Deleter(const AllocatorPlace<HeapRef>&, std::size_t count) noexcept : count_(count) {}
  template <class U, class = std::enable_if_t<is_array_of<U, T>>>
  Deleter(const Deleter<U[], HeapRef>& other) noexcept : count_(other.size()) {}

  void operator()(T* array) noexcept {
    destroy_array(array, count_);
    HeapRef::deallocate(const_cast<std::remove_cv_t<T>*>(array));
  }
  std::size_t size() const noexcept { return count_; }

 private:
  std::size_t count_ = 0;
};

template <class T, class A = HeapRef>
using Unique = std::unique_ptr<T, Deleter<T, A>>;

// Whether objects may be made in a From: not in a temporary, which would end before them.
template <class From>
inline constexpr bool is_place = LeadsTo<RefOf<From>, From&&>::value;

// Makes an object from the arguments in what is named first: a heap, a pool, an arena, or a handle
// to one. (An arena runs no destructors; the owner runs the object's.)
template <class T, class From, class... Args,
          class = std::enable_if_t<!std::is_array_v<T> && is_place<From>>>
[[nodiscard]] Unique<T, RefOf<From>> allocate_unique(From&& from, Args&&... args) {
  AllocatorPlace<RefOf<From>> place(std::forward<From>(from));
  auto& allocator = place.get();
  T* const object = construct_in<T>(
      or_bad_alloc(allocator.try_allocate(sizeof(T), alignof(T))),
      [&](void* p) { allocator.deallocate(p, sizeof(T), alignof(T)); },
      std::forward<Args>(args)...);
  return Unique<T, RefOf<From>>(object, Deleter<T, RefOf<From>>(place));
}

// Makes an array of `count` value-initialised objects. get_deleter().size() is their number.
template <class T, class From,
          class = std::enable_if_t<std::is_array_v<T> && !std::extent_v<T> && is_place<From>>>
[[nodiscard]] Unique<T, RefOf<From>> allocate_unique(From&& from, std::size_t count) {
  using Element = std::remove_cv_t<std::remove_extent_t<T>>;
  Allocator<Element, RefOf<From>> allocator(from);
  struct Unfinished {
    Allocator<Element, RefOf<From>>& allocator;
    std::size_t count;
    Element* array;
    std::size_t built = 0;
    ~Unfinished() {
      if (array == nullptr) return;
      destroy_array(array, built);
      allocator.deallocate(array, count);
    }
  } unfinished{allocator, count, allocator.allocate(count)};
  for (; unfinished.built < count; ++unfinished.built) {
    ::new (static_cast<void*>(unfinished.array + unfinished.built)) Element();
  }
  return Unique<T, RefOf<From>>(std::exchange(unfinished.array, nullptr),
                                Deleter<T, RefOf<From>>(AllocatorPlace<RefOf<From>>(from), count));
}

// Makes a std::shared_ptr whose object and counts are one block in what is named first.
template <class T, class From, class... Args, class = std::enable_if_t<is_place<From>>>
[[nodiscard]] std::shared_ptr<T> allocate_shared(From&& from, Args&&... args) {
  const Allocator<std::remove_extent_t<T>, RefOf<From>> allocator(std::forward<From>(from));
  return std::allocate_shared<T>(allocator, std::forward<Args>(args)...);
}

}  // namespace tarn

#endif
#endif
