// Eight threads swap blocks through one table: most frees are of other threads' blocks, and any
// page has blocks with all of them.
//
// SPDX-License-Identifier: MIT
#include <array>
#include <mutex>
#include <vector>

#include "../support/threads.hpp"
#include "blocks.hpp"

namespace {

struct Shelf {
  std::mutex mutex;
  std::array<stress::Block, 64> blocks;
};

void work(unsigned id, int rounds, std::array<Shelf, 16>& shelves) {
  stress::Random random(id + 1);
  std::vector<stress::Block> own(100);
  for (int round = 0; round < rounds; ++round) {
    stress::Block& block = own[random.below(own.size())];
    switch (random.below(8)) {
      case 0: block = stress::Block::aligned(std::size_t{1} << random.below(13), 100); break;
      case 1: block = stress::Block::zeroed(random.block_bytes()); break;
      case 2: block.resize(random.block_bytes()); break;
      case 3: block = stress::Block(); break;
      default: block = stress::Block(random.block_bytes());
    }
    Shelf& shelf = shelves[random.below(shelves.size())];
    const std::lock_guard<std::mutex> guard(shelf.mutex);
    std::swap(block, shelf.blocks[random.below(shelf.blocks.size())]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = stress::rounds(120'000, argc, argv);
  {
    std::array<Shelf, 16> shelves;
    support::in_threads(8u, [&](unsigned id) { work(id, rounds, shelves); });
  }
  return stress::finish("exchange");
}
