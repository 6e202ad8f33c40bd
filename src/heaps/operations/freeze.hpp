// freeze: makes a heap's memory read-only, and writable again.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/record.hpp"

namespace tarn {

// False with errno set: EINVAL, EBUSY for a visitor of a walk, ENOMEM when the OS refuses.
bool heap_set_frozen(tarn_heap heap, bool frozen, const char* function) noexcept;

// Makes the heap writable again. False with ENOMEM when the OS refuses. pre: it is frozen, and held
// exclusively or in the child of a fork
bool thaw(HeapRecord& record) noexcept;

// Counts the pieces of frozen heaps again, in the child of a fork: what vanished threads had of
// them is nobody's. first: linked by next_known
void recount_frozen(HeapRecord* first) noexcept;

}  // namespace tarn
