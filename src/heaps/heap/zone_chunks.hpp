// zone_chunks: heaps whose memory lies apart: where their chunks come from and go to.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/records/record.hpp"
#include "engine/zones/zone.hpp"
#include "heaps/heap/request.hpp"

namespace tarn {

// The zone of a heap with these options, null when it needs none. False with errno set when it
// cannot be had. May call the source: no lock held, not busy.
bool make_zone(const tarn_heap_options& options, Zone** zone) noexcept;

// Whether the options say something sensible about where the heap's memory comes from.
bool zone_options_are_sound(const tarn_heap_options& options) noexcept;


// The end of a zone that has no span in use.
void end_zone(Zone& zone) noexcept;

// One more chunk for a request that found no room; false when there is none to be had, or the heap
// has ended. pre: as make_zone()
bool grow_zone(HeapRecord& record, std::uint64_t id, const Request& request) noexcept;

// Gives back chunks that are empty and what else is free, if it is much or `all` is wanted. False
// when the heap has ended, before or meanwhile. pre: as make_zone()
bool trim_zone(HeapRecord& record, std::uint64_t id, bool all) noexcept;

// As that, if it is much, after a free: nobody ends the heap meanwhile, and no gate is waited at.
// pre: as make_zone(); it has a zone
void give_surplus(HeapRecord& record) noexcept;

inline void tend_zone(HeapRecord& record) noexcept {
  if (TARN_UNLIKELY(record.zone->has_surplus())) give_surplus(record);
}

}  // namespace tarn
