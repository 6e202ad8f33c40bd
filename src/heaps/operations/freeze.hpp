// freeze: a heap's memory made read-only, and writable again.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/record.hpp"

namespace tarn {

// False with errno set: EINVAL, EBUSY for a visitor of a walk, ENOMEM when the OS refuses.
bool heap_set_frozen(tarn_heap heap, bool frozen, const char* function) noexcept;

// True for a heap that is not frozen any more; false with ENOMEM when the OS refuses. pre: held
// exclusively, or the child of a fork
bool thaw(HeapRecord& record) noexcept;

// The budget of pieces anew: what vanished threads had of frozen heaps is nobody's. For the child
// of a fork. first: linked by next_known
void recount_frozen(HeapRecord* first) noexcept;

}  // namespace tarn
