// trees TASK CONTESTANT SHAPE SIZE NODES: runs one task (tasks.hpp) once with the trees of one
// contestant and prints its figures. bench/trees calls it, many times and in turn.
//
//   life         builds and disposes of a tree: plan.hpp has shapes and sizes
//   destructors  the same, with a destructor for each node
//   steal        moves nodes from one parent to another one and back; SHAPE is random
//   count, count_destructors   what callgrind is to count
//   names        of contestants
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <tuple>

#include "tasks.hpp"
#include TARN_BENCH_TREE_PEERS

namespace tarn {
namespace {

using EveryContestant = decltype(std::tuple_cat(TarnTrees{}, Peers{}));

template <class Contestant>
bool run_task(std::string_view task, const Plan& plan) {
  if (task == "life") {
    life<Contestant>(plan, nullptr);
  } else if (task == "destructors") {
    life<Contestant>(plan, count_end);
  } else if (task == "steal") {
    steal<Contestant>(plan);
  } else if (task == "count" || task == "count_destructors") {
    count<Contestant>(plan, task == "count" ? nullptr : count_end);
  } else {
    return false;
  }
  return true;
}

template <class... Contestant>
bool run_with(std::tuple<Contestant...>, std::string_view name, std::string_view task,
              const Plan& plan) {
  return ((name == Contestant::name && run_task<Contestant>(task, plan)) || ...);
}

template <class... Contestant>
void print_names(std::tuple<Contestant...>) {
  (std::puts(Contestant::name), ...);
}

int run(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "names") {
    print_names(EveryContestant{});
    return 0;
  }
  if (argc != 6) {
    std::fputs("usage: trees TASK CONTESTANT SHAPE SIZE NODES; see main.cpp\n", stderr);
    return 2;
  }
  const std::size_t nodes = std::strtoul(argv[5], nullptr, 10);
  must(nodes > 0 && nodes < std::size_t{1} << 31, "NODES is a number above 0");
  const Plan plan(argv[3], argv[4], nodes);
  if (run_with(EveryContestant{}, argv[2], argv[1], plan)) return 0;
  std::fprintf(stderr, "trees: no task %s for a contestant %s\n", argv[1], argv[2]);
  return 2;
}

}  // namespace
}  // namespace tarn

int main(int argc, char** argv) { return tarn::run(argc, argv); }
