// misuse: what the program did with memory that it must not do, told without allocating
// (tarn/diagnose/misuse.h has what the program's own function gets of it). Then the process ends.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/report/report.hpp"
#include "tarn/diagnose/misuse.h"

namespace tarn {

enum class Misuse : std::uint8_t {
  invalid_free,
  double_free,
  invalid_pointer,
  overrun,
  use_after_free,
  size_mismatch,
  mismatched_free,
  alignment_mismatch,
  underrun,
};

// Prints "tarn: <kind>: ..." with what the caller asked for (a function's name), and aborts.
[[noreturn]] void report_misuse(Misuse kind, const char* function, const void* p) noexcept;

// As above, of what has words of its own: `tarn: KIND: TEXT`.
[[noreturn]] void report_other_misuse(const char* kind, const char* function, const void* p,
                                      const Line& text) noexcept;

// As above, of what lies in a heap's pages and is no live block.
[[noreturn]] void report_misuse_in(Misuse kind, const char* function, const void* p,
                                   const char* heap_name, std::uint64_t heap_id) noexcept;

// Prints that the list of freed blocks of so many bytes leads to p, which is none, and aborts.
[[noreturn]] void report_broken_list(std::size_t block_bytes, const void* p) noexcept;

// Prints that a block is freed with another size than it has, as far as is known, and aborts.
[[noreturn]] void report_wrong_size(const char* function, const void* p, std::size_t said_bytes,
                                    std::size_t bytes) noexcept;

// What is known of the block at which p points, or in which it lies.
struct BlockReport {
  Misuse kind = Misuse::invalid_free;
  const char* function = nullptr;
  const void* p = nullptr;         // Overrun, use after free: the first byte that was written.
  const void* start = nullptr;     // The first byte of the block.
  std::size_t bytes = 0;           // The bytes that were asked for.
  std::size_t said_bytes = 0;      // Size mismatch: the bytes that the program says.
  const char* expected = nullptr;  // Mismatched free: the function that is to free the block.
  std::size_t alignment = 0;       // Alignment mismatch: that which was asked for,
  std::size_t said_alignment = 0;  // and that which the program says.
  const char* heap_name = nullptr;
  std::uint64_t heap_id = 0;           // 0: the heap was deleted.
  const void* allocated_at = nullptr;  // Null: not known, as for the next two.
  const void* freed_at = nullptr;
  const void* here = nullptr;  // The call that freed the block, if one did.
};

// As report_misuse(), with what is known of the block.
[[noreturn]] void report_block_misuse(const BlockReport& report) noexcept;
// Prints what is known of a block where a fault was (overrun, use after free), by `function`: "a
// write".
void explain_block_fault(const BlockReport& report) noexcept;

// Likewise, for a block of a pool or an arena, or for a pointer that is none: `bytes` is 0 then.
struct OwnerReport {
  Misuse kind = Misuse::invalid_free;
  const char* function = nullptr;
  const void* p = nullptr;      // Overrun, use after free: the first byte that was written.
  const void* start = nullptr;  // The first byte of the block; null: none is known.
  std::size_t bytes = 0;
  const char* owner_kind = "pool";
  const char* owner_name = nullptr;  // May be null.
  const void* owner = nullptr;
  const void* allocated_at = nullptr;
  const void* freed_at = nullptr;
  const void* here = nullptr;
};
[[noreturn]] void report_owner_misuse(const OwnerReport& report) noexcept;
// Prints the same and does not end the process, so that a tool can say more.
void print_owner_misuse(const OwnerReport& report) noexcept;

// As above, for a mark that is not the arena's own.
[[noreturn]] void report_invalid_mark(const OwnerReport& report) noexcept;

// Says in one line what lies at an address of a pool or an arena where a fault was found: a block,
// live or free, or no block any more.
void explain_owner_address(const OwnerReport& block, bool live) noexcept;

// A source gave a chunk that is not what it was asked for.
[[noreturn]] void report_chunk(const void* data, std::size_t granted_bytes, std::size_t bytes,
                               std::size_t alignment) noexcept;

// As above, for a call for a heap that has been destroyed. name: "" when it is not known.
[[noreturn]] void report_ended_heap(const char* function, const char* name,
                                    std::uint64_t id) noexcept;

// As above, for a block that is freed after the heap of that name was destroyed.
[[noreturn]] void report_late_free(const char* function, const void* p, const char* name,
                                   std::uint64_t id) noexcept;

// As above, for a block of a heap that is frozen.
[[noreturn]] void report_frozen_heap(const char* function, const char* name,
                                     std::uint64_t id) noexcept;

// As above, for a heap that is confined to one thread and was used by another; by which function
// and where in the program, if that is known.
[[noreturn]] void report_confined_heap(const char* function, const char* name, std::uint64_t id,
                                       const void* here) noexcept;

}  // namespace tarn
