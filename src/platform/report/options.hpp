// options: what is wrong with the options of a call, in one line on standard error. The call then
// fails with an errno, and the program goes on.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace tarn {

// False, after a line that says which macro sets the size that a struct begins with.
bool refuse_size(std::size_t said_bytes, std::size_t bytes, const char* function,
                 const char* macro) noexcept;

// Is `given` as large as the library knows such a struct?
template <class T>
bool is_sized(const T& given, const char* function, const char* macro) noexcept {
  return given.bytes == sizeof(T) || refuse_size(given.bytes, sizeof(T), function, macro);
}

// False, after a line, where a mode is none of enum tarn_mode.
bool is_mode(int mode, const char* function) noexcept;

// Says why one of enum tarn_mode is refused.
void report_refused_mode(int mode, const char* function, const char* why) noexcept;

}  // namespace tarn
