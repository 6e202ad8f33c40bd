// pressure: the contract for being told that memory is short. Nothing here allocates.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace tarn::os {

// Opens a descriptor that is ready for POLLPRI whenever threads have waited for memory for
// `stall_us` within `window_us`: threads of the process's cgroup, where it has one that counts
// memory, else of the machine. -1 with errno set when the OS offers no such thing, or not to this
// process.
int pressure_open(unsigned stall_us, unsigned window_us) noexcept;

// Waits for at most `timeout_ms` (-1: for ever) until the descriptor is ready. 1: it is; 0: it is
// not; -1 with errno set: it cannot be waited for.
int pressure_wait(int descriptor, int timeout_ms) noexcept;

}  // namespace tarn::os
