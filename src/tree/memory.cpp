// memory: of what nodes have besides. Apart from the others, since tests have it fail.
//
// SPDX-License-Identifier: MIT
#include "heap/blocks.hpp"
#include "heap/recovery.hpp"
#include "heap/scope.hpp"
#include "tree/links.hpp"

namespace tarn {

// Malloc's own, whatever heap serves the thread now: nodes of others may get it. No owner is asked:
// whoever calls this has neighbours at hand (prepare_to_link, unlink_to_move), which a callback may
// dispose of.
void* allocate_beside(std::size_t bytes) noexcept {
  const OutOfScope malloc_itself;
  const WithoutOwners neighbours_stay;
  return allocate(bytes);
}

}  // namespace tarn
