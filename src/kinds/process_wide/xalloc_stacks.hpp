// xalloc_stacks: blocks above linear_bytes_max that a thread has freed and may take again. Their
// addresses lie beside them, in arrays of the thread's, so nobody touches a page of such a block
// but the program.
//
// A thread stacks blocks of its own pages alone; those of other threads go back to these. What was
// not wanted again for purge_delay_ms goes back to the heap when the thread stacks or takes a block
// of the class, and all of it when the thread ends or is idle, or memory is short.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/layout/size_class.hpp"

namespace tarn {

constexpr bool is_stacked(std::size_t size_class) noexcept {
  return size_class > linear_class_max && size_class < class_count;
}

// The block that the calling thread has stacked last; null: none. pre: is_stacked(size_class)
void* take_stacked(std::size_t size_class) noexcept;

// False, with nothing done, when there is no memory for that. A block that is on the top already is
// reported as freed twice. pre: the calling thread's own block, of a class that is_stacked()
bool stack_block(std::size_t size_class, void* p) noexcept;

// Gives all blocks that the calling thread has stacked back to the heap. False: there were none.
bool give_stacked() noexcept;

}  // namespace tarn
