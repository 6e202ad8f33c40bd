// handle: from the handle that a program has to the record of its heap.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "heap/record.hpp"

namespace tarn {

// The record of a live heap; null with EINVAL for the zero handle. Reports a heap that has ended.
HeapRecord* live_record(tarn_heap heap, const char* function) noexcept;

}  // namespace tarn
