// modules: where an address lies, as the maps of /proc tell.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "platform/os/linux/lines.hpp"

namespace tarn::os {

struct ModulePlace {
  char line[line_bytes];  // A line of /proc/PID/maps, ...
  const char* path;       // ... in it the path of the module's file, ...
  std::uintptr_t offset;  // ... and how far from its module's first byte the address is.
};

// False when it lies in no file's mapping.
bool find_place(const void* address, ModulePlace* place) noexcept;

}  // namespace tarn::os
