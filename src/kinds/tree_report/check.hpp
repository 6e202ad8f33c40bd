// check: what a tree holds, and whether all its links are as docs/design/tree.md says they must be.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kinds/trees/node.hpp"

namespace tarn {

// How many bytes the node takes beside those that the program may use: in front of it and
// elsewhere.
std::size_t overhead_of(const TreeNode* node) noexcept;

}  // namespace tarn
