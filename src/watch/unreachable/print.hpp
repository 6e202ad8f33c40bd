// print: what a search has found, for people or for programs.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "watch/unreachable/search.hpp"

namespace tarn {

// To the file descriptor; flags: of enum tarn_unreachable_flag. The blocks are in another order
// afterwards. False with errno set.
bool print(int file, Search& search, unsigned flags) noexcept;

}  // namespace tarn
