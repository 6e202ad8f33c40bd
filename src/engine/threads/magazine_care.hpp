// magazine_care: the slow paths of magazines: what they have goes to its pages when one is full,
// has rested, or its thread rests. All of these are called by the owner, with the thread marked
// busy, and without the orphans' lock.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/records/thread.hpp"

namespace tarn {

// Freed blocks of the class are about to be allocated again: lets its magazine have blocks.
void magazine_wake(Thread& thread, std::size_t size_class) noexcept;

// Frees a block whose magazine is full: makes room for it, or puts the magazine to rest, if nothing
// was taken from it since it was last full: then the class is being freed in bulk. pre: it does not
// rest yet
void magazine_put_full(Thread& thread, std::size_t size_class, Block* block) noexcept;

// Gives the blocks of all magazines to their pages. They rest then.
void empty_magazines(Thread& thread) noexcept;

// Likewise for those that nobody has used since the last call.
void age_magazines(Thread& thread) noexcept;

// True when each magazine is in its slots, and has blocks of its class.
bool magazines_check(const Thread& thread) noexcept;

}  // namespace tarn
