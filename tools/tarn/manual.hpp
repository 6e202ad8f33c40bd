// manual: the source of the manual page tarn(1), in mdoc, made from the description of the verbs
// and the table of the library's options.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace tarn {

std::string manual_page(CLI::App& app);

}  // namespace tarn
