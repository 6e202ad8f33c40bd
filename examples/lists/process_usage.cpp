// process_usage: see process_usage.hpp.
//
// SPDX-License-Identifier: MIT
#include "process_usage.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <sys/resource.h>

namespace lists {

ProcessUsage process_usage() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {static_cast<std::uint64_t>(usage.ru_maxrss) * 1024,
          static_cast<std::uint64_t>(usage.ru_minflt), static_cast<std::uint64_t>(usage.ru_majflt)};
}

std::string malloc_name() {
  // The address in the executable may be a PLT entry's; the dynamic linker knows the real one.
  void* const address = dlsym(RTLD_DEFAULT, "malloc");
  Dl_info info{};
  if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    return "unknown";
  }
  const std::string file = info.dli_fname;
  return file.substr(file.rfind('/') + 1);
}

}  // namespace lists
