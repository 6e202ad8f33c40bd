// span_cache: large blocks that a thread has freed, kept for its next ones: without a lock, and
// without the page map, where they stay. Whoever freed a block keeps it: spans have no owner. All
// of these are called by the thread itself; a kept span is of kind `kept`, so a second free tells.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/records/thread.hpp"
#include "engine/zones/span_source.hpp"

namespace tarn {

// The most that a thread keeps: one span of up to a MiB, or up to four where all threads together
// keep no more than a sixteenth of what is live so; or several of half a MiB together. More would
// be memory that other sizes lack.
inline constexpr std::size_t kept_slices_always = (std::size_t{1} << 20) >> slice_shift;
inline constexpr std::size_t kept_slices_most = 4 * kept_slices_always;
inline constexpr std::size_t kept_together_most = kept_slices_always / 2;
inline constexpr std::uint64_t kept_part = 16;

// A kept span of malloc's own heap of so many slices, or a few more, of kind large; or null.
Span* span_cache_take(Thread& thread, std::size_t slices) noexcept;

// Keeps the span of a large block of malloc's own heap, and gives others back for it if need be.
// False, with nothing done, when it is too large.
bool span_cache_keep(Thread& thread, Span* span) noexcept;

// Likewise of a hardened heap, which has let go of it: for delay, as nothing of these heaps is
// taken from here. It is out of reach until it leaves, or as long as the OS does not open it. Where
// the OS does not close it, its first bytes are zero, and what is written to them is reported then,
// or when somebody looks.
bool span_cache_hold(Thread& thread, Span* span) noexcept;
void span_cache_verify(const Thread& thread) noexcept;

// Gives back what is kept; or what was not taken between the last two calls of this.
void span_cache_empty(Thread& thread) noexcept;
void span_cache_age(Thread& thread) noexcept;

// Gives the span of a large block back to where it came from, and counts it in the totals; the
// second one is for malloc's own heap, and counts it there, too.
void large_give(Span* span, SpanSource source) noexcept;
void large_give(Span* span) noexcept;

}  // namespace tarn
