// frame_rule: how to get from a function's frame to its caller's, as the unwind data of its module
// says (DWARF's call frame information in .eh_frame: Linux Standard Base, "Exception Frames"; DWARF
// 5, 6.4). Only what a walk of the stack wants: the canonical frame address (CFA), and where the
// frame pointer was saved. x86-64; other processors are walked by frame pointers.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "platform/base/bits.hpp"
#include "platform/base/config.hpp"

namespace tarn {

struct FrameRule {
  enum class Kind : std::uint8_t {
    unknown,    // No module has data, or an expression is needed: perhaps there is a frame pointer.
    of_sp,      // CFA: the stack pointer, and an offset.
    of_fp,      // CFA: the frame pointer, and an offset.
    signal,     // The kernel's frame of a signal handler.
    outermost,  // Nobody called it; or its module says nothing of it, and it may be anything.
  };

  // | saved 29 | offset 32 | kind 3 |
  std::uint64_t word = 0;

  static constexpr unsigned kind_bits = 3;
  static constexpr unsigned saved_shift = kind_bits + 32;
  static constexpr std::uint64_t saved_most = (std::uint64_t{1} << (64 - saved_shift)) - 1;

  constexpr Kind kind() const noexcept { return static_cast<Kind>(word & ((1U << kind_bits) - 1)); }
  // The CFA's distance from that register.
  constexpr std::uint32_t offset() const noexcept {
    return static_cast<std::uint32_t>(word >> kind_bits);
  }
  // So many words below the CFA the caller's frame pointer is saved; 0: it still has it.
  constexpr std::size_t saved_words() const noexcept { return word >> saved_shift; }

  static constexpr FrameRule of(Kind kind, std::uint32_t offset = 0,
                                std::uint64_t saved_words = 0) noexcept {
    return {saved_words << saved_shift | std::uint64_t{offset} << kind_bits |
            static_cast<std::uint64_t>(kind)};
  }
};

// Reads the rule for the code at `code` out of the table of its module (os::find_unwind_table).
// Damaged data gives another rule; nothing is read outside of what its lengths say.
FrameRule read_frame_rule(const std::byte* table, std::uintptr_t code) noexcept;

// What was read once is remembered, whatever becomes of the module: 8,192 places for those that
// were asked for last. Two words for each, so that what two threads write at once belongs to no
// code.
struct RememberedRule {
  std::atomic<std::uint64_t> mixed{0};  // code ^ rule
  std::atomic<std::uint64_t> rule{0};
};
inline constexpr unsigned remembered_bits = 13;
using RememberedRules = std::array<RememberedRule, std::size_t{1} << remembered_bits>;
extern RememberedRules remembered_rules;

inline RememberedRule& place_of_rule(std::uintptr_t code) noexcept {
  return remembered_rules[hashed_place(code, remembered_bits)];
}

// Reads the rule, and remembers it.
FrameRule learn_frame_rule(std::uintptr_t code) noexcept;

// As read_frame_rule(), with the module looked up. Any thread, also in a signal handler.
TARN_INLINE FrameRule frame_rule(std::uintptr_t code) noexcept {
  const RememberedRule& place = place_of_rule(code);
  const FrameRule rule{place.rule.load(std::memory_order_relaxed)};
  if (TARN_LIKELY((place.mixed.load(std::memory_order_relaxed) ^ rule.word) == code)) return rule;
  return learn_frame_rule(code);
}

}  // namespace tarn
