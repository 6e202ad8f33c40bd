// quantity: numbers as people read them; one spelling for the account, the table and the verdict.
//
// Bytes use binary units, times keep three significant digits, counts are grouped by thousands.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tarn {

std::string text_of_bytes(double bytes);
std::string text_of_seconds(double seconds);
std::string text_of_count(std::uint64_t count);
std::string text_of_percent(double fraction);
// "1 thread", "2 threads": `unit` is the singular.
std::string text_of_many(std::uint64_t count, std::string_view unit);
// Names come from other programs: control characters would reach the terminal as commands.
std::string text_of_name(std::string_view name);

}  // namespace tarn
