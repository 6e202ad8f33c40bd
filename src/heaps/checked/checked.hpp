// checked: blocks with a canary behind them. The record's lock is held.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/record.hpp"
#include "heaps/heap/request.hpp"

namespace tarn {

// From lists of one size, or a span of its own.
Attempt checked_allocate(HeapRecord& record, const Request& request) noexcept;
Attempt lone_allocate(HeapRecord& record, const Request& request) noexcept;

}  // namespace tarn
