// xallocator TASK CONTESTANT NUMBER: runs one task (task.hpp) with one contestant in this process,
// and prints its figures. bench/xallocator calls it, and says whose malloc it is.
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>

#include "task.hpp"

namespace {

struct Task {
  std::string_view name;
  bool (*run)(std::string_view contestant, std::size_t number);
};
constexpr Task tasks[] = {
    {"bare", tarn::task_bare},
    {"used", tarn::task_used},
    {"own", tarn::task_own},
    {"own_two", tarn::task_own_two},
    {"handed", tarn::task_handed},
    {"pair", tarn::task_pair},
    {"containers", tarn::task_containers},
};

}  // namespace

int main(int argc, char** argv) {
  const std::size_t number = argc == 4 ? std::strtoul(argv[3], nullptr, 10) : 0;
  for (const Task& task : tasks) {
    if (number != 0 && task.name == argv[1] && task.run(argv[2], number)) return 0;
  }
  std::fputs("usage: xallocator TASK CONTESTANT NUMBER; see bench/xallocator_tasks/task.hpp\n",
             stderr);
  return 2;
}
