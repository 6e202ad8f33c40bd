// default_heap: allocation for threads that have a default heap (thread_default.hpp).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "heaps/heap/request.hpp"
#include "tarn/heap/heap.h"

namespace tarn {

// pre: has_default_heap()
void* default_heap_allocate(const Request& request) noexcept;

// As tarn_heap_set_default().
tarn_heap heap_set_default(tarn_heap heap) noexcept;

}  // namespace tarn
