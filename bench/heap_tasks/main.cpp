// heaps TASK MAKER LIBRARY [NUMBER...]: runs one task (task.hpp) once with the heaps of one maker
// (maker.hpp) and prints its figures. bench/heaps calls it, many times and in turn.
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "task.hpp"

namespace tarn {

std::uint64_t Request::number(int at, std::uint64_t otherwise) const {
  return numbers[at] != nullptr ? std::strtoull(numbers[at], nullptr, 10) : otherwise;
}

std::string_view Request::word(int at, std::string_view otherwise) const {
  return numbers[at] != nullptr ? numbers[at] : otherwise;
}

namespace {

struct Task {
  const char* name;
  bool (*body)(const Request&);
};

constexpr Task tasks[] = {
    {"create", task_create}, {"many", task_many},       {"destroy", task_destroy},
    {"speed", task_speed},   {"scaling", task_scaling}, {"swapped", task_swapped},
    {"pages", task_pages},   {"holes", task_holes},     {"traverse", task_traverse},
    {"drop", task_drop},     {"tables", task_tables},   {"equilibrium", task_equilibrium},
};

int run(int argc, char** argv) {
  if (argc < 4 || argc > 8) {
    std::fputs("usage: heaps TASK MAKER LIBRARY [NUMBER...]; see task.hpp\n", stderr);
    return 2;
  }
  Request request{argv[2], argv[3], {}};
  for (int at = 4; at < argc; ++at) request.numbers[at - 4] = argv[at];
  for (const Task& task : tasks) {
    if (std::strcmp(task.name, argv[1]) != 0) continue;
    if (task.body(request)) return 0;
    std::fprintf(stderr, "heaps: %s does not run with %s\n", argv[1], argv[2]);
    return 2;
  }
  std::fprintf(stderr, "heaps: no task is called %s\n", argv[1]);
  return 2;
}

}  // namespace
}  // namespace tarn

int main(int argc, char** argv) { return tarn::run(argc, argv); }
