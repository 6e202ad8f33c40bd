// Threads allocate in bursts and then rest, others free what they left, and one purges the mail of
// those that rest, all the time: pages are purged while their owners wake up, use them, put them
// down, and end. Without the thread sanitizer children of forks in the middle go on with it.
//
// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "../support/child.hpp"
#include "../support/threads.hpp"
#include "blocks.hpp"
#include "engine/upkeep/idle_purge.hpp"

namespace {

constexpr unsigned producers = 3;

std::mutex mutex;
std::vector<stress::Block> left;  // By those that rest.
std::atomic<std::size_t> left_count{0};
std::atomic<bool> stopping{false};
std::atomic<std::size_t> purged{0};

// Sizes of few classes, so that many pages get free as a whole.
std::size_t size(stress::Random& random) {
  constexpr std::array<std::size_t, 4> sizes{40, 500, 1000, 9000};
  return sizes[random.below(sizes.size())];
}

// Some of the burst is freed by its own thread: such pages wake, and wait in the queue.
void burst(stress::Random& random, std::size_t blocks) {
  std::vector<stress::Block> made;
  for (std::size_t i = 0; i < blocks; ++i) {
    made.emplace_back(size(random));
    if (random.below(4) == 0) made[random.below(made.size())] = stress::Block();
  }
  const std::lock_guard<std::mutex> lock(mutex);
  for (stress::Block& block : made) {
    if (block) left.push_back(std::move(block));
  }
  left_count = left.size();
}

// Whether the purging thread meets a page that rests is the scheduler's: on until it has, with
// patience.
void produce(unsigned id, int count) {
  constexpr int patience = 20;
  stress::Random random(id + 7);
  for (int i = 0; i < count || (purged == 0 && i < patience * count); ++i) {
    while (left_count > 10'000) ::usleep(100);
    // A thread of its own now and then: it ends with mail that is in somebody's hands.
    if (random.below(8) == 0) {
      std::thread([&] { burst(random, 400); }).join();
    } else {
      burst(random, 400);
    }
    if (random.below(2) == 0) ::usleep(200);
  }
}

void consume() {
  for (bool last = false; !last;) {
    last = stopping;
    std::vector<stress::Block> blocks;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      blocks.swap(left);
      left_count = 0;
    }
    for (const stress::Block& block : blocks) block.verify();
  }
}

void purge() {
  for (int i = 0; !stopping; ++i) {
    purged += tarn::idle_purge.purge(i % 3 == 0);
    if (i % 16 == 0) tarn_malloc_trim(0);
  }
}

#ifndef __SANITIZE_THREAD__
// Not from the sanitizer's allocator, which is no good in a child.
std::array<stress::Block, 3000> blocks_of_child;

[[noreturn]] void live_as_child(unsigned seed) {
  ::alarm(60);
  stress::Random random(seed);
  for (stress::Block& block : blocks_of_child) block = stress::Block(size(random));
  for (stress::Block& block : blocks_of_child) block = stress::Block();
  tarn_malloc_trim(0);
  for (stress::Block& block : blocks_of_child) block = stress::Block(size(random));
  tarn::idle_purge.purge(true);
  ::_exit(0);
}

void fork_now_and_then() {
  for (unsigned turn = 0; !stopping; ++turn) {
    ::usleep(2000);
    const int status = support::status_of_child([turn] { live_as_child(turn); });
    stress::require(status == 0, "a child ends badly");
  }
}
#endif

}  // namespace

int main(int argc, char** argv) {
  const int count = stress::rounds(200, argc, argv);
  std::vector<std::thread> others;
  others.emplace_back(consume);
  others.emplace_back(purge);
#ifndef __SANITIZE_THREAD__
  others.emplace_back(fork_now_and_then);
#endif
  support::in_threads(producers, [&](unsigned id) { produce(id, count); });
  stopping = true;
  for (std::thread& thread : others) thread.join();
  left.clear();
  stress::require(purged != 0, "nothing was purged");
  return stress::finish("idle");
}
