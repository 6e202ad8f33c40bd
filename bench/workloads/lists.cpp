// S0.13: five doubly linked lists of random strings, grown in turn.
//
// Per iteration each list does one operation: four in five append a string of 1..64 characters,
// one in five drops the head. Then each list is searched for a value that it does not hold, and
// then all are destroyed. Stresses small blocks of interleaved owners: locality decides the
// search and the destruction.
//
// SPDX-License-Identifier: MIT
#include <array>
#include <cstring>

#include "block.hpp"
#include "random.hpp"
#include "workload.hpp"

namespace tarn {
namespace {

struct Node {
  Node* before;
  Node* after;
  char* text;
};

class List {
 public:
  void append(Random& random) {
    const std::size_t length = random.between(1, 64);
    Node* node = static_cast<Node*>(std::malloc(sizeof(Node)));
    char* text = static_cast<char*>(std::malloc(length + 1));
    if (node == nullptr || text == nullptr) {
      fail("out of memory: use a smaller size");
    }
    // Letters of the lower half only, so that the searched value is in no list.
    std::memset(text, 'a' + static_cast<int>(random.below(13)), length);
    text[length] = '\0';
    *node = Node{last_, nullptr, text};
    (last_ != nullptr ? last_->after : first_) = node;
    last_ = node;
  }

  std::uint64_t drop_first() {
    if (first_ == nullptr) {
      return 0;
    }
    Node* node = first_;
    first_ = node->after;
    (first_ != nullptr ? first_->before : last_) = nullptr;
    const std::uint64_t value = std::strlen(node->text);
    std::free(node->text);
    std::free(node);
    return value;
  }

  // The number of elements compared: all of them, as the value is not there.
  std::uint64_t search(const char* value) const {
    std::uint64_t compared = 0;
    for (const Node* node = first_; node != nullptr; node = node->after) {
      compared += std::strcmp(node->text, value) != 0;
    }
    return compared;
  }

  bool is_empty() const { return first_ == nullptr; }

 private:
  Node* first_ = nullptr;
  Node* last_ = nullptr;
};

}  // namespace

std::uint64_t run_lists(const Request& request) {
  Random random(13);
  std::array<List, 5> lists;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < request.size; ++i) {
    for (List& list : lists) {
      if (random.below(5) == 0) {
        sum += list.drop_first();
      } else {
        list.append(random);
      }
    }
  }
  for (const List& list : lists) {
    sum += list.search("zebra");
  }
  for (List& list : lists) {
    while (!list.is_empty()) {
      sum += list.drop_first();
    }
  }
  return sum;
}

}  // namespace tarn
