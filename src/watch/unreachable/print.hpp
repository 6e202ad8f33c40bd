// print: writes what a search has found, as text or as JSON.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "watch/unreachable/search.hpp"

namespace tarn {

// Writes to the file descriptor. flags: of enum tarn_unreachable_flag. Afterwards the blocks are in
// another order. False with errno set.
bool print(int file, Search& search, unsigned flags) noexcept;

}  // namespace tarn
