// print: writes what a search has found, as text or as JSON.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "platform/report/report_text.hpp"
#include "watch/unreachable/search.hpp"

namespace tarn {

// Of leaks that are told by themselves: what `tarn symbolize` is to know.
struct LeakReport {
  bool is_for_command;       // JSON for it, with the next two.
  bool is_json;              // What it is to write.
  const char* suppressions;  // A file, or "".
};

// Writes what was found. flags: of enum tarn_unreachable_flag. Afterwards the blocks are in another
// order. leaks: null for a search that the program has asked for. False with errno set. pre:
// ReportTurn
bool print(ReportText& out, Search& search, unsigned flags, const LeakReport* leaks) noexcept;

}  // namespace tarn
