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

}  // namespace tarn
