// checked: pools that check the use of their blocks. Each block has a canary behind it and, apart
// from it, a note that says where it was allocated and freed. Live bits are right at any time. A
// free block is filled, and is used again after all other free blocks of its chunk.
//
//   | block_bytes, freed_byte when free | canary up to the stride |
//
// A watched pool has neither filling nor canaries, since the tool reports any access to those
// bytes.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kinds/pools/chunk.hpp"

namespace tarn {

// here: the place in the program that called, for reports.
void* checked_allocate(tarn_pool& pool, const void* here) noexcept;
void checked_deallocate(tarn_pool& pool, void* p, const void* here) noexcept;

// Reports a live block whose canary has been overwritten, and a free one that has been written to.
void check_blocks(const tarn_pool_chunk& chunk, const char* function) noexcept;

}  // namespace tarn
