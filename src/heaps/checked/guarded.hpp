// guarded: each block lies at the end of OS pages of its own, before an inaccessible one. From its
// free on none of its bytes can be reached, until it leaves the quarantine. The record's lock is
// held.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/record.hpp"
#include "heaps/heap/request.hpp"

namespace tarn {

// Allocates a guarded block. Where none can be had, a block as of checked_allocate().
Attempt guarded_allocate(HeapRecord& record, const Request& request) noexcept;

// From now on a fault at such a block is explained, before the program's own handler has it: the
// block, its heap, where it was allocated and freed, and the instruction.
void explain_guarded() noexcept;

}  // namespace tarn
