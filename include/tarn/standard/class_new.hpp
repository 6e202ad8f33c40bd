// class_new.hpp: gives a class, or all classes below it, a `new` and `delete` that take memory from
// a heap or pool of its own, without a change in the code that uses it (C++17; header only).
//
//   class Node { public: TARN_CLASS_NEW(tarn::ClassHeap<Node>) };  // the macro names no access
//   class Edge : public tarn::ClassNew<Edge> {};                   // or by inheritance
//
//   static tarn::StaticPool<sizeof(Event), 100> events;  // chosen at compile time:
//   class Event { public: TARN_CLASS_NEW(tarn::ClassObject<events>) };
//   tarn::ClassHeap<Node>::use(graph_heap);              // or at run time; ClassHooks takes a
//                                                        // table of any allocator
//
// All forms are there: objects and arrays, over-aligned, sized, nothrow, in given memory, and `new
// (heap) T` (not for ClassHooks). Each has its delete, so a throwing constructor leaks nothing.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_CLASS_NEW_HPP
#define TARN_CLASS_NEW_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <atomic>
#include <cstddef>
#include <new>
#include <type_traits>

#include "../detail/class_operators.hpp"
#include "../heap/heap.hpp"
#include "../heap/malloc_table.h"

namespace tarn {

// The heap that was chosen for Tag; malloc's at first. Blocks know their heap, so another one may
// be chosen at any time, and blocks of the former are deleted as before. No other thread may
// allocate for this Tag during use(). The heap must outlive what was allocated in it.
template <class Tag>
class ClassHeap {
 public:
  static constexpr bool frees_heap_blocks = true;

  static void use(HeapRef heap) noexcept { heap_ = heap; }
  static HeapRef heap() noexcept { return heap_ ? heap_ : HeapRef::main(); }

  TARN_NOTES_CALLER static void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return heap().try_allocate(bytes, alignment);
  }
  TARN_NOTES_CALLER static void deallocate(void* p) noexcept { HeapRef::deallocate(p); }

 private:
  static inline HeapRef heap_{};
};

// An object with static storage duration: a pool of any kind that knows its blocks (owns()) and
// does not need the size of what it is given back. What it cannot serve (it is full; arrays; larger
// derived classes) comes from malloc's heap, unless `strict`. Threads: as the object.
template <auto& object, bool strict = false>
class ClassObject {
 public:
  static constexpr bool frees_heap_blocks = true;

  TARN_NOTES_CALLER static void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    void* const p = object.try_allocate(bytes, alignment);
    if (p != nullptr || strict) return p;
    return HeapRef::main().try_allocate(bytes, alignment);
  }
  TARN_NOTES_CALLER static void deallocate(void* p) noexcept {
    if (object.owns(p)) return object.deallocate(p, 0, 0);
    HeapRef::deallocate(p);
  }
};

// An allocator that is chosen for Tag at run time, as a table of functions. Every pool, arena and
// tree has such a table (tarn/heap/malloc_table.h). malloc's heap at first. Threads: as the table's
// allocator.
template <class Tag>
class ClassHooks {
 public:
  // Chooses a table; null chooses malloc's heap. False, and nothing has changed, while objects live
  // (they must go back to where they came from), and for a table without functions (such as that of
  // a pool whose blocks are aligned to less than 16). No other thread may allocate for this Tag
  // during the call.
  static bool use(const tarn_malloc_table* table) noexcept {
    if (live_.load(std::memory_order_relaxed) != 0) return false;
    if (table != nullptr && (table->allocate == nullptr || table->deallocate == nullptr)) {
      return false;
    }
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

// The type of the argument of `new (heap) T`. It is a HeapRef where Memory says that its
// deallocate() takes blocks of any heap (`static constexpr bool frees_heap_blocks = true`), since T
// has only one delete. Otherwise it is a type that nothing converts to, so the expression does not
// compile.
class NoHeap {
  NoHeap() = default;
};
template <class Memory, class = void>
struct HeapOfNew {
  using Type = NoHeap;
};
template <class Memory>
struct HeapOfNew<Memory, std::enable_if_t<Memory::frees_heap_blocks>> {
  using Type = HeapRef;
};
template <class Memory>
using HeapForNew = typename HeapOfNew<Memory>::Type;

TARN_NOTES_CALLER inline void* class_allocate_in(HeapRef heap, std::size_t bytes,
                                                 std::size_t alignment) {
  return class_allocate([&]() TARN_NOTES_CALLER { return heap.try_allocate(bytes, alignment); });
}
inline void* class_allocate_in(NoHeap, std::size_t, std::size_t) noexcept { return nullptr; }

}  // namespace tarn

// The forms of one operator for `new (heap) T`, with their deletes.
#define TARN_CLASS_HEAP_FORMS(NEW, DELETE, ...)                                              \
  TARN_NOTES_CALLER static void* operator NEW(                                               \
      std::size_t bytes, ::tarn::HeapForNew<__VA_ARGS__> heap) TARN_CLASS_NEW_NOEXCEPT {     \
    return ::tarn::class_allocate_in(heap, bytes, 1);                                        \
  }                                                                                          \
  TARN_NOTES_CALLER static void* operator NEW(std::size_t bytes, std::align_val_t alignment, \
                                              ::tarn::HeapForNew<__VA_ARGS__> heap)          \
      TARN_CLASS_NEW_NOEXCEPT {                                                              \
    return ::tarn::class_allocate_in(heap, bytes, static_cast<std::size_t>(alignment));      \
  }                                                                                          \
  TARN_NOTES_CALLER static void operator DELETE(void* p,                                     \
                                                ::tarn::HeapForNew<__VA_ARGS__>) noexcept {  \
    ::tarn::HeapRef::deallocate(p);                                                          \
  }                                                                                          \
  TARN_NOTES_CALLER static void operator DELETE(void* p, std::align_val_t,                   \
                                                ::tarn::HeapForNew<__VA_ARGS__>) noexcept {  \
    ::tarn::HeapRef::deallocate(p);                                                          \
  }

// Use this in a class, at a place where its operators get the access that they should have (public,
// mostly). The argument is the type that says where memory comes from. Do not use it in a promise
// type of coroutines: these offer their parameters to operator new, and a single one that is a
// pointer would be taken for given memory. tarn/standard/coroutine.hpp has operators for them.
#define TARN_CLASS_NEW(...)                       \
  TARN_CLASS_OPERATORS(__VA_ARGS__)               \
  TARN_CLASS_HEAP_FORMS(new, delete, __VA_ARGS__) \
  TARN_CLASS_HEAP_FORMS(new[], delete[], __VA_ARGS__)

namespace tarn {

// The same as a base class, for one class or for the root of a hierarchy. Its constructor and
// destructor are public, so that a class which is an aggregate without this base can still be made
// by `T{}`.
template <class Class, class Memory = ClassHeap<Class>>
class ClassNew {
 public:
  TARN_CLASS_NEW(Memory)
};

}  // namespace tarn

#endif
#endif
