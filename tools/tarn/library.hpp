// library: which libtarn.so the program gets, and the environment that gives it to the program.
//
// tarn's own environment is never changed: LD_PRELOAD is for the program and its children.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tarn {

// The library named by the user, else the one that belongs to this command: ../lib from the
// executable, or the lib directories that distributions use. Throws Failure when there is none.
std::string find_library(const std::string& wanted);

// A shared object named by the user, as the absolute path that LD_PRELOAD needs; `option` is what
// the complaint names. Throws Failure for what is no such file, or one LD_PRELOAD cannot name.
std::string check_library(const std::string& file, std::string_view option);

std::vector<std::string> current_environment();
std::string value_of(const std::vector<std::string>& environment, std::string_view name);

// LD_PRELOAD with `library` first, before what the user preloads already.
void add_preload(std::vector<std::string>& environment, const std::string& library);
// TARN_OPTIONS with account=FOLDER in place of any account= that stood there.
void add_account(std::vector<std::string>& environment, const std::string& folder);

}  // namespace tarn
