// Small cells that refer to each other.
//
// red_black: balanced trees that are never changed, with counted references, built by the
// instructions of a small machine on boxed numbers (the trees of Okasaki, 1999). scripts: a
// collector marks and sweeps the objects of scripts that run at random; some have memory outside,
// which their finalisers free. rewriting: expressions are rewritten by rules until none applies.
//
// SPDX-License-Identifier: MIT
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../meter/process.h"
#include "../workloads/random.hpp"
#include "validation.hpp"

namespace tarn {
namespace {

// A number in a block of its own, or a node of a tree, with a count of references.
struct Counted {
  std::uint32_t references = 1;
};
struct Box : Counted {
  std::int64_t value = 0;
};
struct Knot : Counted {
  bool red = true;
  Knot* left = nullptr;
  Box* key = nullptr;
  Box* value = nullptr;
  Knot* right = nullptr;
};

template <class T>
T* kept(T* cell) {
  if (cell != nullptr) ++cell->references;
  return cell;
}
void drop(Box* box) {
  if (--box->references == 0) delete box;
}
void drop(Knot* knot) {
  while (knot != nullptr && --knot->references == 0) {
    drop(knot->left);
    drop(knot->key);
    drop(knot->value);
    delete std::exchange(knot, knot->right);
  }
}

Box* box(std::int64_t value) {
  auto* const made = new Box;
  made->value = value;
  return made;
}
Knot* knot(bool red, Knot* left, Box* key, Box* value, Knot* right) {
  return new Knot{{1}, red, left, key, value, right};
}
bool is_red(const Knot* knot) { return knot != nullptr && knot->red; }

// A black knot of these parts; two red ones below each other become one above two black ones.
Knot* balanced(Knot* left, Box* key, Box* value, Knot* right) {
  const auto above = [](Knot* a, Knot* x, Knot* b, Knot* y, Knot* c, Knot* z, Knot* d) {
    // x < y < z are the cells whose keys are taken; a to d the trees between.
    return knot(true, knot(false, a, kept(x->key), kept(x->value), b), kept(y->key), kept(y->value),
                knot(false, c, kept(z->key), kept(z->value), d));
  };
  Knot own{{1}, false, nullptr, key, value, nullptr};
  Knot* made = nullptr;
  if (is_red(left) && is_red(left->left)) {
    Knot* const low = left->left;
    made =
        above(kept(low->left), low, kept(low->right), left, kept(left->right), &own, kept(right));
  } else if (is_red(left) && is_red(left->right)) {
    Knot* const low = left->right;
    made = above(kept(left->left), left, kept(low->left), low, kept(low->right), &own, kept(right));
  } else if (is_red(right) && is_red(right->left)) {
    Knot* const low = right->left;
    made =
        above(kept(left), &own, kept(low->left), low, kept(low->right), right, kept(right->right));
  } else if (is_red(right) && is_red(right->right)) {
    Knot* const low = right->right;
    made =
        above(kept(left), &own, kept(right->left), right, kept(low->left), low, kept(low->right));
  } else {
    return knot(false, left, key, value, right);
  }
  drop(left);
  drop(right);
  drop(key);
  drop(value);
  return made;
}

// Takes its arguments over.
Knot* inserted(Knot* tree, Box* key, Box* value) {
  if (tree == nullptr) return knot(true, nullptr, key, value, nullptr);
  Knot* made = nullptr;
  if (key->value == tree->key->value) {
    made = knot(tree->red, kept(tree->left), key, value, kept(tree->right));
  } else if (key->value < tree->key->value) {
    Knot* const left = inserted(kept(tree->left), key, value);
    made = tree->red ? knot(true, left, kept(tree->key), kept(tree->value), kept(tree->right))
                     : balanced(left, kept(tree->key), kept(tree->value), kept(tree->right));
  } else {
    Knot* const right = inserted(kept(tree->right), key, value);
    made = tree->red ? knot(true, kept(tree->left), kept(tree->key), kept(tree->value), right)
                     : balanced(kept(tree->left), kept(tree->key), kept(tree->value), right);
  }
  drop(tree);
  return made;
}
Knot* with(Knot* tree, Box* key, Box* value) {
  Knot* const made = inserted(tree, key, value);
  if (!made->red) return made;
  Knot* const black =
      knot(false, kept(made->left), kept(made->key), kept(made->value), kept(made->right));
  drop(made);
  return black;
}

std::uint64_t sum_of(const Knot* tree) {
  if (tree == nullptr) return 0;
  return sum_of(tree->left) * 3 +
         static_cast<std::uint64_t>(tree->key->value ^ tree->value->value) + sum_of(tree->right);
}

// A machine with a stack of boxes; its program inserts numbers that it computes.
class Machine {
 public:
  enum Code : unsigned char { constant, add, multiply, remainder, copy, insert, end };
  struct Instruction {
    Code code;
    std::int64_t operand = 0;
  };

