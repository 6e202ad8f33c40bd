// compat/smrtheap.hpp: the pools of smrtheap.h in C++17: `new (pool) T`, with matching deletes, and
// objects that the pool destroys.
//
//   MEM_POOL pool = MemPoolInit(0);
//   char* text = new (pool) char[100];              // MemFreePtr(text), or nothing: the pool ends
//   Node* node = new (pool) Node(1);                // delete node, where tarn is malloc;
//                                                   // else node->~Node(), MemFreePtr(node)
//   auto* list = MemNew<std::vector<int>>(pool);    // destroyed by MemPoolFree, if not before
//
// `new (pool)` throws std::bad_alloc after the pool's error handler was asked (without exceptions
// it gives null, as MemNew does); when a constructor throws, the memory goes back. MemPoolFree runs
// no destructor of what `new (pool)` made (operators are not told the type): what has one is made
// by MemNew, or destroyed before.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_COMPAT_SMRTHEAP_HPP
#define TARN_COMPAT_SMRTHEAP_HPP

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "smrtheap.h"

// What an object or an array of so many bytes can need, to 4096 at most. (There is no operator new
// with an alignment and a pool: with one that is global gcc 12 refuses `new (memory) T` for every
// over-aligned T of the program, in containers, too.)
inline std::size_t tarn_mem_alignment(std::size_t bytes) noexcept {
  const std::size_t low_bit = bytes & (~bytes + 1);
  return low_bit > 4096 ? 4096 : low_bit;
}
// The bytes from the pool; std::bad_alloc, or null without exceptions.
inline void* tarn_mem_new(std::size_t bytes, std::size_t alignment, MEM_POOL pool) {
  void* p = MemAllocPtr(pool, bytes, 0);
  if (p != nullptr && alignment > 16 && reinterpret_cast<std::uintptr_t>(p) % alignment != 0) {
    MemFreePtr(p);
    do {
      p = tarn_heap_allocate_aligned(pool->heap, alignment, bytes);
    } while (p == nullptr && tarn_mem_retry(pool, bytes));
    if (p != nullptr && (pool->flags & MEM_ZEROINIT) != 0) {
      std::memset(p, 0, tarn_heap_usable_bytes(p));
    }
  }
#if defined(__cpp_exceptions)
  if (p == nullptr) throw std::bad_alloc();
#endif
  return p;
}

// Where there are no exceptions `new` looks for null only behind operators that are noexcept.
#if defined(__cpp_exceptions)
#define TARN_SMRTHEAP_NEW_NOEXCEPT
#else
#define TARN_SMRTHEAP_NEW_NOEXCEPT noexcept
#endif
inline void* operator new(std::size_t bytes, MEM_POOL pool) TARN_SMRTHEAP_NEW_NOEXCEPT {
  return tarn_mem_new(bytes, tarn_mem_alignment(bytes), pool);
}
inline void* operator new[](std::size_t bytes, MEM_POOL pool) TARN_SMRTHEAP_NEW_NOEXCEPT {
  return tarn_mem_new(bytes, tarn_mem_alignment(bytes), pool);
}
#undef TARN_SMRTHEAP_NEW_NOEXCEPT
// For constructors that throw.
inline void operator delete(void* p, MEM_POOL) noexcept { MemFreePtr(p); }
inline void operator delete[](void* p, MEM_POOL) noexcept { MemFreePtr(p); }

// In front of an object that its pool destroys; linked from the youngest to the oldest.
struct tarn_mem_object {
  tarn_mem_object* older;
  tarn_mem_object* younger;
  MEM_POOL pool;
  void (*destroy)(tarn_mem_object* self);
};

template <class T>
constexpr std::size_t tarn_mem_offset = (sizeof(tarn_mem_object) + alignof(T) - 1) / alignof(T) *
                                        alignof(T);
template <class T>
T* tarn_mem_object_of(tarn_mem_object* header) noexcept {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(header) + tarn_mem_offset<T>);
}

inline void tarn_mem_link(MEM_POOL pool, tarn_mem_object* header) noexcept {
  MemPoolLock(pool);
  header->pool = pool;
  header->younger = nullptr;
  header->older = static_cast<tarn_mem_object*>(pool->objects);
  if (header->older != nullptr) header->older->younger = header;
  pool->objects = header;
  pool->end_objects = [](MEM_POOL ending) {
    while (ending->objects != nullptr) {
      auto* const youngest = static_cast<tarn_mem_object*>(ending->objects);
      youngest->destroy(youngest);
    }
  };
  MemPoolUnlock(pool);
}
inline void tarn_mem_unlink(tarn_mem_object* header) noexcept {
  const MEM_POOL pool = header->pool;
  MemPoolLock(pool);
  if (header->older != nullptr) header->older->younger = header->younger;
  if (header->younger != nullptr) {
    header->younger->older = header->older;
  } else {
    pool->objects = header->older;
  }
  MemPoolUnlock(pool);
}

// A T made of the arguments, whose destructor MemDelete runs, or MemPoolFree, younger objects
// first. std::bad_alloc.
template <class T, class... Args>
T* MemNew(MEM_POOL pool, Args&&... args) {
  constexpr bool has_header = !std::is_trivially_destructible_v<T>;
  constexpr std::size_t offset = has_header ? tarn_mem_offset<T> : 0;
  struct Memory {
    void* p;
    ~Memory() { MemFreePtr(p); }
  } memory{tarn_mem_new(offset + sizeof(T), alignof(T), pool)};
  if (memory.p == nullptr) return nullptr;  // Without exceptions.
  void* const place = static_cast<char*>(memory.p) + offset;
  T* const object = ::new (place) T(std::forward<Args>(args)...);
  if constexpr (has_header) {
    auto* const header = ::new (memory.p) tarn_mem_object();
    header->destroy = [](tarn_mem_object* self) {
      tarn_mem_unlink(self);
      tarn_mem_object_of<T>(self)->~T();
      MemFreePtr(self);
    };
    tarn_mem_link(pool, header);
  }
  memory.p = nullptr;
  return object;
}

// Destroys what MemNew made, of the type it was made as; null is ignored.
template <class T>
void MemDelete(T* object) noexcept {
  if (object == nullptr) return;
  if constexpr (std::is_trivially_destructible_v<T>) {
    MemFreePtr(object);
  } else {
    auto* const header =
        reinterpret_cast<tarn_mem_object*>(reinterpret_cast<char*>(object) - tarn_mem_offset<T>);
    header->destroy(header);
  }
}

#endif
#endif
