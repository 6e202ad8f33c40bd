// reclaimers: owners that give memory when they are asked. tarn/heap/recover.h says what the public
// functions promise.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "heaps/heap/recovery.hpp"
#include "tarn/heap/recover.h"

namespace tarn {

// Puts a reclaimer on the list. False with EBUSY when it is there already. pre: the options have
// been checked
bool register_reclaimer(tarn_reclaimer* reclaimer, const tarn_reclaimer_options& options) noexcept;

// Asks owners in the scope until they have given `wanted` bytes. Returns the bytes. pre: no lock is
// held
std::size_t ask_owners(const RecoveryScope& scope, std::size_t wanted) noexcept;

// The part of RecoveryHooks::repair that is about reclaimers.
void repair_reclaimers() noexcept;

}  // namespace tarn
