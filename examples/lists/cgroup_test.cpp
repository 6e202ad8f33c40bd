// cgroup_test: finding the place of a process in the tree of control groups, on texts as kernels
// write them: version 1, version 2, both at once, and inside a container.
//
// SPDX-License-Identifier: MIT
#include "cgroup.hpp"

#include <cstdio>

namespace {

int failures = 0;

void expect(const char* what, const std::string& actual, const std::string& expected) {
  if (actual == expected) return;
  std::fprintf(stderr, "%s: '%s', expected '%s'\n", what, actual.c_str(), expected.c_str());
  ++failures;
}

void expect_place(const char* what, const lists::CgroupPlace& place, const std::string& expected) {
  expect(what, std::to_string(place.version) + " " + place.mount + " " + place.own, expected);
}

const std::string unrelated = "22 1 0:20 / /proc rw,nosuid shared:1 - proc proc rw\n";
const std::string version_2 =
    "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
const std::string hybrid =
    "31 24 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    "32 24 0:28 / /sys/fs/cgroup/memory rw shared:8 - cgroup cgroup rw,memory\n"
    "33 24 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
const std::string in_container =
    "32 24 0:28 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";

void test_places() {
  using lists::find_cgroup;
  expect_place("nothing mounted", find_cgroup(unrelated, "0::/\n"), "0  ");
  expect_place("version 2", find_cgroup(unrelated + version_2, "0::/user.slice/s.scope\n"),
               "2 /sys/fs/cgroup /sys/fs/cgroup/user.slice/s.scope");
  expect_place("version 2, root", find_cgroup(version_2, "0::/\n"),
               "2 /sys/fs/cgroup /sys/fs/cgroup");
  expect_place("hybrid", find_cgroup(unrelated + hybrid, "4:cpu:/x\n3:memory:/jobs/7\n0::/y\n"),
               "1 /sys/fs/cgroup/memory /sys/fs/cgroup/memory/jobs/7");
  expect_place("several controllers", find_cgroup(hybrid, "3:cpu,memory:/jobs\n"),
               "1 /sys/fs/cgroup/memory /sys/fs/cgroup/memory/jobs");
  expect_place("container", find_cgroup(in_container, "3:memory:/docker/abc/job\n"),
               "1 /sys/fs/cgroup/memory /sys/fs/cgroup/memory/job");
  expect_place("own group outside", find_cgroup(version_2, "0::/../other\n"),
               "2 /sys/fs/cgroup /sys/fs/cgroup");
}

void test_folders_upwards() {
  std::string joined;
  for (const std::string& folder : lists::folders_upwards({2, "/c", "/c/a/b"})) {
    joined += folder + " ";
  }
  expect("folders upwards", joined, "/c/a/b /c/a /c ");
}

}  // namespace

int main() {
  test_places();
  test_folders_upwards();
  return failures == 0 ? 0 : 1;
}
