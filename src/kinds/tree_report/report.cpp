// report: prints a tree by name (tarn/tree/tree_report.h). It goes from node to node. For each of
// the few nodes above the current one, a Level has what is still to be printed of that node's
// children.
//
// SPDX-License-Identifier: MIT
#include "tarn/tree/tree_report.h"

#include <cstddef>

#include "kinds/tree_report/check.hpp"
#include "kinds/trees/domain.hpp"
#include "platform/os/process.hpp"
#include "platform/report/options.hpp"
#include "platform/report/output.hpp"
#include "platform/report/report_text.hpp"

namespace tarn {

namespace {

// Children that are folded into one line.
struct Fold {
  std::size_t count;
  std::size_t nodes;
  std::size_t usable_bytes;
  std::size_t overhead_bytes;

  void add(const tarn_tree_stats& stats) noexcept {
    ++count;
    nodes += stats.nodes;
    usable_bytes += stats.usable_bytes;
    overhead_bytes += stats.overhead_bytes;
  }
};

// What is folded of the children of one node.
struct Level {
  Fold leaves;             // Without names or children.
  Fold parents;            // Without names, but with children.
  Fold others;             // Small ones; below the last level that is shown, all others.
  std::size_t references;  // How many references are folded.
  bool folds_leaves;
  bool folds_parents;
  bool has_line;
};

struct Own {
  std::size_t usable_bytes;
  std::size_t overhead_bytes;
};

const char* name_of(const TreeNode* node) noexcept {
  return is_extended(node) ? extra_of(node)->name : nullptr;
}

const char* text_name_of(const TreeNode* node) noexcept {
  const char* const name = name_of(node);
  return name != nullptr ? name : "(unnamed)";
}

// pre: it begins a domain
const char* memory_below(const TreeNode* node) noexcept {
  return domain_below(node)->is_of_arena ? "arena" : "heap";
}

tarn_tree_stats stats_of(TreeNode* node) noexcept {
  tarn_tree_stats stats = TARN_TREE_STATS();
  tarn_tree_get_stats(bytes_of(node), &stats);
  return stats;
}

// The numbers of the node itself and of its references, without its other children.
Own own_of(TreeNode* node) noexcept {
  Own own = {tarn_tree_size(bytes_of(node)), overhead_of(node)};
  for (const TreeNode* n = newest_of(node); n != nullptr; n = older_of(n)) {
    if (is_reference(n)) own.overhead_bytes += overhead_of(n);
  }
  return own;
}

// The node that the program sees as this child; null: the child is a reference to another's node.
TreeNode* shown(TreeNode* child) noexcept { return is_reference(child) ? newest_of(child) : child; }

class Report {
 public:
  Report(const tarn_tree_report_options& options, tarn_tree_write write, void* context) noexcept
      : out_(write, context),
        is_json_(options.format == TARN_TREE_REPORT_JSON),
        depth_max_(options.depth_max != 0 ? options.depth_max : depth_default_),
        bytes_min_(options.bytes_min),
        alike_min_(options.alike_min != 0 ? options.alike_min : alike_default_) {}

  bool run(TreeNode* root) noexcept;

 private:
  // Each of these returns the child to go on with; null: there is none.
  TreeNode* show(TreeNode* node, const tarn_tree_stats& stats) noexcept;
  TreeNode* show_or_fold(TreeNode* child) noexcept;
  TreeNode* end_children() noexcept;
  TreeNode* next(TreeNode* child) const noexcept;

  void count_alike() noexcept;
  bool is_folded(TreeNode* child, const tarn_tree_stats& stats) noexcept;

  void begin_line() noexcept;
  void line_in_text(TreeNode* node, const tarn_tree_stats& stats) noexcept;
  void line_in_json(TreeNode* node, const tarn_tree_stats& stats) noexcept;
  void reference_line(const TreeNode* target) noexcept;
  void fold_line(const Fold& fold, const char* words, const char* what) noexcept;
  void name_in_json(const TreeNode* node) noexcept;

  Level& level() noexcept { return levels_[depth_ - 1]; }

  static constexpr std::size_t depth_default_ = 16;
  static constexpr std::size_t alike_default_ = 9;

