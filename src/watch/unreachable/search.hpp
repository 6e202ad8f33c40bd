// search: a whole search, from the locks and the standstill of the threads to a list of what was
// found, which outlasts both.
//
// Lock order: searching, registered roots, scratch, registry, store. While threads stand still, no
// lock is waited for.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "heaps/blocks/lookup.hpp"
#include "platform/base/check.hpp"
#include "platform/standstill/standstill.hpp"
#include "tarn/diagnose/unreachable.h"
#include "watch/unreachable/mark.hpp"
#include "watch/unreachable/scratch.hpp"

namespace tarn {

// A heap as it was when the threads stood still.
struct SeenHeap {
  HeapRecord* record;
  std::uint64_t id;
  char name[TARN_HEAP_NAME_BYTES];
};

// A block that nothing reaches.
struct Lost {
  std::byte* start;
  std::size_t bytes;
  const void* site;    // Where it was allocated, or null.
  std::uint32_t heap;  // The number of its heap among those that were seen.
  bool is_direct;      // No other unreachable block leads to it.
};

class Search {
 public:
  // Makes the search. False with errno set. self: the calling thread, as the caller of the library
  // left it.
  bool run(const tarn_unreachable_options& options, const os::Standing& self) noexcept;

  const Lost* begin() const noexcept { return lost_; }
  const Lost* end() const noexcept { return lost_ + lost_count_; }
  Lost* begin() noexcept { return lost_; }
  Lost* end() noexcept { return lost_ + lost_count_; }
  const SeenHeap& heap_of(const Lost& lost) const noexcept {
    TARN_ASSERT(lost.heap < heap_count_);
    return heaps_[lost.heap];
  }
  const tarn_unreachable_result& result() const noexcept { return result_; }
  Scratch& scratch() noexcept { return scratch_; }

 private:
  bool run_held(const tarn_unreachable_options& options, const os::Standing& self) noexcept;
  bool look(const tarn_unreachable_options& options, const os::Standing& self) noexcept;
  bool list_heaps(BlockIndex& index, const tarn_unreachable_options& options) noexcept;
  bool list_lost(const BlockIndex& index, const Mark& mark) noexcept;
  // Whether the totals agree with each other and with the list.
  bool check() const noexcept {
    return result_.blocks == lost_count_ && result_.direct_blocks <= result_.blocks &&
           result_.direct_bytes <= result_.block_bytes && result_.blocks <= result_.live_blocks;
  }
  std::uint32_t number_of(const HeapRecord* record) const noexcept;

  Scratch scratch_;
  os::Standstill standstill_;
  SeenHeap* heaps_ = nullptr;
  std::uint32_t heap_count_ = 0;
  Lost* lost_ = nullptr;
  std::size_t lost_count_ = 0;
  tarn_unreachable_result result_{};
};

// Completes options that may be null: fills in the defaults. False with errno set when they make no
// sense. Reports a heap that has ended.
bool complete_options(const tarn_unreachable_options* given, const char* function,
                      tarn_unreachable_options* to) noexcept;

}  // namespace tarn
