// chunks: how chunks begin, are found, get empty and end. While the source is called, other threads
// may use the pools: all invariants hold then, and what was read before the call is read again.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kinds/class_pools/chunk.hpp"

namespace tarn {

tarn_class_chunk* find_chunk(tarn_class_pools& pools, const void* p) noexcept;
// zeros: the first block is to read as zero, if that costs nothing extra.
tarn_class_chunk* new_chunk(tarn_class_pools& pools, tarn_class_pool& pool, bool zeros) noexcept;
tarn_class_chunk* new_lone_chunk(tarn_class_pools& pools, tarn_class_pool& pool,
                                 std::size_t alignment, bool zeros) noexcept;
void release_chunk(tarn_class_pools& pools, tarn_class_chunk* chunk) noexcept;
void note_empty(tarn_class_pools& pools, tarn_class_chunk* chunk) noexcept;
bool release_spares(tarn_class_pools& pools) noexcept;  // False: there were none.
std::size_t trim(tarn_class_pools& pools) noexcept;

}  // namespace tarn
