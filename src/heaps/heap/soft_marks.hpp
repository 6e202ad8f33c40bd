// soft_marks: soft marks of heaps. A charge that passes one leaves a note (limits.hpp); the
// program's callback is called later, where no lock is held.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "engine/records/record.hpp"

namespace tarn {

// Whether a soft mark of the heap or an ancestor is due. pre: the heap cannot end: the calling
// thread is inside, or holds its lock
bool soft_marks_due(const HeapRecord& heap) noexcept;

// Calls what soft marks are due, of the heap and its ancestors, unless it has another id by now.
// pre: no lock held, not busy
void call_due_soft_marks(HeapRecord& heap, std::uint64_t id) noexcept;

}  // namespace tarn
