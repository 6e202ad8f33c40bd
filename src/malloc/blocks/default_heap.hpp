// default_heap: allocation for threads that have a default heap (thread_default.hpp).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "tarn/heap/heap.h"

namespace tarn {

// pre: has_default_heap()
void* default_heap_allocate(std::size_t bytes, std::size_t alignment, bool zero,
                            const void* site) noexcept;

// As tarn_heap_set_default().
tarn_heap heap_set_default(tarn_heap heap) noexcept;

}  // namespace tarn
