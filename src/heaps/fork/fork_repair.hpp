// fork_repair: the child of a fork has one thread; what the others held or had half-changed is
// repaired here. docs/design/heap.md says what is lost.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/thread.hpp"

namespace tarn {

// Everything, in its order. Called in the child, before anything else uses the library.
void repair_after_fork() noexcept;

// A part of it, after the threads' records are in order: those that were not busy are orphans, the
// others lost. Heaps that a vanished thread was changing lose what they had: its blocks can be
// freed, their memory is not used again. survivor, late_thread: as Orphans::recover_after_fork()
void repair_heaps(const Thread* survivor, const Thread* ending_thread) noexcept;

}  // namespace tarn
