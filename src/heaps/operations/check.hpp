// check: checks a heap's pages and lists, and tells what an address is to the heap.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "tarn/heap/heap.h"

namespace tarn {

// As the functions of tarn/heap/heap.h that have their names.
int heap_check(tarn_heap heap) noexcept;
int heap_look(tarn_heap heap, const void* p) noexcept;

}  // namespace tarn
