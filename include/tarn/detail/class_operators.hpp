// class_operators.hpp: every form of `new` and `delete` for a class, over a type that says where
// memory comes from (C++17; header only, no library). For users: tarn/standard/class_new.hpp.
//
//   struct Memory {
//     static void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept;   // or null
//     static void deallocate(void* p) noexcept;   // any of its blocks; not null
//   };
//
// A delete knows the size of what it deletes only sometimes (not of arrays, not of objects below a
// base without a virtual destructor): so deallocate() is not told.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_CLASS_OPERATORS_HPP
#define TARN_CLASS_OPERATORS_HPP

#include "language.h"
#if defined(TARN_LANGUAGE)

#include <cstddef>
#include <new>

#include "align.hpp"
#include "errors.hpp"

namespace tarn {

// As operator new must: what try_once() gives, after the new-handler was asked as long as there is
// one; then std::bad_alloc. (Without exceptions: null.)
template <class Try>
void* class_allocate(const Try& try_once) {
  for (;;) {
    void* const p = try_once();
    if (p != nullptr) return p;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) return or_bad_alloc(p);
    handler();
  }
}

// What `new (std::nothrow)` is made of one that throws.
template <class Allocate>
void* null_if_it_throws(const Allocate& allocate) noexcept {
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

// `new` names an alignment only if it is more than this. (Sizes are multiples of the alignment.)
constexpr std::align_val_t alignment_of_object(std::size_t bytes) noexcept {
  return std::align_val_t{natural_alignment(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__)};
}
// The number of objects may lie in front, also where they are aligned to less.
constexpr std::align_val_t alignment_of_array(std::size_t bytes) noexcept {
  constexpr std::align_val_t of_number{alignof(std::size_t)};
  const std::align_val_t of_objects = alignment_of_object(bytes);
  return bytes > sizeof(std::size_t) && of_objects < of_number ? of_number : of_objects;
}

// The body of `new`, wherever it is declared.
template <class Memory>
class ClassMemory {
 public:
  static void* allocate(std::size_t bytes, std::size_t alignment) {
    return class_allocate([&]() noexcept { return Memory::try_allocate(bytes, alignment); });
  }
  static void* allocate(std::size_t bytes, std::align_val_t alignment) {
    return allocate(bytes, static_cast<std::size_t>(alignment));
  }

  static void* try_allocate(std::size_t bytes, std::align_val_t alignment) noexcept {
    return null_if_it_throws([&] { return allocate(bytes, alignment); });
  }

  static void deallocate(void* p) noexcept {
    if (p != nullptr) Memory::deallocate(p);
  }
};

}  // namespace tarn

// `new` looks for null only behind operators that are noexcept: where there are no exceptions all
// of them are.
#if defined(__cpp_exceptions)
#define TARN_CLASS_NEW_NOEXCEPT
#else
#define TARN_CLASS_NEW_NOEXCEPT noexcept
#endif

// The forms of one operator: `new` or `new[]`, `delete` or `delete[]`; how its blocks are aligned.
#define TARN_CLASS_OPERATOR_FORMS(NEW, DELETE, ALIGNMENT, ...)                                 \
  static void* operator NEW(std::size_t bytes) TARN_CLASS_NEW_NOEXCEPT {                       \
    return ::tarn::ClassMemory<__VA_ARGS__>::allocate(bytes, ::tarn::ALIGNMENT(bytes));        \
  }                                                                                            \
  static void* operator NEW(std::size_t bytes, std::align_val_t alignment)                     \
      TARN_CLASS_NEW_NOEXCEPT {                                                                \
    return ::tarn::ClassMemory<__VA_ARGS__>::allocate(bytes, alignment);                       \
  }                                                                                            \
  static void* operator NEW(std::size_t bytes, const std::nothrow_t&) noexcept {               \
    return ::tarn::ClassMemory<__VA_ARGS__>::try_allocate(bytes, ::tarn::ALIGNMENT(bytes));    \
  }                                                                                            \
  static void* operator NEW(std::size_t bytes, std::align_val_t alignment,                     \
                            const std::nothrow_t&) noexcept {                                  \
    return ::tarn::ClassMemory<__VA_ARGS__>::try_allocate(bytes, alignment);                   \
  }                                                                                            \
  static void* operator NEW(std::size_t, void* p) noexcept { return p; }                       \
  static void operator DELETE(void* p) noexcept {                                              \
    ::tarn::ClassMemory<__VA_ARGS__>::deallocate(p);                                           \
  }                                                                                            \
  static void operator DELETE(void* p, std::size_t) noexcept { operator DELETE(p); }           \
  static void operator DELETE(void* p, std::align_val_t) noexcept { operator DELETE(p); }      \
  static void operator DELETE(void* p, std::size_t, std::align_val_t) noexcept {               \
    operator DELETE(p);                                                                        \
  }                                                                                            \
  static void operator DELETE(void* p, const std::nothrow_t&) noexcept { operator DELETE(p); } \
  static void operator DELETE(void* p, std::align_val_t, const std::nothrow_t&) noexcept {     \
    operator DELETE(p);                                                                        \
  }                                                                                            \
  static void operator DELETE(void*, void*) noexcept {}

// In a class, where its operators are to have the access that they get there. The argument is the
// type.
#define TARN_CLASS_OPERATORS(...)                                          \
  TARN_CLASS_OPERATOR_FORMS(new, delete, alignment_of_object, __VA_ARGS__) \
  TARN_CLASS_OPERATOR_FORMS(new[], delete[], alignment_of_array, __VA_ARGS__)

#endif
#endif
