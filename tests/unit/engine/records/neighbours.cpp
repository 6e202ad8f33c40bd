// What two threads write at every turn does not lie side by side (engine/spans/record_memory.hpp
// says why).
//
// SPDX-License-Identifier: MIT
#include <array>
#include <set>
#include <vector>

#include "actor.hpp"

namespace tarn {
namespace {

std::uintptr_t piece_of(const void* record) { return address_of(record) / Records::piece_bytes; }

class Neighbour {
 public:
  void allocate_all_sizes(int turn) {
    for (const std::uint32_t bytes : class_block_bytes) {
      if ((bytes + static_cast<std::uint32_t>(turn)) % 3 == 0) continue;
      for (int i = 0; i < 3; ++i) blocks_.push_back(actor_.allocate(bytes));
    }
  }
  // Frees every second one.
  void thin_out() {
    std::vector<void*> kept;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (i % 2 == 0) kept.push_back(blocks_[i]);
      if (i % 2 == 1) actor_.free(blocks_[i]);
    }
    blocks_ = kept;
  }
  void free_all() {
    for (void* block : blocks_) actor_.free(block);
    blocks_.clear();
    actor_.end();
  }

  std::set<std::uintptr_t> pieces() {
    std::set<std::uintptr_t> pieces{piece_of(&actor_.record())};
    for (const void* block : blocks_) pieces.insert(piece_of(Actor::page_of(block)));
    for (const auto& group : actor_.record().heap.groups) {
      if (group.load() != nullptr) pieces.insert(piece_of(group.load()));
    }
    return pieces;
  }

 private:
  Actor actor_;
  std::vector<void*> blocks_;
};

TEST(Neighbours, RecordsOfTwoThreadsShareNoPiece) {
  {
    // What is handed out first lies in static memory, where records and descriptors come close.
    std::array<Neighbour, 5> earlier;
    for (Neighbour& neighbour : earlier) neighbour.allocate_all_sizes(0);
    Neighbour first, second;
    for (int turn = 0; turn < 30; ++turn) {
      first.allocate_all_sizes(turn);
      second.allocate_all_sizes(turn + 1);
      if (turn % 5 == 4) {
        first.thin_out();  // Pages go back to the store: the other's are made of them.
        second.thin_out();
      }
    }
    const std::set<std::uintptr_t> of_second = second.pieces();
    for (const std::uintptr_t piece : first.pieces()) EXPECT_EQ(of_second.count(piece), 0u);
    EXPECT_GT(of_second.size(), 1u);
    for (Neighbour& neighbour : earlier) neighbour.free_all();
    first.free_all();
    second.free_all();
  }
  expect_nothing_in_use();
}

}  // namespace
}  // namespace tarn
