// walk: visits every page and block of a heap, in an exclusive section, and lists heaps.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "tarn/heap/heap.h"

namespace tarn {

// As the functions of tarn/heap/heap.h that have their names.
bool heap_unlock(tarn_heap heap) noexcept;
int heap_walk(tarn_heap heap, unsigned flags, tarn_heap_visit visit, void* context) noexcept;
tarn_heap heap_next(tarn_heap heap) noexcept;

}  // namespace tarn
