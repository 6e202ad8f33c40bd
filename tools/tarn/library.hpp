// library: finds the libtarn.so that the program gets, and makes the environment that gives it to
// the program.
//
// tarn's own environment is never changed: LD_PRELOAD is for the program and its children.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tarn {

// The library that the user names; else the one that belongs to this command: in ../lib from the
// executable, or in the lib directories that distributions use. Throws Failure when there is none.
std::string find_library(const std::string& wanted);

// A shared object that the user names, as the absolute path that LD_PRELOAD needs. `option` is
// named in the complaint. Throws Failure for what is no such file, and for one that LD_PRELOAD
// cannot name.
std::string check_library(const std::string& file, std::string_view option);

std::vector<std::string> current_environment();
std::string value_of(const std::vector<std::string>& environment, std::string_view name);

// LD_PRELOAD with `library` in front of what the user preloads already.
void add_preload(std::vector<std::string>& environment, const std::string& library);
// TARN_OPTIONS with NAME=VALUE in place of any NAME= that it had.
void set_option(std::vector<std::string>& environment, std::string_view name,
                const std::string& value);

// Likewise, if it has none.
void set_default(std::vector<std::string>& environment, std::string_view name,
                 const std::string& value);

// Has reports of misuse come through this command, `tarn symbolize`, unless the user names another
// program.
void set_symbolizer(std::vector<std::string>& environment);

}  // namespace tarn
