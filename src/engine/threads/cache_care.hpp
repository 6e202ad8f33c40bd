// cache_care: the slow paths of a thread's cache: it is filled from a page, and what it has goes
// back to the pages when a list has rested, its class is being freed, or its thread rests. All of
// these are called by the owner, with the thread marked busy; for an orphan, by the thread that
// holds the orphans' lock.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/records/thread.hpp"

namespace tarn {

// Moves the free list of a page at hand to that of its class. pre: the class's list is empty
void cache_fill(Thread& thread, Page& page) noexcept;

// A block for `bytes` from the list of a class that is a little larger, a freed one as far as is
// known, where the class itself has none on its pages and so would take memory. Null when there is
// none either, or it is time for memory.
void* cache_take_larger(Thread& thread, std::size_t size_class, std::size_t bytes) noexcept;

// Likewise when there is no memory: any block of such a class.
void* cache_take_any_larger(Thread& thread, std::size_t size_class, std::size_t bytes) noexcept;

// A page of the class is empty, `blocks` is what it had. When several have become so and nothing
// was taken meanwhile, the class is being freed: its freed blocks go to their pages, and so do
// those that are freed from now on, until the class is filled again.
void cache_note_emptied(Thread& thread, std::size_t size_class, std::size_t blocks) noexcept;

// Gives the freed blocks of all classes to their pages. What was not reached of a page at hand
// stays, as that does; of another page, which others may adopt once the thread has ended, it goes.
void cache_empty(Thread& thread) noexcept;

// Likewise for those that nobody has used since the last call.
void cache_age(Thread& thread) noexcept;

// Gives all blocks of a class back: the thread is to have no page at hand for it. Those of a record
// that a fork has left stay until it is taken over (take_over_cache()).
void cache_give_back(Thread& thread, std::size_t size_class) noexcept;

// True when each list has as many blocks as its counts say, of its class. O(blocks).
bool cache_check(const Thread& thread) noexcept;

}  // namespace tarn
