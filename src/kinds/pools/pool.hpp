// pool: the blocks that a fast pool has at hand: those cached, and the current chunk's fresh ones.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "tarn/pool/pool.h"

namespace tarn {

// Gives the fresh blocks back to the current chunk.
void give_fresh_back(tarn_pool& pool) noexcept;
// The same, and gives so many blocks of the cache, the oldest first, back to their chunks. here:
// the place in the program that frees one, for reports.
void flush(tarn_pool& pool, std::size_t blocks, const void* here) noexcept;
void flush_all(tarn_pool& pool) noexcept;
// Sets the number of cached blocks at which a free calls the library.
void set_limit(tarn_pool& pool) noexcept;

}  // namespace tarn
