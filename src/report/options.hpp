// options: what is wrong with the options of a call, in one line on standard error. The call then
// fails with an errno, and the program goes on.
//
// SPDX-License-Identifier: MIT
#pragma once

namespace tarn {

// False, after a line, where a mode is none of enum tarn_mode.
bool is_mode(int mode, const char* function) noexcept;

// Says why one of enum tarn_mode is refused.
void report_refused_mode(int mode, const char* function, const char* why) noexcept;

}  // namespace tarn
