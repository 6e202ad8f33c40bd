// xallocator_class.hpp: the part of compat/xallocator.h for classes, in C++11: the macro
// XALLOCATOR, and the object that makes the family ready and ends it. That header includes this
// one.
//
//   class Message {
//     XALLOCATOR            // anywhere in a class: what follows is public, as in the source
//   };
//   class Header {
//    public:
//     XALLOCATOR_OPERATORS  // the same operators, and access stays as it is
//   };
//   class Node : public XallocatorBase { ... };   // a whole hierarchy
//
// SPDX-License-Identifier: MIT
#ifndef TARN_COMPAT_XALLOCATOR_CLASS_HPP
#define TARN_COMPAT_XALLOCATOR_CLASS_HPP

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <cstddef>

#include "../detail/class_operators.hpp"

namespace tarn {

// The memory of classes with XALLOCATOR.
struct XallocatorMemory {
  TARN_NOTES_CALLER static void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
#ifdef STATIC_POOLS
    return tarn_xstatic_malloc(alignment < 16 ? 16 : alignment, bytes);
#else
    return alignment <= 16 ? tarn_xmalloc(bytes) : tarn_xmalloc_aligned(alignment, bytes);
#endif
  }
  TARN_NOTES_CALLER static void deallocate(void* p) noexcept { ::xfree(p); }
};

}  // namespace tarn

// All forms of new and delete, as operators of the class.
#define XALLOCATOR_OPERATORS TARN_CLASS_OPERATORS(::tarn::XallocatorMemory)

#define XALLOCATOR \
 public:           \
  XALLOCATOR_OPERATORS

// A base class: all classes derived from it take their memory from the family.
class XallocatorBase {
  XALLOCATOR

 protected:
  XallocatorBase() = default;
  ~XallocatorBase() = default;
  XallocatorBase(const XallocatorBase&) = default;
  XallocatorBase& operator=(const XallocatorBase&) = default;
};

#ifdef AUTOMATIC_XALLOCATOR_INIT_DESTROY
// Each file has one of these before its static objects. The first to be made calls xalloc_init, and
// the last to end calls xalloc_destroy. What is freed later is still freed.
class XallocInitDestroy {
 public:
  XallocInitDestroy() {
    if (count()++ == 0) xalloc_init();
  }
  ~XallocInitDestroy() {
    if (--count() == 0) xalloc_destroy();
  }
  XallocInitDestroy(const XallocInitDestroy&) = delete;
  XallocInitDestroy& operator=(const XallocInitDestroy&) = delete;

 private:
  static int& count() {
    static int files = 0;
    return files;
  }
};
__attribute__((unused)) static XallocInitDestroy xalloc_init_destroy;
#endif

#endif
#endif
