// zone_chunks: where the chunks of heaps with a zone come from and go to.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/records/record.hpp"
#include "engine/zones/zone.hpp"
#include "heaps/heap/request.hpp"

namespace tarn {

// Makes the zone of a heap with these options; *zone is null when it needs none. False with errno
// set on failure. May call the source. pre: no lock held, not busy
bool make_zone(const tarn_heap_options& options, Zone** zone) noexcept;

// True when the options about the heap's memory make sense together.
bool zone_options_are_sound(const tarn_heap_options& options) noexcept;


// Ends a zone. pre: no span of it is in use
void end_zone(Zone& zone) noexcept;

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
  if (TARN_UNLIKELY(record.zone->has_surplus())) give_surplus(record);
}

}  // namespace tarn
