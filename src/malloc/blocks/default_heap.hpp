// default_heap: allocation for threads that have a default heap (thread_default.hpp).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/records/thread_default.hpp"
#include "heaps/heap/request.hpp"
#include "tarn/heap/heap.h"

namespace tarn {

// pre: has_default_heap()
void* default_heap_allocate(const Request& request) noexcept;

// True when the default heap of the calling thread is a hardened one.
inline bool is_served_hardened() noexcept {
  return has_default_heap() && static_cast<const HeapRecord*>(default_heap.record)->hardened;
}
// A block of it, of which the first seal_watched_bytes are zero. Null when there is none at hand.
// pre: is_served_hardened()
void* hardened_at_hand(std::size_t bytes, Family family, const void* site) noexcept;

// As tarn_heap_set_default().
tarn_heap heap_set_default(tarn_heap heap) noexcept;

}  // namespace tarn
