// large: blocks above block_bytes_max, each a span of its own.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/zones/zone.hpp"

namespace tarn {

// A block's span, counted in the totals; null when out of memory. alignment, zero: as below. zone:
// of the heap that it is for; null: from the store. What becomes of it is the caller's business.
Span* large_take(std::size_t bytes, std::size_t alignment, bool zero, Zone* zone) noexcept;
void large_give(Span* span, Zone* zone) noexcept;

// Longer or shorter where it lies; false when that cannot be. A small excess may stay.
bool large_resize(Span* span, std::size_t slices, Zone* zone) noexcept;

// Longer by page tables, if the block is large enough for that; its address may change. pre: from
// the store
bool large_remap(Span* span, std::size_t slices) noexcept;

// alignment: in bytes, a power of two. `zero`: the block reads as zero, to the end of its span.
void* large_allocate(std::size_t bytes, std::size_t alignment, bool zero) noexcept;
void large_free(Span* span) noexcept;

// The block at its new size, moved or not; null when it cannot be: then it is as it was. Contents
// are kept up to the smaller size. pre: bytes > block_bytes_max
void* large_reallocate(Span* span, std::size_t bytes) noexcept;

}  // namespace tarn
