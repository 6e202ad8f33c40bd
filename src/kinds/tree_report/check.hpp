// check: what a tree holds, and whether all its links are as docs/design/tree.md wants them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kinds/trees/node.hpp"

namespace tarn {

// Bytes in front of it and besides: what it has in memory that the program does not use.
std::size_t overhead_of(const TreeNode* node) noexcept;

}  // namespace tarn
