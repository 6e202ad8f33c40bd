// xallocator_class.hpp: what compat/xallocator.h has for classes, in C++17: the macro XALLOCATOR,
// and the object that makes the family ready and ends it. Included by that header.
//
//   class Message {
//     XALLOCATOR        // at the top of a class: ends with `private:`, as a class begins
//     ...
//   };
//   struct Header {
//     XALLOCATOR_PUBLIC // of a struct, or under `public:`: ends with `public:`
//   };
//   class Node : public XallocatorBase { ... };   // a whole hierarchy
//
// SPDX-License-Identifier: MIT
#ifndef TARN_COMPAT_XALLOCATOR_CLASS_HPP
#define TARN_COMPAT_XALLOCATOR_CLASS_HPP

#include <cstddef>
#include <cstdlib>
#include <new>

namespace tarn {

inline void* xallocator_allocate(std::size_t bytes, std::size_t alignment) noexcept {
#ifdef STATIC_POOLS
  return tarn_xstatic_malloc(alignment, bytes);
#else
  return tarn_xmalloc_aligned(alignment, bytes);
#endif
}

// As operator new: asks the new-handler for memory while there is one, with no lock held, and
// throws std::bad_alloc. Without exceptions the program ends.
inline void* xallocator_new(std::size_t bytes, std::size_t alignment) {
  for (;;) {
    void* const p = xallocator_allocate(bytes, alignment);
    if (p != nullptr) return p;
    const std::new_handler handler = std::get_new_handler();
    if (handler != nullptr) {
      handler();
      continue;
    }
#if defined(__cpp_exceptions)
    throw std::bad_alloc();
#else
    std::abort();
#endif
  }
}

// As the nothrow form.
inline void* xallocator_try_new(std::size_t bytes, std::size_t alignment) noexcept {
#if defined(__cpp_exceptions)
  try {
    return xallocator_new(bytes, alignment);
  } catch (...) {
    return nullptr;
  }
#else
  return xallocator_allocate(bytes, alignment);
#endif
}

}  // namespace tarn

// All forms: plain and array, of nothing more, of an alignment, nothrow, and in place.
#define XALLOCATOR_PUBLIC                                                                         \
 public:                                                                                          \
  TARN_XALLOCATOR_FORMS(new, delete)                                                              \
  TARN_XALLOCATOR_FORMS(new[], delete[])

#define XALLOCATOR  \
  XALLOCATOR_PUBLIC \
 private:

#define TARN_XALLOCATOR_FORMS(NEW, DELETE)                                                        \
  static void* operator NEW(std::size_t bytes) { return ::tarn::xallocator_new(bytes, 16); }      \
  static void* operator NEW(std::size_t bytes, const std::nothrow_t&) noexcept {                  \
    return ::tarn::xallocator_try_new(bytes, 16);                                                 \
  }                                                                                               \
  static void* operator NEW(std::size_t bytes, std::align_val_t alignment) {                      \
    return ::tarn::xallocator_new(bytes, static_cast<std::size_t>(alignment));                    \
  }                                                                                               \
  static void* operator NEW(std::size_t bytes, std::align_val_t alignment,                        \
                            const std::nothrow_t&) noexcept {                                     \
    return ::tarn::xallocator_try_new(bytes, static_cast<std::size_t>(alignment));                \
  }                                                                                               \
  static void* operator NEW(std::size_t, void* place) noexcept { return place; }                  \
  static void operator DELETE(void* p) noexcept { ::xfree(p); }                                   \
  static void operator DELETE(void* p, std::size_t) noexcept { ::xfree(p); }                      \
  static void operator DELETE(void* p, std::align_val_t) noexcept { ::xfree(p); }                 \
  static void operator DELETE(void* p, std::size_t, std::align_val_t) noexcept { ::xfree(p); }    \
  static void operator DELETE(void* p, const std::nothrow_t&) noexcept { ::xfree(p); }            \
  static void operator DELETE(void* p, std::align_val_t, const std::nothrow_t&) noexcept {        \
    ::xfree(p);                                                                                   \
  }                                                                                               \
  static void operator DELETE(void*, void*) noexcept {}

// For a hierarchy: all below it are the family's.
class XallocatorBase {
  XALLOCATOR_PUBLIC

 protected:
  XallocatorBase() = default;
  ~XallocatorBase() = default;
  XallocatorBase(const XallocatorBase&) = default;
  XallocatorBase& operator=(const XallocatorBase&) = default;
};

#ifdef AUTOMATIC_XALLOCATOR_INIT_DESTROY
// One in each file, before its static objects: the first one calls xalloc_init, the last one to end
// xalloc_destroy. What is freed later is freed all the same.
class XallocInitDestroy {
 public:
  XallocInitDestroy() {
    if (count_++ == 0) xalloc_init();
  }
  ~XallocInitDestroy() {
    if (--count_ == 0) xalloc_destroy();
  }
  XallocInitDestroy(const XallocInitDestroy&) = delete;
  XallocInitDestroy& operator=(const XallocInitDestroy&) = delete;

 private:
  inline static int count_ = 0;
};
[[maybe_unused]] static XallocInitDestroy xalloc_init_destroy;
#endif

#endif
