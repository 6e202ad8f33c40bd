// fork_repair: the child of a fork has one thread; what the others held or had half-changed is
// repaired here. docs/design/heap.md says what is lost.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/thread.hpp"

namespace tarn {

// Repairs everything, each after what it needs. Called in the child, before anything else uses the
// library.
void repair_after_fork() noexcept;

// The part of it for heaps. By then the records of threads that were not busy are orphans, the
// others lost. A heap that a vanished thread was changing loses what it had: its blocks can be
// freed, and their memory is not used again. survivor, ending_thread: as for
// Orphans::recover_after_fork()
void repair_heaps(const Thread* survivor, const Thread* ending_thread) noexcept;

}  // namespace tarn
