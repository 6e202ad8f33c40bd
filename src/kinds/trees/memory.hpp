// memory: of what nodes have besides.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace tarn {

// Memory for what nodes have besides: Extras, references, names. Null and errno when there is none.
void* allocate_beside(std::size_t bytes) noexcept;

}  // namespace tarn
