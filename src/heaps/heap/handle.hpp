// handle: finds the record of the heap that a program's handle names.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/records/record.hpp"

namespace tarn {

// The record of a live heap; null with EINVAL for the zero handle. Reports a heap that has ended.
HeapRecord* live_record(tarn_heap heap, const char* function) noexcept;

// Enters an exclusive section of the heap and returns its record. Null with EINVAL for a heap that
// cannot be locked.
HeapRecord* heap_lock(tarn_heap heap, const char* function) noexcept;

// Sets a limit, as the functions of tarn/heap/heap.h do. Returns 0, or -1 with EINVAL as
// heap_lock().
using SetLimit = void (Limits::*)(std::size_t) noexcept;
int heap_set_limit(tarn_heap heap, SetLimit set, std::size_t bytes, const char* function) noexcept;

}  // namespace tarn