  ~Machine() {
    for (Box* box : stack_) drop(box);
    drop(tree_);
  }
  void push(std::int64_t value) { stack_.push_back(box(value)); }
  void run(const std::vector<Instruction>& program) {
    for (const Instruction& instruction : program) {
      switch (instruction.code) {
        case constant: push(instruction.operand); break;
        case copy: stack_.push_back(kept(stack_.back())); break;
        case add: combine([](std::int64_t a, std::int64_t b) { return a + b; }); break;
        case multiply: combine([](std::int64_t a, std::int64_t b) { return a * b; }); break;
        case remainder: combine([](std::int64_t a, std::int64_t b) { return a % b; }); break;
        case insert: {
          Box* const value = pop();
          tree_ = with(tree_, pop(), value);
          break;
        }
        case end: return;
      }
    }
  }
  std::uint64_t sum() const { return sum_of(tree_); }

 private:
  Box* pop() {
    Box* const top = stack_.back();
    stack_.pop_back();
    return top;
  }
  template <class Operation>
  void combine(Operation operation) {
    Box* const b = pop();
    Box* const a = pop();
    push(operation(a->value, b->value));
    drop(a);
    drop(b);
  }

  std::vector<Box*> stack_;
  Knot* tree_ = nullptr;
};

// An object of a script: references follow the header.
struct Thing {
  Thing* next;
  unsigned char* outside;  // Freed by the finaliser.
  std::uint32_t outside_bytes;
  std::uint32_t references;
  bool marked;
  Thing** slots() { return reinterpret_cast<Thing**>(this + 1); }
};

class Collector {
 public:
  explicit Collector(std::size_t roots) : roots_(roots) {}
  ~Collector() {
    roots_.assign(roots_.size(), nullptr);
    collect();
  }

  Thing* make(std::uint32_t references, std::uint32_t outside_bytes) {
    const std::size_t bytes = sizeof(Thing) + references * sizeof(Thing*);
    if (bytes_ > limit_) collect();
    auto* const thing = static_cast<Thing*>(std::calloc(1, bytes));
    if (thing == nullptr) fail("out of memory");
    thing->next = all_;
    thing->references = references;
    if (outside_bytes != 0) {
      thing->outside = static_cast<unsigned char*>(std::malloc(outside_bytes));
      if (thing->outside == nullptr) fail("out of memory");
      thing->outside[0] = thing->outside[outside_bytes - 1] = 1;
      thing->outside_bytes = outside_bytes;
    }
    all_ = thing;
    bytes_ += bytes + outside_bytes;
    return thing;
  }
  Thing*& root(std::size_t i) { return roots_[i]; }
  std::uint64_t finalised() const { return finalised_; }

  void collect() {
    std::vector<Thing*> grey;
    const auto mark = [&grey](Thing* thing) {
      if (thing == nullptr || thing->marked) return;
      thing->marked = true;
      grey.push_back(thing);
    };
    for (Thing* root : roots_) mark(root);
    while (!grey.empty()) {
      Thing* const thing = grey.back();
      grey.pop_back();
      for (std::uint32_t i = 0; i < thing->references; ++i) mark(thing->slots()[i]);
    }
    bytes_ = 0;
    for (Thing** link = &all_; *link != nullptr;) {
      Thing* const thing = *link;
      if (thing->marked) {
        thing->marked = false;
        bytes_ += sizeof(Thing) + thing->references * sizeof(Thing*) + thing->outside_bytes;
        link = &thing->next;
        continue;
      }
      *link = thing->next;
      if (thing->outside != nullptr) {
        finalised_ += thing->outside_bytes;
        std::free(thing->outside);
      }
      std::free(thing);
    }
    limit_ = bytes_ * 2 + (1u << 20);
  }

