// cgroup: a control group of the kernel that limits the memory of one child process, in version 1
// (one mount per controller) or version 2 (one mount). It is removed with the object.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lists {

// Where this process stands in the tree of control groups that has the memory controller.
struct CgroupPlace {
  int version = 0;    // 1, 2, or 0 where there is none.
  std::string mount;  // The root of the tree.
  std::string own;    // The folder of this process's own group, at or below `mount`.
};

// Reads the texts of /proc/self/mountinfo and /proc/self/cgroup.
CgroupPlace find_cgroup(const std::string& mountinfo, const std::string& self_cgroup);

// `own` and the folders above it up to `mount`, from the inside out.
std::vector<std::string> folders_upwards(const CgroupPlace& place);

class MemoryCgroup {
 public:
  // Throws Lacking. Removes groups that earlier runs, since killed, have left.
  explicit MemoryCgroup(std::uint64_t limit_bytes);
  ~MemoryCgroup();
  MemoryCgroup(const MemoryCgroup&) = delete;
  MemoryCgroup& operator=(const MemoryCgroup&) = delete;

  // For the child, between fork and exec: moves the calling process in. No memory is allocated.
  bool enter() const noexcept;

  // To be called every millisecond or so: under a limit near the size of the data, where all pages
  // have just been used, version 1 takes what it could still swap for the end of memory. Here that
  // stops the child instead of killing it, and this sets it going again, with some pages swapped
  // out. False if that cannot be done.
  bool relieve() const;

 private:
  std::uint64_t limit_bytes_;
  std::string limit_file_;
  std::string oom_file_;  // Empty in version 2, which cannot stop a child so.
  std::string folder_;
  std::string procs_file_;
};

}  // namespace lists
