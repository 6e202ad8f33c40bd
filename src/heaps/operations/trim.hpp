// trim: giving back what is empty: of one heap, of all, of the calling thread.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/records/record.hpp"

namespace tarn {

// As tarn_heap_trim().
std::size_t heap_trim(tarn_heap heap, std::size_t keep_bytes) noexcept;

// The calling thread will not allocate for a while: its empty pages go back to the store, and the
// others are such that whoever frees their last block gives them back.
void thread_idle() noexcept;

// Gives free memory back to the OS, down to keep_bytes. Returns the bytes given.
std::size_t trim(std::size_t keep_bytes) noexcept;

// The machine is short of memory: gives all that is spare, and has owners make up what that lacks
// to an eighth of what is committed. pre: as RecoveryHooks::recover
void relieve_pressure() noexcept;

// Gives spare memory of all heaps, or of one and those below it, to the OS or where it came from.
// Of all it passes over those that another thread keeps locked; for the one and those below it
// waits. Returns the bytes. pre: as RecoveryHooks::recover
std::size_t give_spare(std::size_t wanted) noexcept;
std::size_t give_spare_below(HeapRecord& top) noexcept;

}  // namespace tarn
