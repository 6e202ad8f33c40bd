// completion: the words that shells complete after `tarn`, made from the description of its verbs.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/App.hpp>
#include <array>
#include <string>
#include <string_view>

namespace tarn {

std::string bash_completion(CLI::App& app);
std::string zsh_completion(CLI::App& app);
std::string fish_completion(CLI::App& app);

struct ShellCompletion {
  std::string_view shell;
  std::string (*make)(CLI::App& app);
};

inline constexpr std::array shell_completions = {ShellCompletion{"bash", bash_completion},
                                                 ShellCompletion{"zsh", zsh_completion},
                                                 ShellCompletion{"fish", fish_completion}};

}  // namespace tarn
