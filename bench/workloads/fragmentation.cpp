// What a heap looks like after a while.
//
// drift: the amount of live data stays the same while the sizes asked for drift from phase to
// phase, and in each phase a random two thirds of the old blocks die: what cannot be reused for
// other sizes shows as peak memory. holes (S1.9, the war story): small blocks with as many holes
// between them, and then requests of 512 bytes, none of which fits a hole; a list search through
// the holes shows as time.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include "block.hpp"
#include "random.hpp"
#include "workload.hpp"

namespace tarn {
namespace {

// A size of this phase: nine in ten from a narrow band that moves, the others from everywhere.
std::size_t drifting_size(Random& random, std::uint64_t phase) {
  constexpr std::size_t bands[] = {24, 640, 48, 3000, 96, 200, 1400, 32, 6000, 400};
  if (random.below(10) == 0) {
    return random.log_size(16, 10);
  }
  const std::size_t band = bands[phase % (sizeof bands / sizeof bands[0])];
  return random.between(band - band / 4, band + band / 4);
}

}  // namespace

std::uint64_t run_drift(const Request& request) {
  constexpr std::uint64_t live_bytes_target = 40u << 20;
  Random random(90);
  std::vector<Block> live;
  std::uint64_t live_bytes = 0;
  std::uint64_t sum = 0;
  for (std::uint64_t phase = 0; phase < request.size; ++phase) {
    while (live_bytes < live_bytes_target) {
      live.push_back(take_block(drifting_size(random, phase), phase));
      live_bytes += live.back().bytes;
    }
    auto kept = std::remove_if(live.begin(), live.end(), [&](Block& block) {
      if (random.below(3) == 0) {
        return false;
      }
      live_bytes -= block.bytes;
      sum += give_block(block);
      return true;
    });
    live.erase(kept, live.end());
  }
  for (Block& block : live) {
    sum += give_block(block);
  }
  return sum;
}

std::uint64_t run_holes(const Request& request) {
  constexpr std::size_t object_count = 20000;
  constexpr std::size_t window = 64;
  Random random(19);
  std::vector<Block> objects(object_count);
  for (Block& object : objects) {
    object = take_block(random.between(12, 28), 1);
  }
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < object_count; i += 2) {
    sum += give_block(objects[i]);
  }
  Block requests[window];
  for (std::uint64_t i = 0; i < request.size; ++i) {
    Block& block = requests[random.below(window)];
    sum += give_block(block);
    block = take_block(512, i);
  }
  for (Block& block : requests) {
    sum += give_block(block);
  }
  for (std::size_t i = 1; i < object_count; i += 2) {
    sum += give_block(objects[i]);
  }
  return sum;
}

}  // namespace tarn
