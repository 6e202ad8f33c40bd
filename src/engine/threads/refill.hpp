// refill: what malloc does when the current page of a class has no block on its free list. As
// thread_heap.hpp: called by the owner, with the thread marked busy.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/records/thread.hpp"

namespace tarn {

// Makes a page with a block on its free list the current one of the class, and returns it. Null
// when out of memory.
Page* refill(ThreadHeap& heap, std::size_t size_class) noexcept;

// As refill(), for a request of `bytes`, which is counted.
Page* refill_for(ThreadHeap& heap, std::size_t size_class, std::size_t bytes) noexcept;

}  // namespace tarn
