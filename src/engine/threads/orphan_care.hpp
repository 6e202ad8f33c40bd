// orphan_care: acting as the owner of pages whose thread has ended. All functions take the orphans'
// lock, which the calling thread must not hold.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/thread.hpp"

namespace tarn {

// Makes the record of the calling thread, which ends, an orphan. pre: nothing that it freed is at
// hand. The thread is no longer busy then.
void orphan_give(Thread& thread) noexcept;

// Reads the mail of an orphan. Does nothing when the record is no orphan any longer.
void orphan_serve(Thread& thread) noexcept;

// If the thread heap belongs to an orphan: reads the mail, gives back what is empty, and has the
// rest posted when it is freed.
void orphan_tend(ThreadHeap& thread_heap) noexcept;

// As orphan_tend(), for what deleted heaps have left to any of them.
void orphans_tend_left_over() noexcept;

// Flushes all current pages of all orphans and gives back what is empty.
void orphans_trim() noexcept;

}  // namespace tarn
