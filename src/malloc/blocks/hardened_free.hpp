// hardened_free: ends a block of a hardened heap.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/thread.hpp"
#include "heaps/heap/request.hpp"

namespace tarn {

// The block is held back, and one that was goes to its page. Reports what is wrong with the block.
// pre: the page is one of a hardened heap, and p the start of a block there
void hardened_free(Page& page, void* p, Said said, const void* site) noexcept;

}  // namespace tarn
