// A tree beside a model of it: random steps of all kinds, with destructors that veto, allocate,
// steal and dispose. Order of disposal, places, contents and owners must be the same.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <random>
#include <vector>

#include "tarn/tree.h"

namespace {

#ifdef TARN_TEST_DIVISOR
constexpr int divisor = TARN_TEST_DIVISOR;
#else
constexpr int divisor = 1;
#endif

using Id = int;
constexpr Id none = -1;

// What a parent has: a child, or a reference, which may be the parent of its target.
struct Entry {
  Id child = none;
  Id target = none;
  bool is_owner = false;
  bool is_reference() const { return child == none; }
};

struct Node {
  void* p = nullptr;
  Id parent = none;  // The owner, also by a reference.
  bool by_reference = false;
  std::vector<Entry> children;
  std::vector<Id> references;  // Their owners, oldest first.
  bool has_destructor = false;
  bool vetoes = false;   // Once.
  int makes = 0;         // Children that its destructor makes.
  std::size_t bytes = 0;
};

struct Label {
  Id id;
};

class Model;
Model* current;
int destroyed(void* p);

class Model {
 public:
  explicit Model(unsigned seed) : engine_(seed) { current = this; }

  void step() {
    const unsigned kind = below(100);
    if (nodes_.empty() || (kind < 50 && nodes_.size() < 300)) return make();
    if (kind < 60) return steal();
    if (kind < 72) return reference();
    if (kind < 78) return unreference();
    if (kind < 86) return grow();
    if (kind < 95) return arm();
    // Of two the younger one: it has less below it.
    dispose(std::max(any(), any()));
  }

  void finish() {
    for (const auto& [id, node] : nodes_) {
      ASSERT_EQ(static_cast<Label*>(node.p)->id, id);
      ASSERT_EQ(tarn_tree_parent(node.p), node.parent == none ? nullptr : at(node.parent).p);
      ASSERT_EQ(tarn_tree_owners(node.p),
                node.references.size() + (node.parent == none ? 0 : 1));
      std::vector<void*> expected;
      for (const Entry& e : node.children) {
        if (!e.is_reference()) expected.push_back(at(e.child).p);
        if (e.is_reference() && e.is_owner) expected.push_back(at(e.target).p);
      }
      std::vector<void*> found;
      for (void* c = tarn_tree_first_child(node.p); c; c = tarn_tree_next_sibling(c)) {
        found.push_back(c);
      }
      ASSERT_EQ(found, expected);
      if (node.parent == none) {
        ASSERT_EQ(tarn_tree_check(node.p), 1);
      }
    }
  }

  void dispose_all() {
    while (!nodes_.empty()) {
      const Id id = any();
      if (!at(id).references.empty()) {
        unreference_by(at(id).references.front(), id);
      } else {
        dispose(id);
      }
    }
  }

  // Called by destructors.
  int end(void* p) {
    const Id id = static_cast<Label*>(p)->id;
    ended_.push_back(id);
    Node& node = at(id);
    for (int i = 0; i < node.makes && !node.vetoes; ++i) {
      auto* const made = static_cast<Label*>(tarn_tree_allocate(p, 24));
      made->id = none;
    }
    return node.vetoes ? 1 : 0;
  }

 private:
  Node& at(Id id) { return nodes_.at(id); }

  Id any() {
    return std::next(nodes_.begin(), below(static_cast<unsigned>(nodes_.size())))->first;
  }

  void make() {
    const Id parent = nodes_.empty() || below(20) == 0 ? none : any();
    const std::size_t bytes = sizeof(Label) + below(below(8) == 0 ? 5000 : 100);
    void* const above = parent == none ? nullptr : at(parent).p;
    void* const p = below(10) == 0 ? tarn_tree_allocate_aligned(above, 64, bytes)
                                        : tarn_tree_allocate(above, bytes);
    ASSERT_NE(p, nullptr);
    const Id id = next_++;
    static_cast<Label*>(p)->id = id;
    Node& node = nodes_[id];
    node.p = p;
    node.bytes = bytes;
    node.parent = parent;
    if (parent != none) at(parent).children.push_back({id, none, false});
  }

  bool owns(Id owner, Id id) {
    std::vector<Id> work{id};
    std::map<Id, bool> seen;
    while (!work.empty()) {
      const Id n = work.back();
      work.pop_back();
      if (n == owner) return true;
      if (n == none || seen[n]) continue;
      seen[n] = true;
      work.push_back(at(n).parent);
      for (const Id r : at(n).references) work.push_back(r);
    }
    return false;
  }

  std::vector<Entry>::iterator entry_of(Id owner, Id id) {
    auto& all = at(owner).children;
    return std::find_if(all.begin(), all.end(),
                        [&](const Entry& e) { return e.child == id || e.target == id; });
  }

  void leave_parent(Id id) {
    Node& node = at(id);
    if (node.parent != none) at(node.parent).children.erase(entry_of(node.parent, id));
    node.parent = none;
    node.by_reference = false;
  }

