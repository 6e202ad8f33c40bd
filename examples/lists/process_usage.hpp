// process_usage: what this process has used according to the kernel, and which malloc it runs on.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace lists {

struct ProcessUsage {
  std::uint64_t peak_rss_bytes = 0;
  std::uint64_t faults_minor = 0;
  std::uint64_t faults_major = 0;  // Those that had to wait for a disk: paging.
};

ProcessUsage process_usage();

// The file that contains the process's malloc: "libtarn.so", "libc.so.6", or "lists" if it is
// linked statically.
std::string malloc_name();

}  // namespace lists
