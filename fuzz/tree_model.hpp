// tree_model: what tarn/tree/tree.h promises of a tree, as plain records: who is below whom, in
// which order, who goes when and who refuses. It knows nothing of the library but what pointers it
// gave.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace tarn::fuzz {

using Id = std::uint32_t;
constexpr Id none = UINT32_MAX;

// A node, or a reference to one: that is an entry among its owner's children, and once the target's
// other owners have gone, the target's parent.
struct Item {
  bool is_reference = false;
  bool is_on_path = false;  // Its disposal has begun.
  Id parent = none;
  std::vector<Id> children;    // Oldest first. Of a reference: the target that it is the parent of,
  Id target = none;            // else the target is here.
  std::vector<Id> references;  // To a node, oldest first, but for one that is its parent.
  unsigned birth = 0;

  // What the model does not look at, but for the destructor.
  void* p = nullptr;
  std::size_t bytes = 0;  // That are marked.
  int destructor = 0;     // Which one; 0: none.
  const char* name = nullptr;
  bool is_aligned = false;  // Beyond 16, or with a place for a destructor.
  bool has_memory = false;  // Was given a heap or an arena.
};

// One that is on its way.
struct Disposal {
  Id root = none;
  Id node = none;            // Where it is.
  Id all_of = none;          // Of all below this one.
  bool was_on_path = false;  // That one.
  bool is_asked = false;     // The node's destructor is running,
  bool has_vetoed = false;   // or has returned this.
  int asked = 0;             // Which one.
  bool has_ended = false;
  Id stayed = none;
};

enum class Progress { asks, gone, stopped };

class Model {
 public:
  const std::vector<Id>& nodes() const { return nodes_; }
  Item& at(Id id) { return items_[id]; }

  Id add_node(Id parent, void* p);

  // The owner that a program knows of.
  Id owner_of(Id node);
  std::size_t owners_of(Id node);
  // What a program sees as children, oldest first.
  std::vector<Id> shown_children(Id node);
  std::size_t count_below(Id node);  // With itself.
  bool owns(Id target, Id node);     // Or is it.

  // The errno of what follows; 0: it is to be done.
  int steal_error(Id parent, Id node);
  int reference_error(Id owner, Id node);
  void steal(Id parent, Id node);
  void reference(Id owner, Id node);

  // False: it is disposed of instead. pre: `owner` is one, and the node is not on the path
  bool unreference(Id owner, Id node);
  Id reference_of(Id owner, Id node);

  Disposal begin(Id node);
  Disposal begin_children(Id node);
  // As far as the next destructor that is called, that of Disposal::node.
  Progress advance(Disposal& disposal);

 private:
  Id add(Id parent);
  void remove(Id id);
  void leave_parent(Id node);
  void end_reference(Id reference);
  void pass(Id node);
  bool begin_next(Disposal& disposal);
  Progress stop(Disposal& disposal, Id stayed);
  bool end_node(Disposal& disposal);

  std::deque<Item> items_;
  std::vector<Id> free_;
  std::vector<Id> nodes_;
  unsigned births_ = 0;
};

}  // namespace tarn::fuzz
