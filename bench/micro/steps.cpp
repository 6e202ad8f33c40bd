// Nanoseconds a step, by Google Benchmark: the rows of bench/instructions and some more.
//
// Run it under LD_PRELOAD, once per allocator, or let bench/run's suite speak: these loops show
// what a step costs while everything is in the cache, which programs seldom see.
//
// SPDX-License-Identifier: MIT
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <forward_list>
#include <list>
#include <vector>

#include "../workloads/random.hpp"

namespace tarn {
namespace {

void same_block(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    void* block = std::malloc(bytes);
    benchmark::DoNotOptimize(block);
    std::free(block);
  }
}

void stack_of_64(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  void* blocks[64];
  for (auto _ : state) {
    for (void*& block : blocks) {
      block = std::malloc(bytes);
    }
    benchmark::DoNotOptimize(blocks);
    for (void* block : blocks) {
      std::free(block);
    }
  }
  state.SetItemsProcessed(state.iterations() * 64);
}

// Slots and the number of sizes are the arguments; sizes are multiples of `unit`.
void random_slots(benchmark::State& state, std::size_t unit) {
  const auto slot_count = static_cast<std::uint64_t>(state.range(0));
  const auto size_count = static_cast<std::uint64_t>(state.range(1));
  std::vector<void*> slots(slot_count);
  Random random(25);
  for (auto _ : state) {
    void*& slot = slots[random.below(slot_count)];
    std::free(slot);
    slot = std::malloc((static_cast<std::size_t>(random.below(size_count)) + 1) * unit);
    benchmark::DoNotOptimize(slot);
  }
  for (void* slot : slots) {
    std::free(slot);
  }
}

void small_slots(benchmark::State& state) { random_slots(state, 1); }
void large_slots(benchmark::State& state) { random_slots(state, 2); }

void zeroed(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    void* block = std::calloc(1, bytes);
    benchmark::DoNotOptimize(block);
    std::free(block);
  }
}

void realloc_in_place(benchmark::State& state) {
  void* block = std::malloc(100);
  std::size_t bytes = 100;
  for (auto _ : state) {
    bytes = 201 - bytes;  // 100 and 101 in turn.
    block = std::realloc(block, bytes);
    benchmark::DoNotOptimize(block);
  }
  std::free(block);
}

// S3.8's loops: fill a list of n nodes; freeing it is not timed.
template <class List, auto push>
void fill(benchmark::State& state) {
  for (auto _ : state) {
    List list;
    for (int i = 0; i < state.range(0); ++i) {
      (list.*push)(i);
    }
    benchmark::DoNotOptimize(list);
    state.PauseTiming();
    list.clear();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void forward_list_push(benchmark::State& state) {
  using List = std::forward_list<int>;
  fill<List, static_cast<void (List::*)(const int&)>(&List::push_front)>(state);
}

void list_push(benchmark::State& state) {
  using List = std::list<int>;
  fill<List, static_cast<void (List::*)(const int&)>(&List::push_back)>(state);
}

BENCHMARK(same_block)->Arg(32)->Arg(1000)->Arg(16000);
BENCHMARK(stack_of_64)->Arg(32)->Arg(1000);
BENCHMARK(small_slots)->Args({8192, 512});
BENCHMARK(large_slots)->Args({1024, 32767});
BENCHMARK(zeroed)->Arg(64)->Arg(8192);
BENCHMARK(realloc_in_place);
BENCHMARK(forward_list_push)->Arg(1000)->Arg(100000);
BENCHMARK(list_push)->Arg(1000)->Arg(100000);

}  // namespace
}  // namespace tarn

BENCHMARK_MAIN();