  ReportText out_;
  const bool is_json_;
  const std::size_t depth_max_;
  const std::size_t bytes_min_;
  const std::size_t alike_min_;
  TreeNode* node_ = nullptr;  // The node whose children are being shown.
  std::size_t depth_ = 0;     // The depth of that node; the root has 1.
  Level levels_[TARN_TREE_REPORT_DEPTH_MAX];
};

void Report::begin_line() noexcept {
  if (is_json_ && depth_ != 0) {
    out_.text(level().has_line ? ",\n" : "\n");
    level().has_line = true;
  }
  out_.indent(depth_);
}

void Report::line_in_text(TreeNode* node, const tarn_tree_stats& stats) noexcept {
  out_.visible(text_name_of(node));
  out_.text(": ").grouped(stats.usable_bytes).text(" bytes, ");
  out_.grouped(stats.overhead_bytes).text(" overhead");
  if (stats.nodes > 1) {
    out_.text(", ").grouped(stats.nodes).text(" nodes, depth ").grouped(stats.depth);
  }
  if (begins_domain(node)) out_.text(", own ").text(memory_below(node));
  if (has_references(node)) {
    const std::size_t owners = tarn_tree_owners(bytes_of(node));
    out_.text(", ").grouped(owners).text(owners == 1 ? " owner" : " owners");
  }
  out_.text("\n");
}

void Report::name_in_json(const TreeNode* node) noexcept {
  const char* const name = node == nullptr ? nullptr : name_of(node);
  if (name != nullptr) {
    out_.json_string(name);
  } else {
    out_.text("null");
  }
}

void Report::line_in_json(TreeNode* node, const tarn_tree_stats& stats) noexcept {
  const Own own = own_of(node);
  TARN_ASSERT(own.usable_bytes <= stats.usable_bytes && own.overhead_bytes <= stats.overhead_bytes);
  out_.text("{\"kind\": \"node\", \"name\": ");
  name_in_json(node);
  out_.text(", \"usable_bytes\": ").decimal(stats.usable_bytes);
  out_.text(", \"overhead_bytes\": ").decimal(stats.overhead_bytes);
  out_.text(", \"nodes\": ").decimal(stats.nodes);
  out_.text(", \"depth\": ").decimal(stats.depth);
  out_.text(", \"references\": ").decimal(stats.references);
  out_.text(", \"own_usable_bytes\": ").decimal(own.usable_bytes);
  out_.text(", \"own_overhead_bytes\": ").decimal(own.overhead_bytes);
  out_.text(", \"owners\": ").decimal(tarn_tree_owners(bytes_of(node)));
  out_.text(", \"own_memory\": ");
  if (begins_domain(node)) {
    out_.json_string(memory_below(node));
  } else {
    out_.text("null");
  }
  out_.text(", \"children\": [");
}

void Report::reference_line(const TreeNode* target) noexcept {
  const TreeNode* const owner = owner_of(target);
  begin_line();
  if (is_json_) {
    out_.text("{\"kind\": \"reference\", \"name\": ");
    name_in_json(target);
    out_.text(", \"owner\": ");
    name_in_json(owner);
    out_.text("}");
    return;
  }
  out_.text("-> ").visible(text_name_of(target));
  if (owner != nullptr) out_.text(", of ").visible(text_name_of(owner));
  out_.text("\n");
}

void Report::fold_line(const Fold& fold, const char* words, const char* what) noexcept {
  if (fold.count == 0) return;
  TARN_ASSERT(fold.nodes == 0 || fold.nodes >= fold.count);
  begin_line();
  if (is_json_) {
    out_.text("{\"kind\": \"folded\", \"what\": \"").text(what);
    out_.text("\", \"count\": ").decimal(fold.count);
    out_.text(", \"nodes\": ").decimal(fold.nodes);
    out_.text(", \"usable_bytes\": ").decimal(fold.usable_bytes);
    out_.text(", \"overhead_bytes\": ").decimal(fold.overhead_bytes).text("}");
    return;
  }
  out_.text("+ ").grouped(fold.count).text(words);
  if (fold.nodes > fold.count) out_.text(", ").grouped(fold.nodes).text(" nodes");
  if (fold.nodes != 0) out_.text(", ").grouped(fold.usable_bytes).text(" bytes");
  out_.text("\n");
}

// Adds a child, with all nodes below it, to a line for several siblings if it belongs there.
bool Report::is_folded(TreeNode* child, const tarn_tree_stats& stats) noexcept {
  Level& siblings = level();
  if (name_of(child) == nullptr) {
    const bool is_leaf = newest_of(child) == nullptr;
    if (is_leaf ? siblings.folds_leaves : siblings.folds_parents) {
      (is_leaf ? siblings.leaves : siblings.parents).add(stats);
      return true;
    }
  }
  if (depth_ < depth_max_ && stats.usable_bytes >= bytes_min_) return false;
  siblings.others.add(stats);
  return true;
}

void Report::count_alike() noexcept {
  Level& children = level() = {};
  std::size_t leaves = 0;
  std::size_t parents = 0;
  std::size_t references = 0;
  for (TreeNode* n = newest_of(node_); n != nullptr; n = older_of(n)) {
    const TreeNode* const child = shown(n);
    if (child == nullptr) {
      ++references;
    } else if (name_of(child) == nullptr) {
      ++(newest_of(child) == nullptr ? leaves : parents);
    }
  }
  children.folds_leaves = leaves >= alike_min_;
  children.folds_parents = parents >= alike_min_;
  if (references >= alike_min_ && references >= alike_default_) children.references = references;
}

TreeNode* Report::show(TreeNode* node, const tarn_tree_stats& stats) noexcept {
  begin_line();
  if (is_json_) {
    line_in_json(node, stats);
  } else {
    line_in_text(node, stats);
  }
  TARN_ASSERT(depth_ < depth_max_ && depth_max_ <= TARN_TREE_REPORT_DEPTH_MAX);
  node_ = node;
  ++depth_;
  count_alike();
  TreeNode* const newest = newest_of(node);
  return newest == nullptr ? nullptr : younger_of(newest);
}

TreeNode* Report::show_or_fold(TreeNode* child) noexcept {
  TreeNode* const node = shown(child);
  if (node == nullptr) {
    if (level().references == 0) reference_line(static_cast<TreeReference*>(child)->target);
    return next(child);
  }
  const tarn_tree_stats stats = stats_of(node);
  return is_folded(node, stats) ? next(child) : show(node, stats);
}

TreeNode* Report::next(TreeNode* child) const noexcept {
  return child == newest_of(node_) ? nullptr : younger_of(child);
}

// Prints what was folded, and goes on behind the parent of these nodes.
TreeNode* Report::end_children() noexcept {
  const Level& children = level();
  const bool is_last = depth_ == depth_max_;
  TARN_ASSERT(depth_ != 0 && depth_ <= depth_max_);
  fold_line(children.leaves, " unnamed", "unnamed");
  fold_line(children.parents, " unnamed with children", "unnamed parents");
  fold_line(children.others, is_last ? " deeper" : " smaller", is_last ? "deeper" : "smaller");
  const Fold references = {children.references, 0, 0, 0};
  fold_line(references, references.count == 1 ? " reference" : " references", "references");
  if (is_json_) {
    if (children.has_line) out_.text("\n").indent(depth_ - 1);
    out_.text("]}");
  }
  if (--depth_ == 0) return nullptr;
  TreeNode* const parent = parent_of(node_);
  TreeNode* const child = is_reference(parent) ? parent : node_;
  node_ = owner_of(node_);
  TARN_ASSERT(node_ != nullptr && parent_of(child) == node_);
  return next(child);
}

bool Report::run(TreeNode* root) noexcept {
  TreeNode* child = show(root, stats_of(root));
  while (depth_ != 0 && !out_.has_failed()) {
    child = child == nullptr ? end_children() : show_or_fold(child);
  }
  if (is_json_) out_.text("\n");
  return out_.flush();
}

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

int tarn_tree_report(const void* p, const tarn_tree_report_options* options, tarn_tree_write write,
                     void* context) {
  constexpr tarn_tree_report_options usual = {sizeof usual, TARN_TREE_REPORT_TEXT, 0, 0, 0};
  const tarn_tree_report_options& given = options == nullptr ? usual : *options;
  if (write == nullptr || !is_sized(given, "tarn_tree_report", "TARN_TREE_REPORT_OPTIONS") ||
      given.format < TARN_TREE_REPORT_TEXT || given.format > TARN_TREE_REPORT_JSON ||
      given.depth_max > TARN_TREE_REPORT_DEPTH_MAX) {
    return os::fail(os::Error::invalid);
  }
  if (p == nullptr) {
    ReportText nothing(write, context);
    if (given.format == TARN_TREE_REPORT_JSON) nothing.text("null\n");
    return nothing.flush() ? 0 : -1;
  }
  Report report(given, write, context);
  return report.run(const_cast<TreeNode*>(node_of(p))) ? 0 : -1;
}

int tarn_tree_report_to(const void* p, const tarn_tree_report_options* options, int descriptor) {
  return tarn_tree_report(p, options, write_to_descriptor, &descriptor);
}

}  // extern "C"
