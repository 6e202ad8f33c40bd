// thread_life: the beginning and the end of a thread's use of the library.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/thread.hpp"
#include "engine/threads/orphans.hpp"

namespace tarn {

// The calling thread's record, made or adopted when it has none; null when out of memory.
Thread* thread_start() noexcept;

// A record that is nobody's, or a new one, busy; null when out of memory. What a thread that a fork
// left behind had at hand goes to its pages.
Thread* thread_take(Orphans::Counted counted) noexcept;

// Gives the blocks that the thread has at hand to their pages, and its large ones to the store.
// pre: the thread is busy; it is the calling one, or has ended
void give_at_hand(Thread& thread) noexcept;

// What the record's thread has goes to its pages, and they and the record to whoever wants them.
// The record is busy before, and not any longer afterwards. pre: its thread has ended, or is none
void thread_give(Thread& thread) noexcept;

}  // namespace tarn
