// memory: see memory.hpp. Tests replace this file by one whose function fails.
//
// SPDX-License-Identifier: MIT
#include "kinds/trees/memory.hpp"

#include "engine/records/thread_default.hpp"
#include "heaps/heap/recovery.hpp"
#include "malloc/blocks/allocate.hpp"

namespace tarn {

// The memory is malloc's own, whatever the thread's default heap is, since nodes of other heaps may
// get it. At a shortage no owner of other memory is called: the callers (prepare_to_link,
// unlink_to_move) hold pointers to neighbours, of which a callback may dispose.
void* allocate_beside(std::size_t bytes) noexcept {
  const WithoutDefaultHeap malloc_itself;
  const WithoutOwners neighbours_stay;
  return allocate(bytes);
}

}  // namespace tarn
