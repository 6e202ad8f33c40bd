// memory: see memory.hpp. Tests put their own in its place, which fails.
//
// SPDX-License-Identifier: MIT
#include "kinds/trees/memory.hpp"

#include "engine/records/thread_default.hpp"
#include "heaps/heap/recovery.hpp"
#include "malloc/blocks/allocate.hpp"

namespace tarn {

// Malloc's own, whatever heap serves the thread now: nodes of others may get it. No owner is asked:
// whoever calls this has neighbours at hand (prepare_to_link, unlink_to_move), which a callback may
// dispose of.
void* allocate_beside(std::size_t bytes) noexcept {
  const WithoutDefaultHeap malloc_itself;
  const WithoutOwners neighbours_stay;
  return allocate(bytes);
}

}  // namespace tarn
