// orphan_care: acting as the owner of pages whose thread has ended. All of these take the orphans'
// lock; the calling thread does not hold it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/thread.hpp"

namespace tarn {

// The calling thread ends: its record becomes an orphan. Ends its being busy.
void orphan_give(Thread& thread) noexcept;

// Reads the mail of an orphan. Nothing if the record is not one any longer.
void orphan_serve(Thread& thread) noexcept;

// If the thread heap's thread is an orphan: reads the mail, gives back what is empty, and has the
// rest posted when it is freed.
void orphan_tend(ThreadHeap& thread_heap) noexcept;

// Flushes all current pages of all orphans and gives back what is empty.
void orphans_trim() noexcept;

}  // namespace tarn
