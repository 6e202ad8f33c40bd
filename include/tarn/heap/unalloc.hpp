// unalloc.hpp: the process's heap with a class table of its choice, in C++ (C++17; header only over
// tarn/heap/unalloc.h, which says what each function promises).
//
//   tarn::ClassTable table = tarn::ClassTable::steps(2);
//   table.add(396);
//   tarn::Unalloc::use(table);                     // before its first block; false with errno
//   void* p = tarn::Unalloc::allocate(100);        // throws std::bad_alloc; try_allocate: null
//   p = tarn::Unalloc::reallocate(p, 112);         // where it is
//   tarn::Unalloc::deallocate(p);
//
// SPDX-License-Identifier: MIT
#ifndef TARN_UNALLOC_HPP
#define TARN_UNALLOC_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cstddef>

#include "../detail/errors.hpp"
#include "heap.hpp"
#include "unalloc.h"

namespace tarn {

// The process's one such heap. There are no objects of this type; all functions are static.
struct Unalloc {
  Unalloc() = delete;

  // Choose the classes: a table, or powers of two divided into steps. False with errno EBUSY when
  // the heap is there already, and with EINVAL or ENOSPC for classes that no heap takes.
  static bool use(const ClassTable& table) noexcept {
    return tarn_unalloc_use_classes(table.data(), table.size()) == 0;
  }
  static bool use_steps(unsigned per_doubling) noexcept {
    return tarn_unalloc_use_steps(per_doubling) == 0;
  }

  // Choose the order: the block that was freed last is the next one of its class, or not.
  static bool use_lifo(bool yes = true) noexcept { return tarn_unalloc_use_lifo(yes ? 1 : 0) == 0; }

  [[nodiscard]] TARN_NOTES_CALLER static void* allocate(std::size_t bytes) {
    return or_bad_alloc(tarn_unalloc(bytes));
  }
  [[nodiscard]] TARN_NOTES_CALLER static void* try_allocate(std::size_t bytes) noexcept {
    return tarn_unalloc(bytes);
  }

  // A block of count * bytes, all zero. The product is checked.
  [[nodiscard]] TARN_NOTES_CALLER static void* allocate_zeroed(std::size_t count,
                                                               std::size_t bytes) {
    return or_bad_alloc(tarn_uncalloc(count, bytes));
  }
  [[nodiscard]] TARN_NOTES_CALLER static void* try_allocate_zeroed(std::size_t count,
                                                                   std::size_t bytes) noexcept {
    return tarn_uncalloc(count, bytes);
  }

  // Resizes a block, in place while its class holds the new size. Size 0 frees p and gives null.
  [[nodiscard]] TARN_NOTES_CALLER static void* reallocate(void* p, std::size_t bytes) {
    void* const moved = tarn_unrealloc(p, bytes);
    return bytes == 0 && p != nullptr ? moved : or_bad_alloc(moved);
  }
  [[nodiscard]] TARN_NOTES_CALLER static void* try_reallocate(void* p, std::size_t bytes) noexcept {
    return tarn_unrealloc(p, bytes);
  }

  TARN_NOTES_CALLER static void deallocate(void* p) noexcept { tarn_unfree(p); }

  // The heap, which is made if it is not there yet. False as a truth value when there is no memory
  // for it.
  static HeapRef heap() noexcept {
    void* const p = tarn_unalloc(0);
    const HeapRef heap = HeapRef::of(p);
    tarn_unfree(p);
    return heap;
  }
};

}  // namespace tarn

#endif
#endif
