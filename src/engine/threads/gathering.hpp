// gathering: frees of other threads' blocks, gathered by page, so that a chain of them takes one
// compare-and-swap. Only blocks of malloc's own heap; how many is bounded in number and in bytes.
// To its page a gathered block is live. All of these are called by the thread itself.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/records/thread.hpp"

namespace tarn {

// Frees a block of another thread's page. False, with nothing done, when the page has no live
// block. pre: its slice's tag says that it is one of `size_class`, and it is a block
bool gather(Thread& thread, Page* page, Block* block, std::size_t size_class) noexcept;

// Gives everything that was gathered to its pages.
void give_gathered(Thread& thread) noexcept;

}  // namespace tarn
