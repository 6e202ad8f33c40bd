// memory: of what nodes have besides. Apart from the others, since tests have it fail.
//
// SPDX-License-Identifier: MIT
#include "heap/blocks.hpp"
#include "tree/links.hpp"

namespace tarn {

void* allocate_beside(std::size_t bytes) noexcept { return allocate(bytes); }

}  // namespace tarn
