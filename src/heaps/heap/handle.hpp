// handle: from the handle that a program has to the record of its heap.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/records/record.hpp"

namespace tarn {

// The record of a live heap; null with EINVAL for the zero handle. Reports a heap that has ended.
HeapRecord* live_record(tarn_heap heap, const char* function) noexcept;

// Closed for the calling thread; null with EINVAL where that cannot be.
HeapRecord* heap_lock(tarn_heap heap, const char* function) noexcept;

// As the functions of tarn/heap/heap.h: -1 with EINVAL as heap_lock.
using SetLimit = void (Limits::*)(std::size_t) noexcept;
int heap_set_limit(tarn_heap heap, SetLimit set, std::size_t bytes, const char* function) noexcept;

}  // namespace tarn
