// purgeables: blocks that may vanish. tarn/heap/recover.h says what the public functions promise.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "heaps/heap/recovery.hpp"
#include "tarn/heap/recover.h"

namespace tarn {

// Registers a purgeable, with its block if there is one already. False with errno EBUSY when it is
// registered, and EINVAL when its heap has ended.
bool register_purgeable(tarn_purgeable* purgeable, const tarn_heap& heap, std::size_t bytes,
                        void* block) noexcept;

// Lets blocks in the scope vanish until `wanted` bytes have. Returns the bytes. pre: no lock is
// held
std::size_t purge_blocks(const RecoveryScope& scope, std::size_t wanted) noexcept;

// The parts of RecoveryHooks::blocks_end and RecoveryHooks::repair that are about purgeables.
void purgeables_end(HeapRecord& record, bool deleted) noexcept;
void repair_purgeables(HeapRecord& record) noexcept;

}  // namespace tarn
