// empty_pages: gives empty pages of a heap, those of its other threads too, back to where they came
// from.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/records/record.hpp"

namespace tarn {

// How much of a heap stays committed: its floor, if `floor`, and at least `bytes`.
struct KeepEmpty {
  bool floor;
  std::size_t bytes;
};

// Gives the empty pages of one heap, which may have ended meanwhile, and leaves its exclusive
// section. Returns the bytes. *apart: whether they have not gone to the store. pre: held
// exclusively
std::size_t give_empty_pages_and_leave(HeapRecord& record, std::uint64_t id, KeepEmpty kept,
                                       bool* apart = nullptr) noexcept;

// As above, in an exclusive section that it enters; 0 where that would wait for ever. pre: as
// enter_exclusive()
std::size_t give_empty_pages(HeapRecord& record, std::uint64_t id, KeepEmpty kept) noexcept;

// Gives back the empty pages of the heap and its descendants. Returns the bytes. pre: the calling
// thread is not busy.
std::size_t heap_give_empty_pages(HeapRecord& record) noexcept;

}  // namespace tarn
