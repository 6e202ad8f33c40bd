// memory: of what nodes have besides. Apart from the others, since tests have it fail.
//
// SPDX-License-Identifier: MIT
#include "heap/blocks.hpp"
#include "heap/heap_scope.hpp"
#include "tree/links.hpp"

namespace tarn {

// Malloc's own, whatever heap serves the thread now: nodes of others may get it.
void* allocate_beside(std::size_t bytes) noexcept {
  const OutOfScope malloc_itself;
  return allocate(bytes);
}

}  // namespace tarn
