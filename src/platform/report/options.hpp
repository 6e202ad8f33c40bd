// options: what is wrong with the options of a call, in one line on standard error. The call then
// fails with an errno, and the program goes on.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace tarn {

// Prints a line that says which macro sets the size that a struct begins with. False.
bool refuse_size(std::size_t said_bytes, std::size_t bytes, const char* function,
                 const char* macro) noexcept;

// True when `given` says that it has the size that such a struct has for the library. Else prints a
// line.
template <class T>
bool is_sized(const T& given, const char* function, const char* macro) noexcept {
  return given.bytes == sizeof(T) || refuse_size(given.bytes, sizeof(T), function, macro);
}

// True when the mode is one of enum tarn_mode. Else prints a line.
bool is_mode(int mode, const char* function) noexcept;

// Prints why one of enum tarn_mode is refused.
void report_refused_mode(int mode, const char* function, const char* why) noexcept;

}  // namespace tarn
