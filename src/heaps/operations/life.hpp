// life: how heaps begin and end.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "tarn/heap/heap.h"

namespace tarn {

// The zero handle with errno set when it cannot be made.
tarn_heap heap_create(const tarn_heap_options* options) noexcept;

// Ends all blocks of a heap and, if `ends`, the heap. False with EBUSY or EINVAL.
bool heap_clear(tarn_heap heap, bool ends, const char* function) noexcept;

// Ends the heap; its blocks go on as malloc's. False with EINVAL, EBUSY, EPERM or ENOTSUP.
bool heap_delete(tarn_heap heap) noexcept;

}  // namespace tarn
