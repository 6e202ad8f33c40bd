// process_usage: what the kernel says this process has used, and on which malloc it runs.
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

// The file that the process's malloc comes from: "libtarn.so", "libc.so.6", "lists" if static.
std::string malloc_name();

}  // namespace lists
