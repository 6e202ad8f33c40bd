// compat/smrtheap.hpp: the pools of smrtheap.h in C++17: `new (pool) T`, with matching deletes, and
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

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

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
inline void* tarn_mem_new(std::size_t bytes, std::size_t alignment, MEM_POOL pool,
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
inline void* operator new(std::size_t bytes, MEM_POOL pool) TARN_SMRTHEAP_NEW_NOEXCEPT {
  return tarn_mem_new(bytes, tarn_mem_alignment(bytes), pool);
}
inline void* operator new[](std::size_t bytes, MEM_POOL pool) TARN_SMRTHEAP_NEW_NOEXCEPT {
  return tarn_mem_new(bytes, tarn_mem_alignment(bytes), pool);
}
// flags: as those of MemAllocPtr.
inline void* operator new(std::size_t bytes, MEM_POOL pool,
                          unsigned flags) TARN_SMRTHEAP_NEW_NOEXCEPT {
  return tarn_mem_new(bytes, tarn_mem_alignment(bytes), pool, flags);
}
inline void* operator new[](std::size_t bytes, MEM_POOL pool,
                            unsigned flags) TARN_SMRTHEAP_NEW_NOEXCEPT {
  return tarn_mem_new(bytes, tarn_mem_alignment(bytes), pool, flags);
}
#undef TARN_SMRTHEAP_NEW_NOEXCEPT
// Called when a constructor throws.
inline void operator delete(void* p, MEM_POOL) noexcept { MemFreePtr(p); }
inline void operator delete[](void* p, MEM_POOL) noexcept { MemFreePtr(p); }
inline void operator delete(void* p, MEM_POOL, unsigned) noexcept { MemFreePtr(p); }
inline void operator delete[](void* p, MEM_POOL, unsigned) noexcept { MemFreePtr(p); }

// Lies in front of an object that its pool destroys. They are linked from the youngest to the
// oldest.
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

// Makes a T from the arguments. MemDelete runs its destructor, or MemPoolFree, which destroys
// younger objects first. Throws std::bad_alloc when there is no memory; null without exceptions.
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

// Destroys an object that MemNew made, with the type that it was made with. Null is ignored.
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
