// Two small programs within the program.
//
// containers: what C++ code asks of operator new: node containers, strings and vectors that are
// filled, looked up, copied and dropped. startup: this executable started over and over with
// nothing to do, as shells and build systems start programs: what a library costs before main and
// after exit.
//
// SPDX-License-Identifier: MIT
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "block.hpp"
#include "random.hpp"
#include "workload.hpp"

namespace tarn {
namespace {

struct Entry {
  std::string name;
  std::vector<std::uint32_t> places;
  std::unique_ptr<Entry> former;
};

std::string word(Random& random) {
  return "word-" + std::to_string(random.below(50000)) + "-of-a-text";
}

std::uint64_t index_text(Random& random) {
  std::unordered_map<std::string, Entry> index;
  std::map<std::uint64_t, std::string> by_place;
  for (std::uint32_t place = 0; place < 40000; ++place) {
    std::string name = word(random);
    Entry& entry = index[name];
    entry.name = name;
    entry.places.push_back(place);
    if (entry.places.size() % 4 == 0) {
      auto former = std::make_unique<Entry>(Entry{name, entry.places, std::move(entry.former)});
      entry.former = std::move(former);
    }
    by_place.emplace(random.next() >> 20, std::move(name));
    if (by_place.size() > 10000) {
      by_place.erase(by_place.begin());
    }
  }
  std::uint64_t sum = 0;
  for (const auto& [place, name] : by_place) {
    sum += place % 7 + index[name].places.size();
  }
  return sum + index.size();
}

}  // namespace

std::uint64_t run_containers(const Request& request) {
  Random random(77);
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < request.size; ++round) {
    sum += index_text(random);
  }
  return sum;
}

std::uint64_t run_startup(const Request& request) {
  // Not the link itself: under a tool such as valgrind it leads elsewhere.
  std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  std::string nothing = "nothing";
  char* arguments[] = {self.data(), nothing.data(), nullptr};
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < request.size; ++i) {
    pid_t child = 0;
    int status = 0;
    if (posix_spawn(&child, self.c_str(), nullptr, nullptr, arguments, environ) != 0 ||
        waitpid(child, &status, 0) != child || status != 0) {
      fail("a child did not start or did not exit 0");
    }
    sum += 1;
  }
  return sum;
}

}  // namespace tarn
