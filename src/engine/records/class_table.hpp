// class_table: a heap with a table serves requests from the table's classes alone. These are the
// first of the heap's own classes, in order of size:
//
//   table           |   32   |     64      |          144           |
//   own class       |   0    |      1      |           2            |      larger: large blocks
//   current[entry]  | 0 1 2  |    3   4    |     5  6  7  8  9      | 10 ... : the empty page
//
// Hits look into ThreadHeap::current as they do in any heap, so a page that becomes current for a
// class stands in all entries of the class, and leaves all of them (set_current).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/records/record.hpp"
#include "engine/records/thread.hpp"

namespace tarn {

// 0, or the errno value for options whose table cannot be one.
int class_table_error(const tarn_heap_options& options) noexcept;

// The smallest class of the table whose blocks hold `bytes` and lie at multiples of `alignment`;
// no_class when there is none. pre: the heap has a table; alignment is a power of two of at most
// slice_bytes
std::size_t table_class_of(HeapRecord& record, std::size_t bytes, std::size_t alignment) noexcept;

// The entries of ThreadHeap::current that hold pages of a class of the heap's own. None for a class
// that is not of the heap's table, or that serves no common class.
Entries table_entries(HeapRecord& record, std::size_t size_class) noexcept;

}  // namespace tarn
