// tree: trees beside a model of them (tree_model.hpp), step by step: also while destructors run,
// which do all that they may to other nodes, and try what they may not. Each result, errno, place,
// order and content must be the model's.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <vector>

#include "input.hpp"
#include "tarn/tree/tree.h"
#include "tree_model.hpp"

namespace tarn::fuzz {

namespace {

constexpr std::size_t nodes_max = 200;
constexpr std::size_t disposals_max = 6;  // Of which each is in a destructor of the one before.

class Program;
Program* program;

enum Destructor { no_destructor, first_one, second_one, release_one };
int end_first(void* p);
int end_second(void* p);
void end_adopted(void* block);

class Program {
 public:
  explicit Program(Input& input) : input_(input) { program = this; }

  void step() {
    act(none);
    if (++steps_ % 64 == 0) verify_all();
  }
  void finish();
  int ended(void* p, Destructor which);
  void* p_of_block(void* block) {
    return at(static_cast<Id>(reinterpret_cast<std::uintptr_t>(block) - 1)).p;
  }

 private:
  Item& at(Id id) { return model_.at(id); }
  void* p(Id id) { return id == none ? nullptr : at(id).p; }
  Id any() { return model_.nodes()[input_.below(model_.nodes().size())]; }
  Id any_near(Id node);

  void act(Id within);
  void* allocate(void* parent, std::size_t bytes, Item& as);
  void* allocate_text(void* parent, std::size_t bytes);
  void make(Id parent);
  void adopt(Id parent);
  void give_memory(Id node);
  void refuse(Id node);
  void reallocate(Id node);
  void arm(Id node);
  void name(Id node);
  void steal(Id parent, Id node);
  void reference(Id owner, Id node);
  void unreference(Id node);
  void unreference_by(Id owner, Id node);
  void dispose(Id node);
  void dispose_children(Id node);
  void compare_end(int result, void* const* stayed);

  void mark(Id node);
  void verify(Id node);
  void verify_all();

