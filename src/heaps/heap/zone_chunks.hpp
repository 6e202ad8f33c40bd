// zone_chunks: where the chunks of heaps with a zone come from and go to.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/records/record.hpp"
#include "engine/zones/span_source.hpp"
#include "heaps/heap/request.hpp"

namespace tarn {

// Where a heap with these options has its spans from: the store, or a zone that is made for it.
// False with errno set on failure. May call the program's source. pre: no lock held, not busy
bool make_zone(const tarn_heap_options& options, SpanSource* source) noexcept;

// True when the options about the heap's memory make sense together.
bool zone_options_are_sound(const tarn_heap_options& options) noexcept;

// Ends a zone that has no span in use. pre: the source is a zone
void end_zone(SpanSource source) noexcept;

// Takes one more chunk for a request that found no room. False when there is none, or the heap has
// ended. pre: as make_zone()
bool grow_zone(HeapRecord& record, std::uint64_t id, const Request& request) noexcept;

// Gives back empty chunks and other free memory, if it is much or `all` is set. False when the heap
// has ended before or meanwhile. pre: as make_zone()
bool trim_zone(HeapRecord& record, std::uint64_t id, bool all) noexcept;

// As trim_zone(), after a free, when much is free. Does not wait at a gate. pre: as make_zone();
// the heap has a zone, and cannot end meanwhile
void give_surplus(HeapRecord& record) noexcept;

inline void tend_zone(HeapRecord& record) noexcept {
  if (TARN_UNLIKELY(record.source.has_surplus())) give_surplus(record);
}

}  // namespace tarn
