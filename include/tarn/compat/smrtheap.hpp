// compat/smrtheap.hpp: the pools of smrtheap.h in C++: `new (pool) T`, with matching deletes, and
// objects that the pool destroys.
//
//   MEM_POOL pool = MemPoolInit(0);
//   char* text = new (pool) char[100];              // MemFreePtr(text), or leave it to the pool
//   Node* node = new (pool) Node(1);                // delete node, with -ltarn_new or -ltarn;
//                                                   // else node->~Node(), MemFreePtr(node)
//   auto* list = MemNew<std::vector<int>>(pool);    // destroyed by MemPoolFree, if not before
//
// When there is no memory and the pool's error handler makes no room, `new (pool)` throws
// std::bad_alloc; without exceptions it gives null, as MemNew does. When a constructor throws, the
// memory is freed. MemPoolFree runs no destructors of what `new (pool)` made, since operators are
// not told the type: make such objects by MemNew, or destroy them before.
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

// The largest alignment that an object or an array of so many bytes can need, up to 4096. (There is
// no operator new with an alignment and a pool: if there is a global one, gcc 12 rejects `new
// (memory) T` for every over-aligned T of the program, even in containers.)
inline std::size_t tarn_mem_alignment(std::size_t bytes) noexcept {
  const std::size_t low_bit = bytes & (~bytes + 1);
  return low_bit > 4096 ? 4096 : low_bit;
}
// Allocates the bytes from the pool. Throws std::bad_alloc when there is no memory; null without
// exceptions.
TARN_NOTES_CALLER inline void* tarn_mem_new(std::size_t bytes, std::size_t alignment, MEM_POOL pool,
                                            unsigned flags = 0) {
  void* p = MemAllocPtr(pool, bytes, flags);
  if (p != nullptr && alignment > 16 && reinterpret_cast<std::uintptr_t>(p) % alignment != 0) {
    MemFreePtr(p);
    do {
      p = tarn_heap_allocate_aligned(pool->heap, alignment, bytes);
    } while (p == nullptr && tarn_mem_retry(pool, bytes));
    if (p != nullptr && ((flags | pool->flags) & MEM_ZEROINIT) != 0) {
      std::memset(p, 0, tarn_heap_usable_bytes(p));
    }
  }
#if defined(__cpp_exceptions)
  if (p == nullptr) throw std::bad_alloc();
#endif
  return p;
}

// Callers of `new` check for null only if the operator is noexcept, so without exceptions it is.
#if defined(__cpp_exceptions)
#define TARN_SMRTHEAP_NEW_NOEXCEPT
#else
#define TARN_SMRTHEAP_NEW_NOEXCEPT noexcept
#endif
TARN_NOTES_CALLER inline void* operator new(std::size_t bytes,
                                            MEM_POOL pool) TARN_SMRTHEAP_NEW_NOEXCEPT {
  return tarn_mem_new(bytes, tarn_mem_alignment(bytes), pool);
}
TARN_NOTES_CALLER inline void* operator new[](std::size_t bytes,
                                              MEM_POOL pool) TARN_SMRTHEAP_NEW_NOEXCEPT {
  return tarn_mem_new(bytes, tarn_mem_alignment(bytes), pool);
}
// flags: as those of MemAllocPtr.
TARN_NOTES_CALLER inline void* operator new(std::size_t bytes, MEM_POOL pool,
                                            unsigned flags) TARN_SMRTHEAP_NEW_NOEXCEPT {
  return tarn_mem_new(bytes, tarn_mem_alignment(bytes), pool, flags);
}
TARN_NOTES_CALLER inline void* operator new[](std::size_t bytes, MEM_POOL pool,
                                              unsigned flags) TARN_SMRTHEAP_NEW_NOEXCEPT {
  return tarn_mem_new(bytes, tarn_mem_alignment(bytes), pool, flags);
}
#undef TARN_SMRTHEAP_NEW_NOEXCEPT
// Called when a constructor throws.
TARN_NOTES_CALLER inline void operator delete(void* p, MEM_POOL) noexcept { MemFreePtr(p); }
TARN_NOTES_CALLER inline void operator delete[](void* p, MEM_POOL) noexcept { MemFreePtr(p); }
TARN_NOTES_CALLER inline void operator delete(void* p, MEM_POOL, unsigned) noexcept {
  MemFreePtr(p);
}
TARN_NOTES_CALLER inline void operator delete[](void* p, MEM_POOL, unsigned) noexcept {
  MemFreePtr(p);
}

