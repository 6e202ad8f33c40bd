// purgeables: blocks that may vanish. tarn/heap/recover.h says what its functions promise.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "heaps/heap/recovery.hpp"
#include "tarn/heap/recover.h"

namespace tarn {

// Registers a purgeable, with its block if that is there already. False with errno: EBUSY, it is
// registered; EINVAL, its heap has ended.
bool register_purgeable(tarn_purgeable* purgeable, const tarn_heap& heap, std::size_t bytes,
                        void* block) noexcept;

// Has blocks in the scope vanish, until `wanted` bytes have. Returns the bytes. No lock held.
std::size_t purge_blocks(const RecoveryScope& scope, std::size_t wanted) noexcept;

// RecoveryHooks::blocks_end, and the part of RecoveryHooks::repair that is about purgeables.
void purgeables_end(HeapRecord& record, bool deleted) noexcept;
void repair_purgeables(HeapRecord& record) noexcept;

}  // namespace tarn
