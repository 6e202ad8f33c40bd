// collect: empty pages of a heap, those of its other threads too, go back to where they came from.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/records/record.hpp"

namespace tarn {

// What of a heap's empty pages is to stay.
struct KeepEmpty {
  bool floor;
  std::size_t bytes;
};

// The empty pages of one heap, which may have ended meanwhile. Returns the bytes; *apart: whether
// they have not gone to the store. pre: held exclusively, and opened here
std::size_t give_empty_pages_and_leave(HeapRecord& record, std::uint64_t id, KeepEmpty kept,
                             bool* apart = nullptr) noexcept;

// As above, and closes the heap; 0 where that would wait for ever. pre: as enter_exclusive()
std::size_t give_empty_pages(HeapRecord& record, std::uint64_t id, KeepEmpty kept) noexcept;

// Gives back the empty pages of the heap and its descendants. Returns the bytes. pre: the calling
// thread is not busy.
std::size_t heap_give_empty_pages(HeapRecord& record) noexcept;

}  // namespace tarn
