// checked_span: the spans of blocks that are checked, and the notes beside them. The record's lock
// is held throughout.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/records/record.hpp"
#include "heaps/checked/notes.hpp"
#include "heaps/checked/places.hpp"
#include "heaps/heap/request.hpp"

namespace tarn {

// Charged and on the heap's list, of kind large; null when refused or out of memory: then *failed
// says which. One place, so that a heap's spans can come from somewhere else.
Page* take_charged_span(HeapRecord& record, std::size_t slices, std::size_t alignment,
                        Attempt* failed) noexcept;
void give_charged_span(HeapRecord& record, Page* page) noexcept;

// Notes of places, in a span of their own; null when out of memory.
Note* take_notes(std::size_t count) noexcept;

// A place can be used again, or its span goes.
void free_place(HeapRecord& record, Page* page, const Place& place) noexcept;
void give_checked(HeapRecord& record, Page* page) noexcept;  // An empty one.

// The span and its notes, no longer the heap's nor on its list, in front of the chain.
Span* chain_checked(Page* page, Span* chain) noexcept;
Span* chain_lone(Page* page, Span* chain) noexcept;

}  // namespace tarn
