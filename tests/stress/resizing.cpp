// Blocks of all sizes are resized by one thread after another: realloc of another thread's block,
// large ones in place, by page tables and by copying, while others take and give spans next to
// them.
//
// SPDX-License-Identifier: MIT
#include <array>
#include <mutex>

#include "../support/threads.hpp"
#include "blocks.hpp"

namespace {

struct Slot {
  std::mutex mutex;
  stress::Block block;
};

void work(unsigned id, int rounds, std::array<Slot, 48>& slots) {
  stress::Random random(id + 7);
  for (int round = 0; round < rounds; ++round) {
    Slot& slot = slots[random.below(slots.size())];
    const bool large = random.below(40) == 0;
    const std::size_t bytes = large ? random.below(1'500'000) + 1 : random.block_bytes();
    const std::lock_guard<std::mutex> guard(slot.mutex);
    if (!slot.block) {
      slot.block = stress::Block(bytes);
    } else if (random.below(16) == 0) {
      slot.block = stress::Block();
    } else {
      slot.block.resize(bytes);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = stress::rounds(60'000, argc, argv);
  {
    std::array<Slot, 48> slots;
    support::in_threads(6u, [&](unsigned id) { work(id, rounds, slots); });
  }
  return stress::finish("resizing");
}
