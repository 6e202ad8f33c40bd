// node: see node.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/trees/node.hpp"

#include "platform/report/misuse.hpp"

namespace tarn {

void report_tree_damage(const TreeNode* node) noexcept {
  Line line;
  line.text("the neighbours of the node at ").address(node + 1);
  line.text(" do not know it; it is no node, has been disposed of, or was written to in front");
  report_other_misuse("damaged tree", nullptr, node + 1, line);
}

}  // namespace tarn
