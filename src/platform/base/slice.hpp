// slice: the grain in which spans are cut, 4 KiB. It equals the OS page of every supported target;
// the process refuses to start where that is larger.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace tarn {

inline constexpr unsigned slice_shift = 12;
inline constexpr std::size_t slice_bytes = std::size_t{1} << slice_shift;

}  // namespace tarn
