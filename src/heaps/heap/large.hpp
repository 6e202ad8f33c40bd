// large: blocks above block_bytes_max, each a span of its own.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/zones/span_source.hpp"

namespace tarn {

// Takes the span of a block and counts it in the totals; null when out of memory. alignment, zero:
// as in large_allocate(). fit: of a block that is not zero. source: that of the heap that the block
// is for. The caller puts the block on its heap's list.
Span* large_take(std::size_t bytes, std::size_t alignment, bool zero, SpanSource source,
                 Fit fit = Fit::warm) noexcept;

// Makes the block longer or shorter in place; false when that cannot be. A small excess may stay.
bool large_resize(Span* span, std::size_t slices, SpanSource source) noexcept;

// Whether a block of the store's grows by moving, as in large_reallocate(), rather than by a copy
// into just any memory.
bool large_moves(const Span& span) noexcept;

// Makes the block longer by page tables, if large_moves(). Its address may change. pre: it comes
// from the store
bool large_remap(Span* span, std::size_t slices) noexcept;

// alignment: in bytes, a power of two. `zero`: the block reads as zero, to the end of its span.
void* large_allocate(std::size_t bytes, std::size_t alignment, bool zero) noexcept;
void large_free(Span* span) noexcept;

// Resizes the block, moved or not, and keeps its contents up to the smaller size. Null when that
// cannot be; the block is unchanged then. pre: bytes > block_bytes_max
void* large_reallocate(Span* span, std::size_t bytes) noexcept;

}  // namespace tarn
