// memory: where Extras, references and names of nodes get their memory.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace tarn {

// Allocates memory for an Extra, a reference or a name. Null, with errno: there is none.
void* allocate_beside(std::size_t bytes) noexcept;

}  // namespace tarn
