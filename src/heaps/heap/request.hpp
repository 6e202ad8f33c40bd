// request: what is asked of a heap, and how it went.
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
  const char* function;  // Of the caller, for reports.
  const FixedClass* fixed = nullptr;  // Blocks of one size.
  const void* site = nullptr;  // Return address of the public function, for reports.
  bool may_end = false;  // The caller names no heap: when it has ended, null and no report.
  void* block = nullptr;  // To be resized, in a page of the heap: if the class of the request is
  std::size_t block_class = 0;  // this one, its own, it is what comes back.
};

enum class Outcome : std::uint8_t {
  done,
  again,          // The heap was closed, or is no longer young: from the start.
  refused,        // By a ceiling.
  out_of_memory,
  ended,          // The heap was destroyed meanwhile.
  frozen,
};

struct Attempt {
  Outcome outcome;
  void* block;
  HeapRecord* refused_by;
  bool zeroed = false;  // The block is known to read as zero.
  bool soft_marks_due = false;  // Soft marks of the heap or its ancestors are to be called.
};

}  // namespace tarn
