// tree_model: see tree_model.hpp.
//
// SPDX-License-Identifier: MIT
#include "tree_model.hpp"

#include <algorithm>
#include <cerrno>

#include "input.hpp"

namespace tarn::fuzz {

namespace {

void erase(std::vector<Id>& ids, Id id) {
  const auto found = std::find(ids.rbegin(), ids.rend(), id);
  TARN_REQUIRE(found != ids.rend());
  ids.erase(std::next(found).base());
}

}  // namespace

Id Model::add(Id parent) {
  Id id = static_cast<Id>(items_.size());
  if (free_.empty()) {
    items_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
    items_[id] = Item{};
  }
  at(id).parent = parent;
  at(id).birth = ++births_;
  if (parent != none) at(parent).children.push_back(id);
  return id;
}

Id Model::add_node(Id parent, void* p) {
  const Id id = add(parent);
  at(id).p = p;
  nodes_.push_back(id);
  return id;
}

void Model::remove(Id id) {
  if (!at(id).is_reference) erase(nodes_, id);
  free_.push_back(id);
}

Id Model::owner_of(Id node) {
  const Id parent = at(node).parent;
  return parent != none && at(parent).is_reference ? at(parent).parent : parent;
}

std::size_t Model::owners_of(Id node) {
  return at(node).references.size() + (at(node).parent == none ? 0 : 1);
}

std::vector<Id> Model::shown_children(Id node) {
  std::vector<Id> shown;
  for (const Id child : at(node).children) {
    if (!at(child).is_reference) shown.push_back(child);
    if (at(child).is_reference && !at(child).children.empty()) {
      shown.push_back(at(child).children.front());
    }
  }
  return shown;
}

std::size_t Model::count_below(Id node) {
  std::size_t count = at(node).is_reference ? 0 : 1;
  for (const Id child : at(node).children) count += count_below(child);
  return count;
}

bool Model::owns(Id target, Id node) {
  std::vector<Id> seen{node};
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const auto see = [&](Id owner) {
      if (std::find(seen.begin(), seen.end(), owner) == seen.end()) seen.push_back(owner);
    };
    if (seen[i] == target) return true;
    if (owner_of(seen[i]) != none) see(owner_of(seen[i]));
    for (const Id reference : at(seen[i]).references) see(at(reference).parent);
  }
  return false;
}

Id Model::reference_of(Id owner, Id node) {
  for (const Id reference : at(node).references) {
    if (at(reference).parent == owner) return reference;
  }
  return none;
}

void Model::end_reference(Id reference) {
  erase(at(at(reference).parent).children, reference);
  if (at(reference).target != none) erase(at(at(reference).target).references, reference);
  remove(reference);
}

// A reference that was its parent has nothing then.
void Model::leave_parent(Id node) {
  if (at(node).parent != none) erase(at(at(node).parent).children, node);
  at(node).parent = none;
}

void Model::pass(Id node) {
  leave_parent(node);
  const Id reference = at(node).references.front();
  at(node).references.erase(at(node).references.begin());
  at(reference).target = none;
  at(reference).children = {node};
  at(node).parent = reference;
}

int Model::steal_error(Id parent, Id node) {
  if (at(node).is_on_path) return EBUSY;
  if (parent == none || at(node).parent == parent) return 0;
  return owns(node, parent) ? ELOOP : 0;
}

void Model::steal(Id parent, Id node) {
  const Id before = at(node).parent;
  if (before == parent) return;
  leave_parent(node);
  if (before != none && at(before).is_reference) end_reference(before);
  at(node).parent = parent;
  if (parent == none) return;
  at(parent).children.push_back(node);
  const Id second = reference_of(parent, node);
  if (second != none) end_reference(second);
}

int Model::reference_error(Id owner, Id node) {
  if (at(node).is_on_path) return EBUSY;
  if (owner_of(node) == owner || reference_of(owner, node) != none) return EEXIST;
  return owns(node, owner) ? ELOOP : 0;
}

void Model::reference(Id owner, Id node) {
  const Id reference = add(owner);
  at(reference).is_reference = true;
  at(reference).target = node;
  at(node).references.push_back(reference);
}

bool Model::unreference(Id owner, Id node) {
  if (owner_of(node) != owner) {
    end_reference(reference_of(owner, node));
    return true;
  }
  if (at(node).references.empty()) return false;
  const Id before = at(node).parent;
  pass(node);
  if (before != none && at(before).is_reference) end_reference(before);
  return true;
}

Disposal Model::begin(Id node) {
  Disposal disposal;
  if (at(node).is_on_path || !at(node).references.empty()) {
    disposal.has_ended = true;
    disposal.stayed = node;
    return disposal;
  }
  const Id parent = at(node).parent;  // A reference ends with what it is the parent of.
  disposal.root = parent != none && at(parent).is_reference ? parent : node;
  disposal.node = disposal.root;
  at(disposal.root).is_on_path = true;
  return disposal;
}

Disposal Model::begin_children(Id node) {
  Disposal disposal;
  disposal.all_of = node;
  disposal.was_on_path = at(node).is_on_path;
  at(node).is_on_path = true;
  return disposal;
}

// False: there is no other one, or it is busy.
bool Model::begin_next(Disposal& disposal) {
  disposal.root = none;
  while (disposal.all_of != none && !at(disposal.all_of).children.empty()) {
    const Id child = at(disposal.all_of).children.back();
    if (at(child).is_on_path) {
      stop(disposal, child);
      return false;
    }
    if (!at(child).references.empty()) {
      pass(child);
      continue;
    }
    disposal.root = disposal.node = child;
    at(child).is_on_path = true;
    return true;
  }
  disposal.has_ended = true;
  if (disposal.all_of != none) at(disposal.all_of).is_on_path = disposal.was_on_path;
  return false;
}

Progress Model::stop(Disposal& disposal, Id stayed) {
  for (Id id = disposal.node; disposal.root != none; id = at(id).parent) {
    at(id).is_on_path = false;
    if (id == disposal.root) break;
  }
  if (disposal.all_of != none) at(disposal.all_of).is_on_path = disposal.was_on_path;
  disposal.has_ended = true;
  disposal.stayed = at(stayed).is_reference ? at(stayed).children.front() : stayed;
  return Progress::stopped;
}

// The node goes. False: that was the last one.
bool Model::end_node(Disposal& disposal) {
  const Id node = disposal.node;
  const Id above = node == disposal.root ? none : at(node).parent;
  if (at(node).is_reference) {
    end_reference(node);
  } else {
    leave_parent(node);
    remove(node);
  }
  disposal.node = above;
  return above != none || begin_next(disposal);
}

Progress Model::advance(Disposal& disposal) {
  if (!disposal.has_ended && disposal.root == none) begin_next(disposal);
  while (!disposal.has_ended) {
    const Id node = disposal.node;
    const bool has_returned = disposal.is_asked;
    if (has_returned) {
      disposal.is_asked = false;
      if (disposal.has_vetoed) return stop(disposal, node);
      if (at(node).destructor == disposal.asked) at(node).destructor = 0;
    }
    if (!at(node).children.empty()) {
      const Id child = at(node).children.back();
      if (at(child).is_on_path) return stop(disposal, child);
      if (!at(child).references.empty()) {
        pass(child);
        continue;
      }
      at(child).is_on_path = true;
      disposal.node = child;
    } else if (at(node).destructor != 0) {
      disposal.is_asked = true;
      disposal.asked = at(node).destructor;
      return Progress::asks;
    } else {
      end_node(disposal);
    }
  }
  return disposal.stayed == none ? Progress::gone : Progress::stopped;
}

}  // namespace tarn::fuzz
