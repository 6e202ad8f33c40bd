// cgroup: a control group of the kernel that limits the memory of one child process, in version 1
// (one mount for each controller) or version 2 (one mount). It is removed with the object.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lists {

// The place of this process in the tree of control groups that has the memory controller.
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
  // Throws Lacking. Removes groups that earlier runs left when they were killed.
  explicit MemoryCgroup(std::uint64_t limit_bytes);
  ~MemoryCgroup();
  MemoryCgroup(const MemoryCgroup&) = delete;
  MemoryCgroup& operator=(const MemoryCgroup&) = delete;

  // For the child, between fork and exec: moves the calling process into the group. Allocates
  // nothing.
  bool enter() const noexcept;

  // To be called every millisecond or so. Under a limit near the size of the data, where all pages
  // have just been used, version 1 gives up on memory that it could still swap out. In this group
  // that stops the child instead of killing it, and this function lets it go on, with some pages
  // swapped out. False if that cannot be done.
  bool relieve() const;

 private:
  std::uint64_t limit_bytes_;
  std::string limit_file_;
  std::string oom_file_;  // Empty in version 2, which has no such file.
  std::string folder_;
  std::string procs_file_;
};

}  // namespace lists
