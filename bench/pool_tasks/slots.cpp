// 1,024 slots. Each figure is nanoseconds for a free and an allocation.
//
//   slots    a random one is drawn, its block is freed, another one taken for it and touched; what
//            waits for the generator of random numbers is not seen
//   bare     the same, with the slots drawn before: nothing hides what the contestant does
//   batches  the same as bare, but 32 are freed, then 32 are taken
//
//   fresh    the blocks lie in the order in which a new contestant hands them out
//   regrown  in the order in which it does after all were freed in random order
//
// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../workloads/random.hpp"
#include "contestants.hpp"
#include "count.hpp"
#include "memory.hpp"
#include "task.hpp"

namespace tarn {
namespace {

constexpr std::size_t memory_bytes = std::size_t{8} << 20;
constexpr std::size_t slot_count = 1024;
constexpr std::size_t batch = 32;

struct Slots {
  std::array<std::uint64_t*, slot_count> blocks;
};

// Each run of 1,024 holds each slot once, so that a batch never has one twice.
std::vector<std::uint16_t> random_order(std::size_t runs) {
  std::vector<std::uint16_t> order(runs * slot_count);
  Random random(1024);
  for (std::size_t run = 0; run < runs; ++run) {
    std::uint16_t* const slots = &order[run * slot_count];
    for (std::size_t at = 0; at < slot_count; ++at) {
      const std::size_t other = random.below(at + 1);
      slots[at] = slots[other];
      slots[other] = static_cast<std::uint16_t>(at);
    }
  }
  return order;
}

template <std::size_t block_bytes, class Contestant>
[[gnu::always_inline]] inline void take(Contestant& contestant, std::uint64_t*& slot) {
  slot = static_cast<std::uint64_t*>(contestant.allocate(block_bytes, alignof(void*)));
  *slot = 1;
}

template <std::size_t block_bytes, class Contestant>
[[gnu::always_inline]] inline void step(Contestant& contestant, std::uint64_t*& slot) {
  contestant.deallocate(slot, block_bytes, alignof(void*));
  keep(contestant);  // Else the compiler sees that the block comes back, and drops both.
  take<block_bytes>(contestant, slot);
}

// Numbers by xorshift (G. Marsaglia, "Xorshift RNGs", 2003): each waits for the one before.
template <std::size_t block_bytes, class Contestant>
[[gnu::noinline]] void measured_drawn(Contestant& contestant, Slots& slots, std::size_t count) {
  std::uint64_t random = 88172645463325252u;
  for (std::size_t i = 0; i < count; ++i) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    step<block_bytes>(contestant, slots.blocks[random % slot_count]);
  }
}

template <std::size_t block_bytes, class Contestant>
[[gnu::noinline]] void measured_steps(Contestant& contestant, Slots& slots,
                                      const std::vector<std::uint16_t>& order) {
  for (const std::uint16_t at : order) step<block_bytes>(contestant, slots.blocks[at]);
}

template <std::size_t block_bytes, class Contestant>
[[gnu::noinline]] void measured_batches(Contestant& contestant, Slots& slots,
                                        const std::vector<std::uint16_t>& order) {
  for (std::size_t at = 0; at < order.size(); at += batch) {
    for (std::size_t i = at; i < at + batch; ++i) {
      contestant.deallocate(slots.blocks[order[i]], block_bytes, alignof(void*));
    }
    for (std::size_t i = at; i < at + batch; ++i) {
      take<block_bytes>(contestant, slots.blocks[order[i]]);
    }
  }
}

// Figures of one state: the median of some runs, after one that does not count.
template <std::size_t block_bytes, class Contestant>
struct State {
  double drawn, bare, batches;

  State(Contestant& contestant, Slots& slots, const std::vector<std::uint16_t>& order) {
    const auto count = static_cast<double>(order.size());
    const auto median_of = [count](auto&& body) {
      body();
      std::vector<double> times(3);
      for (double& time : times) time = ns_of(body);
      return median(times) / count;
    };
    drawn = median_of([&] { measured_drawn<block_bytes>(contestant, slots, order.size()); });
    bare = median_of([&] { measured_steps<block_bytes>(contestant, slots, order); });
    batches = median_of([&] { measured_batches<block_bytes>(contestant, slots, order); });
  }
};

template <std::size_t block_bytes>
struct Churn {
  WarmMemory& memory;
  const std::vector<std::uint16_t>& order;

  template <class Contestant>
  void run() const {
    if constexpr (Contestant::frees) {
      memory.rewind();
      Contestant contestant({block_bytes, slot_count}, memory);
      Slots slots;
      for (std::uint64_t*& slot : slots.blocks) take<block_bytes>(contestant, slot);
      const State<block_bytes, Contestant> fresh(contestant, slots, order);
      free_all(contestant, slots);
      for (std::uint64_t*& slot : slots.blocks) take<block_bytes>(contestant, slot);
      const State<block_bytes, Contestant> regrown(contestant, slots, order);
      free_all(contestant, slots);
      print("slots", block_bytes, Contestant::name,
            {{"fresh", fresh.drawn}, {"regrown", regrown.drawn}});
      print("bare", block_bytes, Contestant::name,
            {{"fresh", fresh.bare}, {"regrown", regrown.bare}});
      print("batches", block_bytes, Contestant::name,
            {{"fresh", fresh.batches}, {"regrown", regrown.batches}});
    }
  }

  template <class Contestant>
  void free_all(Contestant& contestant, Slots& slots) const {
    for (std::size_t at = 0; at < slot_count; ++at) {
      contestant.deallocate(slots.blocks[order[at]], block_bytes, alignof(void*));
    }
    contestant.all_freed();
  }
};

struct Count {
  static constexpr std::size_t block_bytes = 32;

  template <class Contestant>
  void run() const {
    if constexpr (Contestant::frees) {
      WarmMemory memory(memory_bytes);
      std::vector<std::uint16_t> order = random_order(1);
      order.resize(128);  // A step takes long.
      const auto count = static_cast<double>(order.size());
      Contestant contestant({block_bytes, slot_count}, memory);
      Slots slots;
      for (std::uint64_t*& slot : slots.blocks) take<block_bytes>(contestant, slot);
      measured_steps<block_bytes>(contestant, slots, order);
      const double counted =
          instructions_of([&] { measured_steps<block_bytes>(contestant, slots, order); });
      print("count_bare", order.size(), Contestant::name, {{"step", counted / count}});
    }
  }
};

}  // namespace

void task_slots(const Request& request) {
  WarmMemory memory(memory_bytes);
  const std::vector<std::uint16_t> order = random_order(100);
  in_turn<EveryContestant>(request, Churn<32>{memory, order});
  in_turn<EveryContestant>(request, Churn<128>{memory, order});
}

void count_slots(const Request& request) { in_turn<EveryContestant>(request, Count{}); }

}  // namespace tarn
