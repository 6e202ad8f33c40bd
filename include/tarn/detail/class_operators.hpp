// class_operators.hpp: every form of `new` and `delete` for a class, over a type that says where
// memory comes from (C++11; header only, no library). Users include tarn/standard/class_new.hpp.
//
//   struct Memory {
//     static void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept;   // or null
//     static void deallocate(void* p) noexcept;   // any of its blocks; not null
//   };
//
// deallocate() is not told a size, because a delete knows the size of what it deletes only
// sometimes: not for arrays, and not for objects deleted through a base without a virtual
// destructor.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_CLASS_OPERATORS_HPP
#define TARN_CLASS_OPERATORS_HPP

#include "language.h"
#if defined(TARN_LANGUAGE)

#include <cstddef>
#include <new>

#include "align.hpp"
#include "api.h"
#include "errors.hpp"

namespace tarn {

// What operator new must do: returns what try_once() gives; while that is null, calls the
// new-handler and tries again; without a handler throws std::bad_alloc. (Without exceptions: null.)
template <class Try>
TARN_NOTES_CALLER inline void* class_allocate(const Try& try_once) {
  for (;;) {
    void* const p = try_once();
    if (p != nullptr) return p;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) return or_bad_alloc(p);
    handler();
  }
}

// Turns an allocation that throws into that of `new (std::nothrow)`: null instead of an exception.
template <class Allocate>
TARN_NOTES_CALLER inline void* null_if_it_throws(const Allocate& allocate) noexcept {
#if defined(__cpp_exceptions)
  try {
    return allocate();
  } catch (...) {
    return nullptr;
  }
#else
  return allocate();
#endif
}

#if defined(__STDCPP_DEFAULT_NEW_ALIGNMENT__)
#define TARN_NEW_ALIGNMENT __STDCPP_DEFAULT_NEW_ALIGNMENT__
#else
#define TARN_NEW_ALIGNMENT alignof(std::max_align_t)
#endif

// The alignment for an object when `new` names none. It follows from the size, which is a multiple
// of the alignment.
constexpr std::size_t alignment_of_object(std::size_t bytes) noexcept {
  return natural_alignment(bytes, TARN_NEW_ALIGNMENT);
}
// The same for an array, where the number of objects may lie in front, even if they are aligned to
// less than it.
constexpr std::size_t alignment_of_array(std::size_t bytes) noexcept {
  return bytes > sizeof(std::size_t) && alignment_of_object(bytes) < alignof(std::size_t)
             ? alignof(std::size_t)
             : alignment_of_object(bytes);
}

// The bodies of the operators below.
template <class Memory>
class ClassMemory {
 public:
  TARN_NOTES_CALLER static void* allocate(std::size_t bytes, std::size_t alignment) {
    return class_allocate([&]()
                              TARN_NOTES_CALLER { return Memory::try_allocate(bytes, alignment); });
  }
  TARN_NOTES_CALLER static void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return null_if_it_throws([&]() TARN_NOTES_CALLER { return allocate(bytes, alignment); });
  }

  TARN_NOTES_CALLER static void deallocate(void* p) noexcept {
    if (p != nullptr) Memory::deallocate(p);
  }
};

}  // namespace tarn

// Callers of `new` check for null only if the operator is noexcept, so without exceptions all
// operators are.
#if defined(__cpp_exceptions)
#define TARN_CLASS_NEW_NOEXCEPT
#else
#define TARN_CLASS_NEW_NOEXCEPT noexcept
#endif

// The forms with an alignment, which C++17 has.
#if defined(__cpp_aligned_new)
#define TARN_CLASS_ALIGNED_FORMS(NEW, DELETE, ...)                                                 \
  TARN_NOTES_CALLER static void* operator NEW(std::size_t bytes, std::align_val_t alignment)       \
      TARN_CLASS_NEW_NOEXCEPT {                                                                    \
    return ::tarn::ClassMemory<__VA_ARGS__>::allocate(bytes, std::size_t(alignment));              \
  }                                                                                                \
  TARN_NOTES_CALLER static void* operator NEW(std::size_t bytes, std::align_val_t alignment,       \
                                              const std::nothrow_t&) noexcept {                    \
    return ::tarn::ClassMemory<__VA_ARGS__>::try_allocate(bytes, std::size_t(alignment));          \
  }                                                                                                \
  TARN_NOTES_CALLER static void operator DELETE(void* p, std::align_val_t) noexcept {              \
    operator DELETE(p);                                                                            \
  }                                                                                                \
  TARN_NOTES_CALLER static void operator DELETE(void* p, std::size_t, std::align_val_t) noexcept { \
    operator DELETE(p);                                                                            \
  }                                                                                                \
  TARN_NOTES_CALLER static void operator DELETE(void* p, std::align_val_t,                         \
                                                const std::nothrow_t&) noexcept {                  \
    operator DELETE(p);                                                                            \
  }
#else
#define TARN_CLASS_ALIGNED_FORMS(NEW, DELETE, ...)
#endif

// All forms of one operator, `new` or `new[]` with `delete` or `delete[]`. ALIGNMENT is the
// function that says how its blocks are aligned.
#define TARN_CLASS_OPERATOR_FORMS(NEW, DELETE, ALIGNMENT, ...)                                     \
  TARN_NOTES_CALLER static void* operator NEW(std::size_t bytes) TARN_CLASS_NEW_NOEXCEPT {         \
    return ::tarn::ClassMemory<__VA_ARGS__>::allocate(bytes, ::tarn::ALIGNMENT(bytes));            \
  }                                                                                                \
  TARN_NOTES_CALLER static void* operator NEW(std::size_t bytes, const std::nothrow_t&) noexcept { \
    return ::tarn::ClassMemory<__VA_ARGS__>::try_allocate(bytes, ::tarn::ALIGNMENT(bytes));        \
  }                                                                                                \
  static void* operator NEW(std::size_t, void* p) noexcept { return p; }                           \
  TARN_NOTES_CALLER static void operator DELETE(void* p) noexcept {                                \
    ::tarn::ClassMemory<__VA_ARGS__>::deallocate(p);                                               \
  }                                                                                                \
  TARN_NOTES_CALLER static void operator DELETE(void* p, std::size_t) noexcept {                   \
    operator DELETE(p);                                                                            \
  }                                                                                                \
  TARN_NOTES_CALLER static void operator DELETE(void* p, const std::nothrow_t&) noexcept {         \
    operator DELETE(p);                                                                            \
  }                                                                                                \
  static void operator DELETE(void*, void*) noexcept {}                                            \
  TARN_CLASS_ALIGNED_FORMS(NEW, DELETE, __VA_ARGS__)

// Use this in a class, at a place where its operators get the access that they should have. The
// argument is the type with the memory.
#define TARN_CLASS_OPERATORS(...)                                          \
  TARN_CLASS_OPERATOR_FORMS(new, delete, alignment_of_object, __VA_ARGS__) \
  TARN_CLASS_OPERATOR_FORMS(new[], delete[], alignment_of_array, __VA_ARGS__)

#endif
#endif
