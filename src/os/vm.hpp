// vm: the contract for pages of memory. One folder per OS implements it; `fake` stands in for tests
// and fails when told to. Addresses and lengths are multiples of slice_bytes. Every function leaves
// errno alone and may be called from any thread.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace tarn::os {

// Fresh zero memory, readable and writable, not yet backed; null when the OS refuses.
void* vm_reserve(std::size_t bytes) noexcept;

// Gives address space back. False when the OS refuses (it may, at its limit of mappings): then the
// range is still the caller's.
bool vm_release(void* start, std::size_t bytes) noexcept;

// Drops the contents; the range stays usable and reads as zero. False: contents are as before.
bool vm_purge(void* start, std::size_t bytes) noexcept;

// Moves the contents of `from` to `to` without copying; `from` stays mapped and reads as zero.
// Both ranges are the caller's. False when the OS cannot: `from` is as before, `to` reads as zero.
bool vm_move(void* from, void* to, std::size_t bytes) noexcept;

// Shows `name` for the range in /proc/PID/maps where the kernel can. `name` must outlive the range.
void vm_name(void* start, std::size_t bytes, const char* name) noexcept;

}  // namespace tarn::os
