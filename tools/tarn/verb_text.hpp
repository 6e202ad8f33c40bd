// verb_text: what the parser of the command line knows about each verb, as plain text. Completions
// and the manual page are made from this one description.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace tarn {

struct OptionText {
  std::string long_name;   // "--json"
  std::string short_name;  // "-q"; empty if there is none
  std::string value;       // "FILE", "c|c++"; empty for an option without a value
  std::string help;

  bool takes_file() const { return value == "FILE" || value == "LIB"; }
  // "c|c++" has two, "FILE" none.
  std::vector<std::string> choices() const;
};

struct VerbText {
  std::string name;
  std::string help;
  std::vector<std::string> usages;  // "tarn run [OPTIONS] -- PROGRAM [ARGS...]"
  std::vector<OptionText> options;
  std::vector<OptionText> arguments;  // long_name is the word that is shown
  std::string about;                  // paragraphs
  std::string examples;               // a command on each line

  bool takes_program() const;
};

// The texts of the verbs that the help shows.
std::vector<VerbText> verb_texts(CLI::App& app);

// The options of the command itself.
std::vector<OptionText> command_options(CLI::App& app);

}  // namespace tarn