 private:
  std::vector<Thing*> roots_;
  Thing* all_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t limit_ = 1u << 20;
  std::uint64_t finalised_ = 0;
};

// A sum, a product, a number or a variable.
struct Expression {
  char kind;
  std::uint32_t number;
  std::unique_ptr<Expression> left, right;
};
using ExpressionPointer = std::unique_ptr<Expression>;

ExpressionPointer leaf(char kind, std::uint32_t number) {
  return std::make_unique<Expression>(Expression{kind, number, nullptr, nullptr});
}
ExpressionPointer pair(char kind, ExpressionPointer left, ExpressionPointer right) {
  return std::make_unique<Expression>(Expression{kind, 0, std::move(left), std::move(right)});
}
ExpressionPointer copied(const Expression& e) {
  return e.left == nullptr ? leaf(e.kind, e.number)
                           : pair(e.kind, copied(*e.left), copied(*e.right));
}
ExpressionPointer some_expression(Random& random, unsigned depth, std::uint64_t products) {
  if (depth == 0 || random.below(8) == 0) {
    return random.below(3) == 0 ? leaf('n', static_cast<std::uint32_t>(random.below(4)))
                                : leaf('v', static_cast<std::uint32_t>(random.below(6)));
  }
  ExpressionPointer left = some_expression(random, depth - 1, products);
  return pair(random.below(products) == 0 ? '*' : '+', std::move(left),
              some_expression(random, depth - 1, products));
}

// Rules at the top of an expression whose parts are in normal form.
ExpressionPointer rewritten(ExpressionPointer e, std::uint64_t& visits) {
  ++visits;
  if (e->left == nullptr) return e;
  e->left = rewritten(std::move(e->left), visits);
  e->right = rewritten(std::move(e->right), visits);
  Expression& a = *e->left;
  Expression& b = *e->right;
  if (a.kind == 'n' && b.kind == 'n') {
    return leaf('n', e->kind == '+' ? a.number + b.number : a.number * b.number);
  }
  if (e->kind == '*') {
    if ((a.kind == 'n' && a.number == 0) || (b.kind == 'n' && b.number == 0)) {
      return leaf('n', 0);
    }
    if (a.kind == '+') {  // (x + y) b = x b + y b
      ExpressionPointer right = pair('*', std::move(a.right), copied(b));
      return rewritten(
          pair('+', pair('*', std::move(a.left), std::move(e->right)), std::move(right)), visits);
    }
    if (b.kind == '+') {
      ExpressionPointer right = pair('*', copied(a), std::move(b.right));
      return rewritten(
          pair('+', pair('*', std::move(e->left), std::move(b.left)), std::move(right)), visits);
    }
  } else if (a.kind == '+') {  // (x + y) + b = x + (y + b)
    ExpressionPointer x = std::move(a.left);
    return pair('+', std::move(x),
                rewritten(pair('+', std::move(a.right), std::move(e->right)), visits));
  }
  return e;
}

std::uint64_t size_of(const Expression& e) {
  return 1 + (e.left == nullptr ? e.number : size_of(*e.left) + size_of(*e.right));
}

}  // namespace

std::uint64_t run_red_black(const Request& request) {
  Random random(request.seed * 512 + 1);
  const std::int64_t keys = static_cast<std::int64_t>(random.between(1000, 30000));
  std::uint64_t sum = 0;
  for (std::uint64_t done = 0; done < request.size;) {
    Machine machine;
    machine.push(static_cast<std::int64_t>(random.below(1000)));
    const std::int64_t factor = static_cast<std::int64_t>(random.between(3, 999)) | 1;
    const std::vector<Machine::Instruction> program = {{Machine::constant, factor},
                                                       {Machine::multiply},
                                                       {Machine::constant, 12345},
                                                       {Machine::add},
                                                       {Machine::constant, 1000003},
                                                       {Machine::remainder},
                                                       {Machine::copy},
                                                       {Machine::copy},
                                                       {Machine::constant, keys},
                                                       {Machine::remainder},
                                                       {Machine::copy},
                                                       {Machine::constant, 7},
                                                       {Machine::multiply},
                                                       {Machine::insert},
                                                       {Machine::constant, 3},
                                                       {Machine::add},
                                                       {Machine::add},
                                                       {Machine::end}};
    const std::int64_t inserts = keys * static_cast<std::int64_t>(random.between(1, 4));
    for (std::int64_t i = 0; i < inserts; ++i) machine.run(program);
    done += static_cast<std::uint64_t>(inserts);
    sum = sum * 31 + machine.sum();
  }
  return sum;
}

std::uint64_t run_scripts(const Request& request) {
  Random random(request.seed * 512 + 2);
  const std::size_t roots = random.between(500, 5000);
  const std::uint32_t most = static_cast<std::uint32_t>(random.between(3, 6));
  const std::uint64_t outside = random.between(4, 16);
  const unsigned doublings = static_cast<unsigned>(random.between(3, 7));
  Collector collector(roots);
  for (std::uint64_t i = 0; i < request.size; ++i) {
    Thing*& root = collector.root(random.below(roots));
    const bool has_outside = random.below(outside) == 0;
    const auto bytes = static_cast<std::uint32_t>(has_outside ? random.log_size(24, doublings) : 0);
    Thing* const made = collector.make(static_cast<std::uint32_t>(random.below(most)), bytes);
    for (std::uint32_t k = 0; k < made->references; ++k) {
      made->slots()[k] = random.below(4) == 0 ? collector.root(random.below(roots)) : nullptr;
    }
    if (random.below(4) != 0 || root == nullptr || root->references == 0) {
      root = made;
    } else {
      root->slots()[random.below(root->references)] = made;
    }
  }
  collector.collect();
  return collector.finalised() * 31 + roots;
}

std::uint64_t run_rewriting(const Request& request) {
  Random random(request.seed * 512 + 3);
  const unsigned depth = static_cast<unsigned>(random.between(4, 5));
  const std::uint64_t products = random.between(3, 5);  // One operation in so many.
  std::uint64_t visits = 0;
  std::uint64_t sum = depth;
  while (visits < request.size) {
    const ExpressionPointer done = rewritten(some_expression(random, depth, products), visits);
    sum += size_of(*done);
  }
  return sum * 31 + visits;
}

}  // namespace tarn
