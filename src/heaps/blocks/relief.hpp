// relief: makes room for a request that a heap could not serve. It gives empty pages, asks the
// program's callback, and then the owners that can give memory back.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/records/record.hpp"
#include "heaps/heap/recovery.hpp"

namespace tarn {

// A request that a heap could not serve.
struct UnmetRequest {
  HeapRecord& record;
  std::uint64_t id;
  std::size_t bytes;
};

// Makes room under the ceiling of scope.top, or in its zone; false when there is none to be had.
// tries: how often that was done for this request. pre: no lock held, not busy
bool relieve_ceiling(const UnmetRequest& unmet, const RecoveryScope& scope, int tries) noexcept;

// The same for a heap that found no memory.
bool relieve_memory(const UnmetRequest& unmet, int tries) noexcept;

}  // namespace tarn
