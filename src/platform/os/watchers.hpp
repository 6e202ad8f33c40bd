// watchers: the contract for tools that watch memory while a program runs (AddressSanitizer,
// Valgrind's memcheck): which bytes nobody may touch, and which are a block of which pool. Where no
// such tool is there, all of this does nothing.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::os {

// True when such a tool watches the process. The answer does not change.
bool watched() noexcept;

// True when that tool looks at the memory that system calls are given, too (memcheck).
bool watches_calls() noexcept;

void watch_pool_begin(const void* pool) noexcept;
void watch_pool_end(const void* pool) noexcept;

// Marks bytes that must not be touched (poisoned), bytes that may be touched and have no contents,
// and bytes that may be touched and have contents.
void watch_close(const void* start, std::size_t bytes) noexcept;
void watch_open(const void* start, std::size_t bytes) noexcept;
void watch_leave(const void* start, std::size_t bytes) noexcept;

// Tells that a block of a pool begins or ends, in bytes that are otherwise poisoned.
void watch_allocated(const void* pool, const void* block, std::size_t bytes) noexcept;
void watch_freed(const void* pool, const void* block, std::size_t bytes) noexcept;

// An object that can say more about an address than the tool. Until it is removed, a tool that has
// found a wrong access asks it before it ends the process, if the tool can do that. explain()
// returns whether the address is the object's own.
struct Watched {
  Watched* next;
  Watched* prev;
  const void* owner;
  bool (*explain)(const void* owner, const void* address);
};
void watch_add(Watched* watched) noexcept;
void watch_remove(Watched* watched) noexcept;

// Has the tool's reports call the memory `kind "name"` until it is forgotten. The name may be null.
using WatchedName = std::uintptr_t;
WatchedName watch_name(const void* start, std::size_t bytes, const char* kind,
                       const char* name) noexcept;
void watch_forget(WatchedName name) noexcept;

// Has the tool report a wrong access to the address, as if the program had made it at `site`.
// Returns where the tool does not end the process.
void watch_report(const void* address, const void* site) noexcept;

}  // namespace tarn::os
