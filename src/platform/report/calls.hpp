// calls: how the program came to a place, as lines of a report and as JSON. pre: ReportTurn
//
// SPDX-License-Identifier: MIT
#pragma once

#include "platform/report/report_text.hpp"

namespace tarn {

// Lines `tarn:   WORDS module+0x1f (0x5555...) function`, and `by` for the calls behind the first.
// at: what Stacks::at() has returned. None for null.
void write_calls(ReportText& out, const char* words, const void* at) noexcept;

// An array of objects: address, and, where they are known, module, offset, function.
void write_json_calls(ReportText& out, const void* at) noexcept;

}  // namespace tarn
