// node: see node.hpp.
//
// SPDX-License-Identifier: MIT
#include "tree/node.hpp"

#include "os/process.hpp"
#include "report/report.hpp"

namespace tarn {

void report_tree_damage(const TreeNode* node) noexcept {
  Line line;
  line.text("tarn: damaged tree: the neighbours of the node at ").address(node + 1);
  line.text(" do not know it; it is no node, has been disposed of, or was written to in front");
  line.print();
  os::process_abort();
}

}  // namespace tarn
