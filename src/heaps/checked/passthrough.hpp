// passthrough: blocks of the system's malloc that are a heap's. Tools that watch malloc see each of
// them; tarn knows them from a table by address, because no span leads to them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "heaps/checked/notes.hpp"
#include "heaps/checked/places.hpp"
#include "heaps/heap/request.hpp"

namespace tarn {

// The calling thread is inside the heap (Visit).
Attempt passthrough_allocate(HeapRecord& record, const Request& request) noexcept;

// The heap of a block of the system's malloc; null when it is no heap's. `bytes`: its size.
HeapRecord* passthrough_record(const void* p, std::size_t* bytes) noexcept;

// False, and nothing done, when p is no such block. *ended: its heap, if that was deleted and has
// no other block.
bool passthrough_free(void* p, const FreeCall& given, HeapRecord** ended) noexcept;

// Resizes the block by the system's realloc. Null when a ceiling or the system refuses; nothing has
// changed then.
void* passthrough_resize(void* p, std::size_t bytes, const FreeCall& given) noexcept;

// Gives back a block of the system's malloc that is on no list of its heap any more.
void passthrough_drop(LoneNote& note) noexcept;

// Gives the table back when no heap has such a block any more.
void passthrough_give_table() noexcept;

// In the child of a fork, before the heaps are repaired, and for each live block of one that is: a
// vanished thread may have been between its note and the table.
void passthrough_recover_after_fork() noexcept;
void passthrough_restore(LoneNote& note) noexcept;

}  // namespace tarn
