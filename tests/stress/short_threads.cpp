// Threads that live for a moment: each frees what earlier ones left and leaves blocks for later
// ones, so pages outlive their threads, are adopted, and get mail when nobody owns them. Some
// allocate in the destructors that run at a thread's end.
//
// SPDX-License-Identifier: MIT
#include <array>
#include <mutex>
#include <thread>
#include <vector>

#include "../support/threads.hpp"
#include "blocks.hpp"

namespace {

struct Heritage {
  std::mutex mutex;
  std::vector<stress::Block> blocks;
};

struct Late {
  stress::Block block;
  ~Late() { block = stress::Block(77); }
};

void live(unsigned seed, Heritage& heritage) {
  stress::Random random(seed);
  std::vector<stress::Block> own;
  {
    const std::lock_guard<std::mutex> guard(heritage.mutex);
    for (std::size_t n = random.below(200); n > 0 && !heritage.blocks.empty(); --n) {
      std::swap(heritage.blocks[random.below(heritage.blocks.size())], heritage.blocks.back());
      own.push_back(std::move(heritage.blocks.back()));
      heritage.blocks.pop_back();
    }
  }
  for (stress::Block& block : own) {
    if (random.below(2) == 0) block = stress::Block();
  }
  for (std::size_t n = random.below(400); n > 0; --n) {
    own.emplace_back(random.below(10) == 0 ? random.block_bytes() : random.below(3) * 64 + 1);
  }
  if (random.below(4) == 0) {
    thread_local Late late;
    late.block = stress::Block(random.block_bytes());
  }
  if (random.below(50) == 0) tarn_malloc_trim(0);
  const std::lock_guard<std::mutex> guard(heritage.mutex);
  for (stress::Block& block : own) {
    if (heritage.blocks.size() < 3000 && random.below(3) != 0) {
      heritage.blocks.push_back(std::move(block));
    }
  }
}

void keep_starting(unsigned id, int count, Heritage& heritage) {
  for (int i = 0; i < count; ++i) {
    std::thread(live, id * 100'000 + static_cast<unsigned>(i), std::ref(heritage)).join();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int count = stress::rounds(1'500, argc, argv);
  {
    Heritage heritage;
    support::in_threads(6u, [&](unsigned id) { keep_starting(id, count, heritage); });
  }
  return stress::finish("short_threads");
}
