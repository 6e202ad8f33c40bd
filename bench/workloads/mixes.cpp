// Two mixes of batches, in the spirit of the commercial stress tests known as sh6 and sh8.
//
// batches (sh6-like): batches of one size, small sizes most; the youngest of a batch die in
// reverse, the oldest in order, and some outlive the next batches. mixture (sh8-like): a mixed
// population up to 16 KiB in which random victims die, and in the threaded form a part of them
// dies on another thread. Both run on one thread and on as many as the machine has.
//
// SPDX-License-Identifier: MIT
#include <barrier>
#include <thread>
#include <vector>

#include "block.hpp"
#include "random.hpp"
#include "tray.hpp"
#include "workload.hpp"

namespace tarn {
namespace {

std::size_t batch_size_bytes(Random& random) {
  // Small sizes most: seven in eight batches are of 8..128 bytes.
  return random.below(8) == 0 ? random.between(129, 1000) : random.between(8, 128);
}

// One batch: half dies at once in reverse, then the survivors of the batch before die in order.
std::uint64_t turn_batch(Random& random, std::vector<Block>& survivors, std::vector<Block>& batch) {
  const std::size_t bytes = batch_size_bytes(random);
  const std::size_t count = bytes > 128 ? 400 : 2000;
  std::uint64_t sum = 0;
  batch.clear();
  for (std::size_t i = 0; i < count; ++i) {
    batch.push_back(take_block(bytes, i));
  }
  for (std::size_t i = 0; i < count / 2; ++i) {
    sum += give_block(batch.back());
    batch.pop_back();
  }
  if (survivors.size() > 40000) {
    for (std::size_t i = 0; i < survivors.size(); ++i) {
      if (i % 4 != 0) {
        sum += give_block(survivors[i]);
      }
    }
    std::erase_if(survivors, [](const Block& block) { return block.memory == nullptr; });
  }
  survivors.insert(survivors.end(), batch.begin(), batch.end());
  return sum;
}

std::uint64_t batches_of_thread(std::uint64_t seed, std::uint64_t count) {
  Random random(seed);
  std::vector<Block> survivors;
  std::vector<Block> batch;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    sum += turn_batch(random, survivors, batch);
  }
  for (Block& block : survivors) {
    sum += give_block(block);
  }
  return sum;
}

std::size_t mixture_bytes(Random& random) {
  return random.below(32) == 0 ? random.between(2048, 16384) : random.log_size(16, 6);
}

// Threads that free each other's blocks; none of it exists in the single-threaded form.
struct Neighbours {
  std::vector<Tray> trays;
  std::barrier<> meeting;

  explicit Neighbours(unsigned count) : trays(count), meeting(count) {}
};

// One victim in eight goes to the next thread's tray, where there is one.
std::uint64_t mixture_of_thread(std::size_t self, std::uint64_t count, Neighbours* neighbours) {
  constexpr std::size_t live_count = 8000;
  constexpr std::uint64_t turn = 4096;
  Random random(self + 8);
  std::vector<Block> live(live_count);
  std::vector<Block> outgoing;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    Block& victim = live[random.below(live_count)];
    if (neighbours == nullptr || i % 8 != 0 || victim.memory == nullptr) {
      sum += give_block(victim);
    } else {
      outgoing.push_back(victim);
    }
    victim = take_block(mixture_bytes(random), i);
    if (neighbours != nullptr && i % turn == 0) {
      neighbours->trays[(self + 1) % neighbours->trays.size()].leave(outgoing);
      sum += neighbours->trays[self].clear();
      if (i % (16 * turn) == 0) {
        neighbours->meeting.arrive_and_wait();
      }
    }
  }
  for (Block& block : live) {
    sum += give_block(block);
  }
  for (Block& block : outgoing) {
    sum += give_block(block);
  }
  return sum;
}

// Runs `body(index)` on as many threads and adds up what they return.
template <class Body>
std::uint64_t on_threads(unsigned count, Body body) {
  std::vector<std::uint64_t> sums(count);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i) {
    threads.emplace_back([&sums, &body, i] { sums[i] = body(i); });
  }
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < count; ++i) {
    threads[i].join();
    sum += sums[i];
  }
  return sum;
}

}  // namespace

std::uint64_t run_batches(const Request& request) { return batches_of_thread(6, request.size); }

std::uint64_t run_batches_threads(const Request& request) {
  return on_threads(request.threads,
                    [&](unsigned i) { return batches_of_thread(6 + i, request.size); });
}

std::uint64_t run_mixture(const Request& request) {
  return mixture_of_thread(0, request.size, nullptr);
}

std::uint64_t run_mixture_threads(const Request& request) {
  Neighbours neighbours(request.threads);
  std::uint64_t sum = on_threads(
      request.threads, [&](unsigned i) { return mixture_of_thread(i, request.size, &neighbours); });
  for (Tray& tray : neighbours.trays) {
    sum += tray.clear();
  }
  return sum;
}

}  // namespace tarn
