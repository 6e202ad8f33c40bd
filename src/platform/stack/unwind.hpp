// unwind: the calls that a thread is in, as return addresses. On x86-64 by the modules' unwind data
// (frame_rule.hpp), where there is none by frame pointers; on other processors by these alone. No
// lock (but see os::find_unwind_table), no allocation; any thread, also in a signal handler.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn {

// Where a thread is in a function.
struct FrameRegisters {
  std::uintptr_t pc = 0;  // The instruction that comes next.
  std::uintptr_t sp = 0;
  std::uintptr_t fp = 0;
};

// Writes down the calls that led there, the innermost first, up to `most`, and returns how many:
// the frame of `at` itself first. is_return: a call made it so; else pc is what is to be done, and
// stands as the return address behind its first byte.
std::size_t unwind(FrameRegisters at, bool is_return, const void** calls,
                   std::size_t most) noexcept;

// Likewise, the calls that led to the calling function, from the one that returns to `from` on:
// none when there is no such call among the innermost two dozen. from == nullptr: all of them.
// places: where on the stack each of them lies, which can be read as long as those before it lie in
// their places; 0 for one of which that is not certain. May be null.
std::size_t unwind_from(const void* from, const void** calls, std::uintptr_t* places,
                        std::size_t most) noexcept;

// Whether the calling thread's stack can be read from a frame of the library's up to `to`, which is
// close: a system call for a page that nobody has asked for before.
bool stack_reaches(std::uintptr_t from, std::uintptr_t to) noexcept;
std::uintptr_t stack_word(std::uintptr_t place) noexcept;  // pre: it can be read

}  // namespace tarn
