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

// Takes a span of kind large, charged and on the heap's list. Null when refused or out of memory;
// *failed says which. All spans of such heaps come from here.
Page* take_charged_span(HeapRecord& record, std::size_t slices, std::size_t alignment,
                        Attempt* failed) noexcept;
void give_charged_span(HeapRecord& record, Page* page) noexcept;

// Takes notes for so many places, in a span of their own; null when out of memory.
Note* take_notes(std::size_t count) noexcept;

// Makes a place free for the next block, and gives its span back when that is empty then.
void free_place(HeapRecord& record, Page* page, const Place& place) noexcept;
void give_checked(HeapRecord& record, Page* page) noexcept;  // pre: no place is in use

// Take the span and its notes off the heap, and put them in front of the chain. pre: the span is on
// no list of the heap
Span* chain_checked(Page* page, Span* chain) noexcept;
Span* chain_lone(Page* page, Span* chain) noexcept;

}  // namespace tarn