// Lies in front of an object that its pool destroys. They are linked from the youngest to the
// oldest.
struct tarn_mem_object {
  tarn_mem_object* older;
  tarn_mem_object* younger;
  MEM_POOL pool;
  void (*destroy)(tarn_mem_object* self);
};

// How far an object lies behind its tarn_mem_object.
template <class T>
constexpr std::size_t tarn_mem_offset() noexcept {
  return (sizeof(tarn_mem_object) + alignof(T) - 1) / alignof(T) * alignof(T);
}
template <class T>
T* tarn_mem_object_of(tarn_mem_object* header) noexcept {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(header) + tarn_mem_offset<T>());
}

// MemDefaultPool never ends, and keeps no list.
inline void tarn_mem_link(MEM_POOL pool, tarn_mem_object* header) noexcept {
  header->pool = pool;
  header->younger = header->older = nullptr;
  if (MemPoolLock(pool) == 0) return;
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
  if (MemPoolLock(pool) == 0) return;
  if (header->older != nullptr) header->older->younger = header->younger;
  if (header->younger != nullptr) {
    header->younger->older = header->older;
  } else {
    pool->objects = header->older;
  }
  MemPoolUnlock(pool);
}

// The two ways of MemNew and MemDelete: T has a destructor (true), or needs none.
template <class T, bool Destroys>
struct tarn_mem_way {
  static constexpr std::size_t offset = tarn_mem_offset<T>();
  static void made(MEM_POOL pool, void* memory) noexcept {
    auto* const header = ::new (memory) tarn_mem_object();
    header->destroy = [](tarn_mem_object* self) {
      tarn_mem_unlink(self);
      tarn_mem_object_of<T>(self)->~T();
      MemFreePtr(self);
    };
    tarn_mem_link(pool, header);
  }
  static void end(T* object) noexcept {
    auto* const header =
        reinterpret_cast<tarn_mem_object*>(reinterpret_cast<char*>(object) - offset);
    header->destroy(header);
  }
};
template <class T>
struct tarn_mem_way<T, false> {
  static constexpr std::size_t offset = 0;
  static void made(MEM_POOL, void*) noexcept {}
  static void end(T* object) noexcept { MemFreePtr(object); }
};
template <class T>
using tarn_mem_way_of = tarn_mem_way<T, !std::is_trivially_destructible<T>::value>;

// Makes a T from the arguments. MemDelete runs its destructor, or MemPoolFree, which destroys
// younger objects first. Throws std::bad_alloc when there is no memory; null without exceptions.
template <class T, class... Args>
TARN_NOTES_CALLER inline T* MemNew(MEM_POOL pool, Args&&... args) {
  using Way = tarn_mem_way_of<T>;
  struct Memory {
    void* p;
    ~Memory() { MemFreePtr(p); }
  } memory{tarn_mem_new(Way::offset + sizeof(T), alignof(T), pool)};
  if (memory.p == nullptr) return nullptr;  // Without exceptions.
  void* const place = static_cast<char*>(memory.p) + Way::offset;
  T* const object = ::new (place) T(std::forward<Args>(args)...);
  Way::made(pool, memory.p);
  memory.p = nullptr;
  return object;
}

// Destroys an object that MemNew made, with the type that it was made with. Null is ignored.
template <class T>
void MemDelete(T* object) noexcept {
  if (object != nullptr) tarn_mem_way_of<T>::end(object);
}

#endif
#endif
