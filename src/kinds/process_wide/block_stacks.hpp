// block_stacks: blocks that a thread has freed and takes again, the last one first: those of
// xmalloc above linear_bytes_max, and those of unalloc where it is to be last in, first out. Their
// addresses lie beside them, in arrays of the thread's, so nobody touches a page of such a block
// but the program.
//
// A thread stacks blocks of its own pages alone; those of other threads go back to these. What was
// not wanted again for purge_delay_ms goes back to the heap when the thread stacks or takes some
// more blocks of the class, or when memory is looked after (engine/upkeep/idle_purge.hpp), by any
// thread; and all of it when the thread ends, at a trim, and when memory is short.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/layout/size_class.hpp"
#include "tarn/heap/heap.h"

namespace tarn {

// A thread has a stack for each of these.
enum class StackRow : std::size_t {};
inline constexpr std::size_t xmalloc_rows = class_count - linear_class_max - 1;
inline constexpr std::size_t stack_rows = xmalloc_rows + TARN_HEAP_CLASSES_MAX;

constexpr bool is_stacked(std::size_t size_class) noexcept {
  return size_class > linear_class_max && size_class < class_count;
}
// pre: is_stacked(size_class)
constexpr StackRow xmalloc_row(std::size_t size_class) noexcept {
  return StackRow{size_class - linear_class_max - 1};
}
// at: of unalloc's table
constexpr StackRow unalloc_row(std::size_t at) noexcept { return StackRow{xmalloc_rows + at}; }

// The block that the calling thread has stacked last; null: none.
void* take_stacked(StackRow row) noexcept;

// False, with nothing done, when there is no memory for that. Calls nothing of the program, and
// keeps errno. A block that is among the last four is reported as freed twice by `function`. pre:
// a block of one of the calling thread's own pages
bool stack_block(StackRow row, void* p, const char* function) noexcept;

}  // namespace tarn
