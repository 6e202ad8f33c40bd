// trim: gives back what is empty in one heap, in all heaps, or in the calling thread.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/records/record.hpp"

namespace tarn {

// As tarn_heap_trim().
std::size_t heap_trim(tarn_heap heap, std::size_t keep_bytes) noexcept;

// The calling thread will not allocate for a while: its empty pages go back to the store, and of
// the others the free of the last block gives the page back.
void thread_idle() noexcept;

// Gives free memory back to the OS until keep_bytes are left. Returns the bytes given.
std::size_t trim(std::size_t keep_bytes) noexcept;

// The machine is short of memory: gives all that is spare, and has owners make up what that lacks
// to an eighth of what is committed. pre: as RecoveryHooks::recover
void relieve_pressure() noexcept;

// Give spare memory of all heaps, or of one and its descendants, to the OS or to where it came
// from. Return the bytes. The first passes over heaps that another thread keeps locked; the second
// waits for them. pre: as RecoveryHooks::recover
std::size_t give_spare(std::size_t wanted) noexcept;
std::size_t give_spare_below(HeapRecord& top) noexcept;

}  // namespace tarn
