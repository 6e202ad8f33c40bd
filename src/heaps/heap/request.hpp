// request: a request to a heap and its outcome, and the free of a block.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/layout/size_class.hpp"
#include "engine/records/record.hpp"

namespace tarn {

struct Request {
  std::size_t bytes;
  std::size_t alignment = block_align;
  bool zero = false;
  const char* function;               // The public function that was called, for reports.
  const FixedClass* fixed = nullptr;  // Not null: a request for a block of this class.
  const void* site = nullptr;         // Return address of the public function, for reports.
  // The caller names no heap: if the heap has ended, the result is null, without a report.
  bool may_end = false;
  void* block = nullptr;  // A block to be resized, in a page of the heap.
  // The class of `block`. If the request is for the same class, `block` itself is the result.
  std::size_t block_class = 0;
};

enum class Outcome : std::uint8_t {
  done,
  again,    // The heap was held exclusively, or is no longer young: start again.
  refused,  // A ceiling refused it.
  out_of_memory,
  ended,  // The heap was destroyed meanwhile.
  frozen,
};

struct Attempt {
  Outcome outcome;
  void* block;
  HeapRecord* refused_by;
  bool zeroed = false;          // The block is known to read as zero.
  bool soft_marks_due = false;  // The callbacks of soft marks of the heap or its ancestors are due.
};

// A call by which a program ends or changes a block.
struct FreeCall {
  const char* function;           // The public function that was called, for reports.
  const void* site;               // Return address of the public function.
  std::size_t bytes = any_bytes;  // The size that the program says it asked for.
  static constexpr std::size_t any_bytes = SIZE_MAX;  // None said: no block has this size.
  static constexpr std::size_t said(std::size_t bytes) noexcept {
    return bytes == any_bytes ? bytes - 1 : bytes;
  }
};

}  // namespace tarn
