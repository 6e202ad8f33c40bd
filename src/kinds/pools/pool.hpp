// pool: the blocks that a fast pool has at hand, between its hit paths and its chunks.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "tarn/pool/pool.h"

namespace tarn {

void give_fresh_back(tarn_pool& pool) noexcept;
// The oldest blocks of the cache go back to their chunks. here: where the program frees one.
void flush(tarn_pool& pool, std::size_t blocks, const void* here) noexcept;
void flush_all(tarn_pool& pool) noexcept;
void set_limit(tarn_pool& pool) noexcept;

}  // namespace tarn