  void steal() {
    const Id id = any();
    const Id parent = below(10) == 0 ? none : any();
    const int result = tarn_tree_steal(parent == none ? nullptr : at(parent).p, at(id).p);
    Node& node = at(id);
    if (node.parent == parent && !node.by_reference) {
      ASSERT_EQ(result, 0);
      return;
    }
    if (parent != none && owns(id, parent)) {
      ASSERT_EQ(result, -1);
      ASSERT_EQ(errno, ELOOP);
      return;
    }
    ASSERT_EQ(result, 0);
    leave_parent(id);
    const auto second = std::find(node.references.begin(), node.references.end(), parent);
    if (second != node.references.end()) {
      at(parent).children.erase(entry_of(parent, id));
      node.references.erase(second);
    }
    node.parent = parent;
    if (parent != none) at(parent).children.push_back({id, none, false});
  }

  void reference() {
    const Id owner = any();
    const Id id = any();
    const int result = tarn_tree_reference(at(owner).p, at(id).p);
    Node& node = at(id);
    const bool is_one = std::count(node.references.begin(), node.references.end(), owner) != 0;
    if (node.parent == owner || is_one) {
      ASSERT_EQ(result, -1);
      ASSERT_EQ(errno, EEXIST);
      return;
    }
    if (owns(id, owner)) {
      ASSERT_EQ(result, -1);
      ASSERT_EQ(errno, ELOOP);
      return;
    }
    ASSERT_EQ(result, 0);
    node.references.push_back(owner);
    at(owner).children.push_back({none, id, false});
  }

  // The oldest reference becomes the parent.
  void pass(Id id) {
    Node& node = at(id);
    node.parent = node.references.front();
    node.by_reference = true;
    node.references.erase(node.references.begin());
    entry_of(node.parent, id)->is_owner = true;
  }

  void unreference() {
    const Id id = any();
    Node& node = at(id);
    const std::size_t choice = below(static_cast<unsigned>(node.references.size()) + 1);
    unreference_by(choice == 0 ? node.parent : node.references[choice - 1], id);
  }

  void unreference_by(Id owner, Id id) {
    Node& node = at(id);
    if (owner == node.parent && node.references.empty()) {
      ended_.clear();
      const int result = tarn_tree_unreference(owner == none ? nullptr : at(owner).p, node.p);
      return follow(id, result);
    }
    ASSERT_EQ(tarn_tree_unreference(owner == none ? nullptr : at(owner).p, node.p), 0);
    if (owner == node.parent) {
      leave_parent(id);
      pass(id);
    } else {
      at(owner).children.erase(entry_of(owner, id));
      node.references.erase(
          std::find(node.references.begin(), node.references.end(), owner));
    }
  }

  void grow() {
    Node& node = at(any());
    const std::size_t bytes = sizeof(Label) + below(below(50) == 0 ? 3000000 : 3000);
    void* const p = tarn_tree_reallocate(node.p, bytes);
    if (p != nullptr) node.p = p;
    node.bytes = bytes;
  }

  void arm() {
    Node& node = at(any());
    node.has_destructor = below(4) != 0;
    node.vetoes = below(8) == 0;
    node.makes = below(4) == 0 ? static_cast<int>(below(5)) : 0;
    ASSERT_EQ(tarn_tree_set_destructor(node.p, node.has_destructor ? destroyed : nullptr), 0);
    if (below(2) == 0) {
      ASSERT_EQ(tarn_tree_set_name(node.p, "armed"), 0);
    }
  }

  void dispose(Id id) {
    ended_.clear();
    const bool is_shared = !at(id).references.empty();
    const int result = tarn_tree_dispose(at(id).p);
    if (is_shared) {
      ASSERT_EQ(result, -1);
      ASSERT_TRUE(ended_.empty());
      return;
    }
    follow(id, result);
  }

  // Does the same to the model, and compares.
  void follow(Id id, int result) {
    expected_.clear();
    ASSERT_EQ(go(id) ? 0 : -1, result);
    ASSERT_EQ(ended_, expected_);
  }

  bool go(Id id) {
    while (!at(id).children.empty()) {
      const Entry e = at(id).children.back();
      const Id child = e.is_reference() ? e.target : e.child;
      if (e.is_reference() && !e.is_owner) {
        auto& others = at(child).references;
        others.erase(std::find(others.begin(), others.end(), id));
        at(id).children.pop_back();
      } else if (!at(child).references.empty()) {
        leave_parent(child);
        pass(child);
      } else if (!go(child)) {
        return false;
      }
    }
    Node& node = at(id);
    if (node.has_destructor) {
      expected_.push_back(id);
      if (node.vetoes) {
        node.vetoes = false;
        return false;
      }
    }
    leave_parent(id);
    nodes_.erase(id);
    return true;
  }

  unsigned below(unsigned n) { return static_cast<unsigned>(engine_()) % n; }

  std::mt19937 engine_;
  std::map<Id, Node> nodes_;
  Id next_ = 0;
  std::vector<Id> ended_;
  std::vector<Id> expected_;
};

int destroyed(void* p) { return current->end(p); }

TEST(Trees, AreAsTheModelSays) {
  constexpr int rounds = 100;
  constexpr int steps = 10000 / divisor;
  for (unsigned seed = 0; seed < rounds; ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed);
    for (int i = 0; i < steps; ++i) {
      model.step();
      if (HasFatalFailure()) FAIL() << "step " << i;
      if (i % 50 == 0) model.finish();
      if (HasFatalFailure()) FAIL() << "after step " << i;
    }
    model.dispose_all();
    if (HasFatalFailure()) FAIL() << "at the end";
  }
}

}  // namespace