  Input& input_;
  Model model_;
  std::deque<Disposal> disposals_;
  std::size_t steps_ = 0;
};

std::uint8_t mark_at(std::size_t i, std::size_t bytes) {
  return static_cast<std::uint8_t>(bytes * 7 + i);
}

// The first bytes, and the last one.
template <class Visit>
void for_some_bytes(std::size_t bytes, Visit visit) {
  for (std::size_t i = 0; i < bytes && i < 16; ++i) visit(i);
  if (bytes > 16) visit(bytes - 1);
}

void Program::mark(Id node) {
  auto* const bytes = static_cast<std::uint8_t*>(p(node));
  const std::size_t count = at(node).bytes;
  TARN_REQUIRE(tarn_tree_size(bytes) >= count);
  for_some_bytes(count, [&](std::size_t i) { bytes[i] = mark_at(i, count); });
}

void Program::verify(Id node) {
  const Item& item = at(node);
  const auto* const bytes = static_cast<const std::uint8_t*>(item.p);
  for_some_bytes(item.bytes,
                 [&](std::size_t i) { TARN_REQUIRE(bytes[i] == mark_at(i, item.bytes)); });
  TARN_REQUIRE(tarn_tree_parent(item.p) == p(model_.owner_of(node)));
  TARN_REQUIRE(tarn_tree_owners(item.p) == model_.owners_of(node));
  const char* const name = tarn_tree_name(item.p);
  TARN_REQUIRE((name == nullptr) == (item.name == nullptr));
  TARN_REQUIRE(name == nullptr || std::strcmp(name, item.name) == 0);
  const void* child = tarn_tree_first_child(item.p);
  for (const Id expected : model_.shown_children(node)) {
    TARN_REQUIRE(child == p(expected));
    child = tarn_tree_next_sibling(child);
  }
  TARN_REQUIRE(child == nullptr);
}

void Program::verify_all() {
  for (const Id node : model_.nodes()) {
    verify(node);
    if (at(node).parent != none) continue;
    TARN_REQUIRE(tarn_tree_check(p(node)) == 1);
    tarn_tree_stats stats = TARN_TREE_STATS();
    TARN_REQUIRE(tarn_tree_get_stats(p(node), &stats) == 0);
    TARN_REQUIRE(stats.nodes == model_.count_below(node));
  }
}

// In a destructor mostly itself, what is above it, and its siblings.
Id Program::any_near(Id node) {
  if (node == none || input_.byte() % 4 == 0) return any();
  const Id owner = model_.owner_of(node);
  switch (input_.below(4)) {
    case 0: return node;
    case 1: return owner == none ? any() : owner;
    case 2: {
      const Id above = owner == none ? none : model_.owner_of(owner);
      return above == none ? any() : above;
    }
    default: {
      const std::vector<Id> siblings =
          owner == none ? std::vector<Id>{node} : model_.shown_children(owner);
      return siblings[input_.below(siblings.size())];
    }
  }
}

void* Program::allocate_text(void* parent, std::size_t bytes) {
  const std::vector<char> text(bytes, 'x');
  switch (input_.below(5)) {
    case 0: return tarn_tree_copy(parent, text.data(), bytes);
    case 1: return tarn_tree_string_n(parent, text.data(), bytes - 1);
    case 2: return tarn_tree_format(parent, "%.*s", static_cast<int>(bytes - 1), text.data());
    default: {
      char* const begun = tarn_tree_string(parent, "ab");
      TARN_REQUIRE(begun != nullptr && std::strcmp(begun, "ab") == 0);
      return tarn_tree_append_format(begun, "%s%.*s", begun, static_cast<int>(bytes), text.data());
    }
  }
}

void* Program::allocate(void* parent, std::size_t bytes, Item& as) {
  switch (input_.below(16)) {
    case 0: return tarn_tree_allocate_array(parent, bytes, 1);
    case 1: {
      auto* const zeros = static_cast<std::uint8_t*>(tarn_tree_allocate_zeroed(parent, 1, bytes));
      TARN_REQUIRE(std::count(zeros, zeros + bytes, 0) == static_cast<std::ptrdiff_t>(bytes));
      return zeros;
    }
    case 2: {
      const std::size_t alignment = std::size_t{1} << input_.below(14);
      as.is_aligned = alignment > 16;
      void* const block = tarn_tree_allocate_aligned(parent, alignment, bytes);
      TARN_REQUIRE(reinterpret_cast<std::uintptr_t>(block) % alignment == 0);
      return block;
    }
    case 3: as.has_memory = true; return tarn_tree_allocate_with_heap(parent, bytes, nullptr);
    case 4: as.has_memory = true; return tarn_tree_allocate_with_arena(parent, bytes, nullptr);
    case 5:
    case 6: return allocate_text(parent, bytes + 1);
    case 7:
    case 8:
      as.is_aligned = true;  // Or as such.
      return tarn_tree_allocate_object(parent, std::size_t{1} << input_.below(8), bytes, nullptr);
    default: return tarn_tree_allocate(parent, bytes);
  }
}

void Program::make(Id parent) {
  Item as;
  as.bytes = input_.byte() % 16 == 0 ? input_.below(8000) : input_.below(100);
  void* const made = allocate(p(parent), as.bytes, as);
  TARN_REQUIRE(made != nullptr && reinterpret_cast<std::uintptr_t>(made) % 16 == 0);
  const Id id = model_.add_node(parent, made);
  at(id).bytes = as.bytes;
  at(id).is_aligned = as.is_aligned;
  at(id).has_memory = as.has_memory;
  mark(id);
}

// The block is no block: it says which node has it.
void Program::adopt(Id parent) {
  const Id id = model_.add_node(parent, nullptr);
  void* const block = reinterpret_cast<void*>(std::uintptr_t{id} + 1);
  at(id).p = tarn_tree_adopt(p(parent), block, end_adopted);
  TARN_REQUIRE(p(id) != nullptr && tarn_tree_adopted(p(id)) == block);
  at(id).destructor = release_one;
  at(id).is_aligned = true;
}

void Program::give_memory(Id node) {
  errno = 0;
  const int result = input_.byte() % 2 == 0 ? tarn_tree_give_heap(p(node), nullptr)
                                            : tarn_tree_give_arena(p(node), nullptr);
  TARN_REQUIRE(result == (at(node).has_memory ? -1 : 0));
  TARN_REQUIRE(result == 0 || errno == EEXIST);
  at(node).has_memory = true;
}

// What nobody can do changes nothing.
void Program::refuse(Id node) {
  errno = 0;
  switch (input_.below(3)) {
    case 0: {
      static volatile std::size_t most = SIZE_MAX / 2;  // The compiler would refuse it.
      TARN_REQUIRE(tarn_tree_allocate_array(p(node), most, 3) == nullptr && errno == ENOMEM);
      break;
    }
    case 1:
      TARN_REQUIRE(tarn_tree_allocate_aligned(p(node), 24, 1) == nullptr && errno == EINVAL);
      break;
    default: {
      static volatile std::size_t bytes = SIZE_MAX - 64;
      TARN_REQUIRE(tarn_tree_reallocate(p(node), bytes) == nullptr && errno == ENOMEM);
    }
  }
  verify(node);
}

void Program::reallocate(Id node) {
  const bool is_large = input_.byte() % 64 == 1;
  const std::size_t bytes =
      16 + (is_large ? (std::size_t{1} << 20) + input_.below(1 << 18) : input_.below(3000));
  const int error = at(node).is_on_path ? EBUSY : at(node).is_aligned ? EINVAL : 0;
  errno = 0;
  auto* const moved = static_cast<std::uint8_t*>(tarn_tree_reallocate(p(node), bytes));
  if (error != 0) {
    TARN_REQUIRE(moved == nullptr && errno == error);
    return;
  }
  TARN_REQUIRE(moved != nullptr && tarn_tree_size(moved) >= bytes);
  const std::size_t before = at(node).bytes;
  for_some_bytes(
      before, [&](std::size_t i) { TARN_REQUIRE(i >= bytes || moved[i] == mark_at(i, before)); });
  at(node).p = moved;
  if (at(node).destructor == release_one) return;  // The bytes are the adoption's.
  at(node).bytes = bytes;
  mark(node);
}

void Program::arm(Id node) {
  static constexpr tarn_tree_destructor destructors[] = {nullptr, end_first, end_second};
  const std::size_t which = input_.below(3);
  TARN_REQUIRE(tarn_tree_set_destructor(p(node), destructors[which]) == 0);
  at(node).destructor = static_cast<int>(which);
}

void Program::name(Id node) {
  static const char* const names[] = {nullptr, "one", "a name of some more characters"};
  const char* const chosen = names[input_.below(3)];
  TARN_REQUIRE((input_.byte() % 2 == 0 ? tarn_tree_set_name(p(node), chosen)
                                       : tarn_tree_set_static_name(p(node), chosen)) == 0);
  at(node).name = chosen;
}

void Program::steal(Id parent, Id node) {
  const int error = model_.steal_error(parent, node);
  errno = 0;
  TARN_REQUIRE(tarn_tree_steal(p(parent), p(node)) == (error == 0 ? 0 : -1));
  TARN_REQUIRE(error == 0 || errno == error);
  if (error == 0) model_.steal(parent, node);
}

void Program::reference(Id owner, Id node) {
  const int error = model_.reference_error(owner, node);
  errno = 0;
  TARN_REQUIRE(tarn_tree_reference(p(owner), p(node)) == (error == 0 ? 0 : -1));
  TARN_REQUIRE(error == 0 || errno == error);
  if (error == 0) model_.reference(owner, node);
}

void Program::unreference(Id node) {
  const auto& references = at(node).references;
  const std::size_t which = input_.below(references.size() + 2);
  if (which == 0) return unreference_by(any(), node);
  unreference_by(which == 1 ? model_.owner_of(node) : at(references[which - 2]).parent, node);
}

void Program::unreference_by(Id owner, Id node) {
  const bool is_owner = model_.owner_of(node) == owner || model_.reference_of(owner, node) != none;
  errno = 0;
  if (at(node).is_on_path || !is_owner) {
    TARN_REQUIRE(tarn_tree_unreference(p(owner), p(node)) == -1);
    TARN_REQUIRE(errno == (at(node).is_on_path ? EBUSY : EINVAL));
    return;
  }
  void* const owner_p = p(owner);
  void* const node_p = p(node);
  if (model_.unreference(owner, node)) {
    TARN_REQUIRE(tarn_tree_unreference(owner_p, node_p) == 0);
    return;
  }
  disposals_.push_back(model_.begin(node));
  compare_end(tarn_tree_unreference(owner_p, node_p), nullptr);
}

void Program::dispose(Id node) {
  void* const node_p = p(node);
  void* stayed = this;
  disposals_.push_back(model_.begin(node));
  errno = 0;
  const int result = tarn_tree_try_dispose(node_p, &stayed);
  compare_end(result, &stayed);
}

void Program::dispose_children(Id node) {
  void* const node_p = p(node);
  disposals_.push_back(model_.begin_children(node));
  errno = 0;
  compare_end(tarn_tree_dispose_children(node_p), nullptr);
}

void Program::compare_end(int result, void* const* stayed) {
  const int error = errno;
  Disposal disposal = disposals_.back();
  disposals_.pop_back();
  const Progress progress = model_.advance(disposal);
  TARN_REQUIRE(progress != Progress::asks);
  TARN_REQUIRE(result == (progress == Progress::gone ? 0 : -1));
  TARN_REQUIRE(result == 0 || error == EBUSY);
  TARN_REQUIRE(stayed == nullptr || *stayed == p(disposal.stayed));
}

int Program::ended(void* node_p, Destructor which) {
  const std::size_t depth = disposals_.size();
  TARN_REQUIRE(depth != 0 && model_.advance(disposals_.back()) == Progress::asks);
  const Id node = disposals_.back().node;
  TARN_REQUIRE(p(node) == node_p && at(node).destructor == which);
  verify(node);
  for (int more = input_.byte() % 4; more > 0; --more) act(node);
  const bool vetoes = which != release_one && input_.byte() % 8 == 1;
  TARN_REQUIRE(disposals_.size() == depth);
  disposals_.back().has_vetoed = vetoes;
  return vetoes ? 1 : 0;
}

// within: the node whose destructor does this.
void Program::act(Id within) {
  if (model_.nodes().empty()) return make(none);
  const bool goes = within != none && input_.byte() % 4 == 0;  // More there than elsewhere.
  const std::size_t kind = goes ? 28 + input_.below(4) : input_.below(32);
  if (kind < 12 && model_.nodes().size() < nodes_max) {
    const Id parent = input_.byte() % 16 == 0 ? none : any_near(within);
    return kind == 0 ? adopt(parent) : make(parent);
  }
  const Id node = any_near(within);
  if (kind < 14) return steal(input_.byte() % 8 == 0 ? none : any(), node);
  if (kind < 18) return reference(any(), node);
  if (kind < 20) return reallocate(node);
  if (kind < 24) return arm(node);
  switch (kind) {
    case 24: return name(node);
    case 25: return give_memory(node);
    case 26: return refuse(node);
    case 27: return verify(node);
    default: break;
  }
  if (disposals_.size() >= disposals_max) return;
  if (kind == 28) return unreference(node);
  if (kind == 29) return dispose_children(node);
  // Of two the younger one: it has less below it.
  const Id other = within == none ? any() : node;
  dispose(at(other).birth > at(node).birth ? other : node);
}

void Program::finish() {
  verify_all();
  while (!model_.nodes().empty()) {
    const Id node = model_.nodes().front();
    if (at(node).references.empty()) {
      dispose(node);
    } else {
      unreference_by(at(at(node).references.front()).parent, node);
    }
  }
}

int end_first(void* p) { return program->ended(p, first_one); }
int end_second(void* p) { return program->ended(p, second_one); }
void end_adopted(void* block) {
  static_cast<void>(program->ended(program->p_of_block(block), release_one));
}

}  // namespace

void run(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  Program steps(input);
  while (input.has_step()) steps.step();
  steps.finish();
}

}  // namespace tarn::fuzz
