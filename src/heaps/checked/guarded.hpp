// guarded: each block at the end of OS pages of its own, an inaccessible one behind it. After its
// end no byte can be reached, until it leaves the quarantine. The record's lock is held.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/record.hpp"
#include "heaps/heap/request.hpp"

namespace tarn {

// As checked_allocate when it cannot be guarded.
Attempt guarded_allocate(HeapRecord& record, const Request& request) noexcept;

}  // namespace tarn
