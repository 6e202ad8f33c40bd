// class_new.hpp: `new` and `delete` of a class, or of all classes below it, from a heap or pool of
// its own, without its users knowing (C++17; header only).
//
//   class Node { public: TARN_CLASS_NEW(tarn::ClassHeap<Node>) };  // it names no access itself
//   class Edge : public tarn::ClassNew<Edge> {};                   // the same by inheritance
//
//   static tarn::StaticPool<sizeof(Event), 100> events;  // chosen when it is compiled:
//   class Event { public: TARN_CLASS_NEW(tarn::ClassObject<events>) };
//   tarn::ClassHeap<Node>::use(graph_heap);              // or while the program runs; ClassHooks
//                                                        // takes tables of any allocator
//
// All forms: single objects and arrays, over-aligned, sized, nothrow, into memory that is given,
// `new (heap) T`; each with its delete, so that a constructor that throws leaks nothing.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_CLASS_NEW_HPP
#define TARN_CLASS_NEW_HPP

#include <atomic>
#include <cstddef>
#include <new>

#include "tarn/heap.hpp"
#include "tarn/malloc_table.h"

namespace tarn {

// Where the memory of a class comes from is a type with
//
//   static void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept;   // or null
//   static void deallocate(void* p) noexcept;   // any of its blocks; not null
//
// A delete knows the size of what it deletes only sometimes (not of arrays, not of objects below a
// base without a virtual destructor): so deallocate() is not told.

// The heap that was chosen for Tag, malloc's at first. Blocks know their heap: another one may be
// chosen at any time, and blocks of the former are deleted as before. use() itself: not while other
// threads allocate for this Tag. The heap must outlive what was allocated in it.
template <class Tag>
class ClassHeap {
 public:
  static void use(HeapRef heap) noexcept { heap_ = heap; }
  static HeapRef heap() noexcept { return heap_ ? heap_ : HeapRef::main(); }

  static void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return heap().try_allocate(bytes, alignment);
  }
  static void deallocate(void* p) noexcept { HeapRef::deallocate(p); }

 private:
  static inline HeapRef heap_{};
};

// An object with static storage duration: a pool of any kind, which must know its blocks (owns())
// and not care for the size of what it is given back. What it cannot serve (it is full; arrays;
// larger classes below this one) comes from malloc's heap, unless `strict`. Threads: as the object.
template <auto& object, bool strict = false>
class ClassObject {
 public:
  static void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    void* const p = object.try_allocate(bytes, alignment);
    if (p != nullptr || strict) return p;
    return HeapRef::main().try_allocate(bytes, alignment);
  }
  static void deallocate(void* p) noexcept {
    if (object.owns(p)) return object.deallocate(p, 0, 0);
    HeapRef::deallocate(p);
  }
};

// What was chosen for Tag as a table of functions while the program runs: any pool, arena or tree
// has one (tarn/malloc_table.h). malloc's heap at first. Threads: as what the table is of.
template <class Tag>
class ClassHooks {
 public:
  // Null: malloc's heap. False, and nothing is done, while objects live: they must go back to where
  // they are from. Not while other threads allocate for this Tag.
  static bool use(const tarn_malloc_table* table) noexcept {
    if (live_.load(std::memory_order_relaxed) != 0) return false;
    table_ = table == nullptr ? tarn_malloc_table{} : *table;
    return true;
  }
  static std::size_t live_blocks() noexcept { return live_.load(std::memory_order_relaxed); }

  static void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    void* const p = take(bytes, alignment);
    if (p != nullptr) live_.fetch_add(1, std::memory_order_relaxed);
    return p;
  }
  static void deallocate(void* p) noexcept {
    live_.fetch_sub(1, std::memory_order_relaxed);
    if (table_.deallocate == nullptr) return HeapRef::deallocate(p);
    table_.deallocate(table_.context, p);
  }

 private:
  static void* take(std::size_t bytes, std::size_t alignment) noexcept {
    if (table_.allocate == nullptr) return HeapRef::main().try_allocate(bytes, alignment);
    if (alignment <= 16) return table_.allocate(table_.context, bytes);
    if (table_.allocate_aligned == nullptr) return nullptr;
    return table_.allocate_aligned(table_.context, alignment, bytes);
  }

  static inline tarn_malloc_table table_{};
  static inline std::atomic<std::size_t> live_{0};
};

// What `new` is made of, whoever declares it.
template <class Memory>
class ClassMemory {
 public:
  // What an object or an array of so many bytes can need: `new` says more only if it is more than
  // this. (Sizes are multiples of the alignment, arrays with their count in front, too.)
  static constexpr std::size_t alignment_of(std::size_t bytes) noexcept {
    constexpr std::size_t most = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
    return bytes % most == 0 ? most : bytes & (~bytes + 1);
  }

