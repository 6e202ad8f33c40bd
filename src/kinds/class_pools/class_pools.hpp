// class_pools: how the functions of tarn/pool/class_pools.h and of xalloc report a pointer that is
// no live block.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kinds/class_pools/blocks.hpp"

namespace tarn {

// For reports: the public function that was called, and the place in the program that called it.
struct Caller {
  const char* function;
  const void* here;
};

[[noreturn]] void report_wrong(const tarn_class_pools& pools, const Found& found, const void* p,
                               Caller caller) noexcept;

}  // namespace tarn
