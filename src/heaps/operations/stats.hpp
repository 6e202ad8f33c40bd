// stats: the statistics of a heap.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "tarn/heap/heap.h"

namespace tarn {

// As tarn_heap_stats_get().
bool heap_stats(tarn_heap heap, tarn_heap_stats* stats) noexcept;

}  // namespace tarn
