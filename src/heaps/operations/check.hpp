// check: checks a heap's pages and lists, and tells what an address is to the heap.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/record.hpp"
#include "tarn/heap/heap.h"

namespace tarn {

// True when the heap's lists, pages and counts agree. For a heap with checks: also that no block
// was overrun, which is reported. O(blocks). pre: held exclusively
bool heap_is_sound(HeapRecord& record) noexcept;

// As the functions of tarn/heap/heap.h that have their names.
int heap_check(tarn_heap heap) noexcept;
int heap_look(tarn_heap heap, const void* p) noexcept;

}  // namespace tarn
