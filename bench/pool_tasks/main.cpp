// pools TASK TURN SIZE_MAX [CONTESTANT...]: runs one task (task.hpp) with all contestants
// (contestants.hpp), or with those that are named, beginning with another one each turn, and prints
// its figures. bench/pools calls it, many times.
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "contestants.hpp"
#include "task.hpp"

namespace tarn {
namespace {

struct Task {
  const char* name;
  void (*run)(const Request&);
};

struct Name {
  template <class Contestant>
  void run() const {
    print("names", 0, Contestant::name, {{"frees", Contestant::frees}});
  }
};

void task_names(const Request& request) { in_turn<EveryListContestant>(request, Name{}); }

constexpr Task tasks[] = {
    {"names", task_names},
    {"growth", task_growth},
    {"malloc", task_malloc},
    {"scattered", task_scattered},
    {"slots", task_slots},
    {"destroy", task_destroy},
    {"destroy_peer", task_destroy_peer},
    {"initialise", task_initialise},
    {"story", task_story},
    {"story_clean", task_story_clean},
    {"count_growth", count_growth},
    {"count_slots", count_slots},
};

int run(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: pools TASK TURN SIZE_MAX [CONTESTANT...]; see task.hpp\n", stderr);
    return 2;
  }
  Request request;
  request.turn = std::strtoul(argv[2], nullptr, 10);
  request.size_max = std::strtoul(argv[3], nullptr, 10);
  request.only.assign(argv + 4, argv + argc);
  for (const Task& task : tasks) {
    if (std::strcmp(task.name, argv[1]) != 0) continue;
    task.run(request);
    return 0;
  }
  std::fprintf(stderr, "pools: no task is called %s\n", argv[1]);
  return 2;
}

}  // namespace
}  // namespace tarn

int main(int argc, char** argv) { return tarn::run(argc, argv); }
