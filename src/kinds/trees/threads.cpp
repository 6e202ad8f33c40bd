// threads: see threads.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/trees/threads.hpp"

#include "kinds/trees/links.hpp"
#include "malloc/process/process.hpp"
#include "platform/os/thread.hpp"
#include "platform/report/misuse.hpp"
#include "platform/settings/settings.hpp"

namespace tarn {

std::atomic<TreeChecks> tree_checks{TreeChecks::as_set};

namespace {

constexpr std::uint64_t nobody = 1;  // The subtree has been handed over.

// The calling thread's number, which stays the same in the child of a fork.
std::uint64_t own_number() noexcept { return address_of(&os::known_thread_id) / 4; }

void set_thread(TreeExtra& extra, std::uint64_t number) noexcept {
  extra.thread = number & ((std::uint64_t{1} << 62) - 1);
  TARN_ASSERT(extra.thread == number && number > nobody);
}

[[noreturn]] void report(const TreeExtra& extra, const TreeNode* node, const char* function,
                         const char* what) noexcept {
  Line line;
  line.text(function).text(": ");
  if (node != nullptr) {
    line.text("the node at ").address(node + 1);
  } else {
    line.text("a node");
  }
  if (extra.name != nullptr) line.text(" (\"").text(extra.name).text("\")");
  line.text(what);
  report_other_misuse("tree misuse", function, node == nullptr ? nullptr : node + 1, line);
}

}  // namespace

bool tree_checks_threads() noexcept {
  TreeChecks checks = tree_checks.load(std::memory_order_relaxed);
  if (checks == TreeChecks::as_set) {
    const bool wanted = settings[Option::check_tree_threads] != 0;
    checks = wanted ? TreeChecks::on : TreeChecks::off;
    // Kept only once the environment has been read.
    if (process.is_configured()) tree_checks.store(checks, std::memory_order_relaxed);
  }
  return checks == TreeChecks::on;
}

void check_taker(const TreeExtra& extra, const TreeNode* node, const char* function) noexcept {
  if (extra.thread == 0 || extra.thread == own_number() || !tree_checks_threads()) return;
  if (extra.thread == nobody) {
    report(extra, node, function, " has been handed over: tarn_tree_take_over comes first");
  }
  report(extra, node, function,
         " is another thread's: tarn_tree_hand_over there and tarn_tree_take_over here come first");
}

void check_user(const TreeNode* node, const char* function) noexcept {
  if (!tree_checks_threads()) return;
  for (; node != nullptr; node = parent_of(node)) {
    if (!is_extended(node) || extra_of(node)->thread == 0) continue;
    return check_taker(*extra_of(node), node, function);
  }
}

void check_place(const TreeNode* node, const char* function) noexcept {
  if (TARN_UNLIKELY(has_gone(node))) report_tree_damage(node);
  if (TARN_LIKELY(tree_checks.load(std::memory_order_relaxed) == TreeChecks::off)) return;
  check_user(node, function);
  check_user(parent_of(node), function);
}

void note_root(TreeNode* node) noexcept {
  if (TARN_LIKELY(tree_checks.load(std::memory_order_relaxed) == TreeChecks::off)) return;
  // If there is no memory for the note, this root is not checked.
  if (tree_checks_threads() && extend(node)) set_thread(*extra_of(node), own_number());
}

void note_child(TreeNode* node) noexcept {
  if (is_extended(node)) extra_of(node)->thread = 0;
}

}  // namespace tarn

using namespace tarn;

extern "C" {

int tarn_tree_check_threads(int wanted) {
  const bool before = tree_checks_threads();
  tree_checks.store(wanted != 0 ? TreeChecks::on : TreeChecks::off, std::memory_order_relaxed);
  return before ? 1 : 0;
}

int tarn_tree_hand_over(void* p) {
  if (!tree_checks_threads()) return 0;
  TreeNode* const node = node_of(p);
  check_user(node, "tarn_tree_hand_over");
  if (!extend(node)) return -1;
  extra_of(node)->thread = nobody;
  return 0;
}

int tarn_tree_take_over(void* p) {
  if (!tree_checks_threads()) return 0;
  TreeNode* const node = node_of(p);
  if (!is_extended(node) || extra_of(node)->thread != nobody) {
    check_user(node, "tarn_tree_take_over");
    return 0;
  }
  set_thread(*extra_of(node), own_number());
  return 0;
}

}  // extern "C"
