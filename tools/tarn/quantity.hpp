// quantity: numbers for people to read, spelled alike in the account, the table and the verdict.
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
// Makes a name from another program fit to print: its control characters would be commands to the
// terminal.
std::string text_of_name(std::string_view name);

}  // namespace tarn