  // As operator new must: the new-handler is asked as long as there is one, then std::bad_alloc.
  // (Without exceptions: null.)
  static void* allocate(std::size_t bytes, std::size_t alignment) {
    for (;;) {
      void* const p = Memory::try_allocate(bytes, alignment);
      if (p != nullptr) return p;
      const std::new_handler handler = std::get_new_handler();
      if (handler == nullptr) return or_bad_alloc(p);
      handler();
    }
  }
  static void* allocate(std::size_t bytes) { return allocate(bytes, alignment_of(bytes)); }
  static void* allocate(std::size_t bytes, std::align_val_t alignment) {
    return allocate(bytes, static_cast<std::size_t>(alignment));
  }

  template <class... Alignment>
  static void* try_allocate(std::size_t bytes, Alignment... alignment) noexcept {
#if defined(__cpp_exceptions)
    try {
      return allocate(bytes, alignment...);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
#else
    return allocate(bytes, alignment...);
#endif
  }

  static void* allocate_in(HeapRef heap, std::size_t bytes, std::size_t alignment = 1) {
    return or_bad_alloc(heap.try_allocate(bytes, alignment));
  }

  static void deallocate(void* p) noexcept {
    if (p != nullptr) Memory::deallocate(p);
  }
};

}  // namespace tarn

// The forms of one operator: `new` or `new[]`, `delete` or `delete[]`.
#define TARN_CLASS_NEW_FORMS(NEW, DELETE, ...)                                                     \
  static void* operator NEW(std::size_t bytes) {                                                   \
    return ::tarn::ClassMemory<__VA_ARGS__>::allocate(bytes);                                      \
  }                                                                                                \
  static void* operator NEW(std::size_t bytes, std::align_val_t alignment) {                       \
    return ::tarn::ClassMemory<__VA_ARGS__>::allocate(bytes, alignment);                           \
  }                                                                                                \
  static void* operator NEW(std::size_t bytes, const std::nothrow_t&) noexcept {                   \
    return ::tarn::ClassMemory<__VA_ARGS__>::try_allocate(bytes);                                  \
  }                                                                                                \
  static void* operator NEW(std::size_t bytes, std::align_val_t alignment,                         \
                            const std::nothrow_t&) noexcept {                                      \
    return ::tarn::ClassMemory<__VA_ARGS__>::try_allocate(bytes, alignment);                       \
  }                                                                                                \
  static void* operator NEW(std::size_t, void* p) noexcept { return p; }                           \
  static void* operator NEW(std::size_t bytes, ::tarn::HeapRef heap) {                             \
    return ::tarn::ClassMemory<__VA_ARGS__>::allocate_in(heap, bytes);                             \
  }                                                                                                \
  static void* operator NEW(std::size_t bytes, std::align_val_t alignment, ::tarn::HeapRef heap) { \
    return ::tarn::ClassMemory<__VA_ARGS__>::allocate_in(heap, bytes,                              \
                                                         static_cast<std::size_t>(alignment));     \
  }                                                                                                \
  static void operator DELETE(void* p) noexcept {                                                  \
    ::tarn::ClassMemory<__VA_ARGS__>::deallocate(p);                                               \
  }                                                                                                \
  static void operator DELETE(void* p, std::size_t) noexcept { operator DELETE(p); }               \
  static void operator DELETE(void* p, std::align_val_t) noexcept { operator DELETE(p); }          \
  static void operator DELETE(void* p, std::size_t, std::align_val_t) noexcept {                   \
    operator DELETE(p);                                                                            \
  }                                                                                                \
  static void operator DELETE(void* p, const std::nothrow_t&) noexcept { operator DELETE(p); }     \
  static void operator DELETE(void* p, std::align_val_t, const std::nothrow_t&) noexcept {         \
    operator DELETE(p);                                                                            \
  }                                                                                                \
  static void operator DELETE(void*, void*) noexcept {}                                            \
  static void operator DELETE(void* p, ::tarn::HeapRef) noexcept {                                 \
    ::tarn::HeapRef::deallocate(p);                                                                \
  }                                                                                                \
  static void operator DELETE(void* p, std::align_val_t, ::tarn::HeapRef) noexcept {               \
    ::tarn::HeapRef::deallocate(p);                                                                \
  }

// In a class, where its operators are to have the access that they get there (public, mostly). The
// argument is the type that says where memory comes from.
#define TARN_CLASS_NEW(...)                                \
  TARN_CLASS_NEW_FORMS(new, delete, __VA_ARGS__)           \
  TARN_CLASS_NEW_FORMS(new[], delete[], __VA_ARGS__)

namespace tarn {

// The same as a base class, of one class or of the root of a hierarchy.
template <class Class, class Memory = ClassHeap<Class>>
class ClassNew {
 public:
  TARN_CLASS_NEW(Memory)

 protected:
  ClassNew() = default;
  ~ClassNew() = default;
};

}  // namespace tarn

#endif
