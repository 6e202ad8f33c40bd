// soft_marks: soft marks of heaps (soft limits). A charge that passes one sets a flag (limits.hpp);
// the program's callback is called later, where no lock is held.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "engine/records/record.hpp"

namespace tarn {

// True when the callback of the heap or of an ancestor is due. pre: the heap cannot end, because
// the calling thread is inside or holds its lock
bool soft_marks_due(const HeapRecord& heap) noexcept;

// Calls the callbacks that are due, of the heap and its ancestors, unless it has another id by now.
// pre: no lock held, not busy
void call_due_soft_marks(HeapRecord& heap, std::uint64_t id) noexcept;

}  // namespace tarn
