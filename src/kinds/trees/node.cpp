// node: see node.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/trees/node.hpp"

#include "platform/os/process.hpp"
#include "platform/report/report.hpp"

namespace tarn {

void report_tree_damage(const TreeNode* node) noexcept {
  Line line;
  line.text("tarn: damaged tree: the neighbours of the node at ").address(node + 1);
  line.text(" do not know it; it is no node, has been disposed of, or was written to in front");
  line.print();
  os::process_abort();
}

}  // namespace tarn
