// Random sizes with Zipf lifetimes, on one thread and on two.
//
// Each step takes one block and frees those whose time has come. Most blocks die within a few
// steps and a few live for the whole run, on the same OS pages: the rule that most objects die
// young, and the reason why pages stay half empty. On two threads a quarter of the blocks dies on
// the thread that did not take them.
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

constexpr std::size_t horizon = std::size_t{1} << 17;  // The longest lifetime, in steps.

struct Mortal {
  Block block;
  Mortal* next;  // Of the same hour.
};

// A ring of hours; each holds the blocks that die then. The links are allocated too, as the
// bookkeeping of a real program would be.
class Calendar {
 public:
  Calendar() : hours_(horizon, nullptr) {}

  void enter(std::uint64_t hour, const Block& block) {
    Mortal*& first = hours_[hour % horizon];
    Mortal* mortal = static_cast<Mortal*>(std::malloc(sizeof(Mortal)));
    if (mortal == nullptr) {
      fail("out of memory: use a smaller size");
    }
    *mortal = Mortal{block, first};
    first = mortal;
  }

  std::uint64_t strike(std::uint64_t hour) {
    Mortal*& first = hours_[hour % horizon];
    std::uint64_t sum = 0;
    while (first != nullptr) {
      Mortal* mortal = first;
      first = mortal->next;
      sum += give_block(mortal->block);
      std::free(mortal);
    }
    return sum;
  }

  std::uint64_t strike_all() {
    std::uint64_t sum = 0;
    for (std::uint64_t hour = 0; hour < horizon; ++hour) {
      sum += strike(hour);
    }
    return sum;
  }

 private:
  std::vector<Mortal*> hours_;
};

// The two threads of the pair; null in the single-threaded form.
struct Pair {
  Tray trays[2];
  std::barrier<> meeting{2};
};

std::uint64_t live_and_die(unsigned self, std::uint64_t steps, const Zipf& lifetimes, Pair* pair) {
  Random random(self + 3);
  Calendar calendar;
  std::vector<Block> outgoing;
  std::uint64_t sum = 0;
  for (std::uint64_t step = 0; step < steps; ++step) {
    const Block block = take_block(random.log_size(8, 8), step);
    if (pair != nullptr && random.below(4) == 0) {
      outgoing.push_back(block);
    } else {
      // A step short of the horizon, so that no block enters the hour that is striking.
      calendar.enter(step + lifetimes.draw(random) % (horizon - 1) + 1, block);
    }
    if (pair != nullptr && step % 1024 == 0) {
      pair->trays[1 - self].leave(outgoing);
      sum += pair->trays[self].clear();
      if (step % (32 * 1024) == 0) {
        pair->meeting.arrive_and_wait();
      }
    }
    sum += calendar.strike(step);
  }
  for (Block& block : outgoing) {
    sum += give_block(block);
  }
  return sum + calendar.strike_all();
}

}  // namespace

std::uint64_t run_lifetimes(const Request& request) {
  const Zipf lifetimes(horizon, 1.0);
  return live_and_die(0, request.size, lifetimes, nullptr);
}

std::uint64_t run_lifetimes_pair(const Request& request) {
  const Zipf lifetimes(horizon, 1.0);
  Pair pair;
  std::uint64_t other_sum = 0;
  std::thread other([&] { other_sum = live_and_die(1, request.size, lifetimes, &pair); });
  const std::uint64_t sum = live_and_die(0, request.size, lifetimes, &pair);
  other.join();
  return sum + other_sum + pair.trays[0].clear() + pair.trays[1].clear();
}

}  // namespace tarn
