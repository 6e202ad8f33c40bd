// Threads that only allocate hand their blocks to threads that only free: every page sleeps, is
// posted, and comes back by mail. The hand-over has no lock, so the mail is all that orders the two
// sides.
//
// SPDX-License-Identifier: MIT
#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "blocks.hpp"

namespace {

// A ring of owned blocks from one thread to one other.
class Ring {
 public:
  // False when it is full.
  bool put(stress::Block& block) {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    if (head - tail_.load(std::memory_order_acquire) == slots_.size()) return false;
    slots_[head % slots_.size()] = std::move(block);
    head_.store(head + 1, std::memory_order_release);
    return true;
  }
  // False when it is empty.
  bool take(stress::Block& block) {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail == head_.load(std::memory_order_acquire)) return false;
    block = std::move(slots_[tail % slots_.size()]);
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

 private:
  std::array<stress::Block, 512> slots_;
  std::atomic<std::size_t> head_{0};
  std::atomic<std::size_t> tail_{0};
};

void produce(unsigned id, int count, Ring& ring) {
  stress::Random random(id + 50);
  for (int i = 0; i < count; ++i) {
    stress::Block block(random.below(8) == 0 ? random.block_bytes() : random.below(200) + 1);
    while (!ring.put(block)) std::this_thread::yield();
  }
}

// Frees in another order than they came, some at once and some much later.
void consume(unsigned id, int count, Ring& ring) {
  stress::Random random(id + 90);
  std::vector<stress::Block> kept(300);
  for (int i = 0; i < count; ++i) {
    stress::Block& place = kept[random.below(kept.size())];
    stress::Block block;
    while (!ring.take(block)) std::this_thread::yield();
    block.verify();
    if (random.below(3) != 0) std::swap(place, block);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int count = stress::rounds(400'000, argc, argv);
  {
    constexpr unsigned pairs = 4;
    std::array<std::unique_ptr<Ring>, pairs> rings;
    for (auto& ring : rings) ring = std::make_unique<Ring>();
    std::vector<std::thread> threads;
    for (unsigned id = 0; id < pairs; ++id) {
      threads.emplace_back(produce, id, count, std::ref(*rings[id]));
      threads.emplace_back(consume, id, count, std::ref(*rings[id]));
    }
    for (std::thread& thread : threads) thread.join();
  }
  return stress::finish("producers");
}
