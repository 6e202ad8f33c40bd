// parts: something of each part of tarn, in C++, with tarn.hpp alone.
//
// SPDX-License-Identifier: MIT
#include "tarn.hpp"

#include "../check.h"
#include "../support/threads.hpp"

namespace {

struct Node {
  explicit Node(int n) : number(n) {}
  ~Node() { number = 0; }
  int number;
};

void use_parts() {
  tarn::Heap heap("parts");
  tarn::Fixed<int> numbers(heap);
  CHECK(*numbers.create(7) == 7);
  CHECK(heap.owns(heap.allocate(100)));

  tarn::ObjectPool<Node> nodes;
  Node* const node = nodes.create(5);
  CHECK(node->number == 5);
  nodes.destroy(node);

  tarn::Arena arena;
  CHECK(arena.allocate(1000) != nullptr);
  CHECK(arena.format("%s-%d", "seven", 7)[6] == '7');

  tarn::Tree tree = tarn::Tree::with_arena();
  CHECK(tree.create<Node>(3)->number == 3);

  const tarn::ClassTable table = tarn::ClassTable::steps(4);
  CHECK(table.size() == 48);
}

}  // namespace

int main() {
  support::in_threads(4, use_parts);
  return 0;
}
