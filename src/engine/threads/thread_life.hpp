// thread_life: the beginning and the end of a thread's use of the library.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/thread.hpp"

namespace tarn {

// The calling thread's record, made or adopted when it has none; null when out of memory.
Thread* thread_start() noexcept;

}  // namespace tarn
