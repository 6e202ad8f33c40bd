// help: what the command says of itself: help, version, the library's options, completions, manual.
// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "option_table.hpp"

namespace tarn::test {

namespace {

class Help : public CommandTest {
 protected:
  std::string output_of(const std::vector<std::string>& words) {
    const Result result = run(words);
    EXPECT_EQ(result.exit_status(), 0) << result.errors;
    EXPECT_EQ(result.errors, "");
    return result.output;
  }
};

TEST_F(Help, EachWayToAskGivesTheSame) {
  EXPECT_EQ(output_of({"help"}), output_of({"--help"}));
  EXPECT_EQ(output_of({"help"}), output_of({"-h"}));
  EXPECT_EQ(output_of({"-V"}), "tarn " TARN_COMMAND_VERSION "\n");
  EXPECT_EQ(output_of({"-V"}), output_of({"--version"}));
  for (const std::string verb : {"run", "classes", "help", "completion"}) {
    EXPECT_EQ(output_of({"help", verb}), output_of({verb, "--help"}));
    EXPECT_TRUE(contains(output_of({"help"}), "\n  " + verb + " "));
  }
  EXPECT_FALSE(contains(output_of({"help"}), "manual"));
}

TEST_F(Help, EachOptionOfTheLibraryIsExplained) {
  const std::string text = output_of({"help", "options"});
  const std::string manual = output_of({"manual"});
  for (const LibraryOption& option : library_options) {
    EXPECT_TRUE(contains(text, std::string("\n  ") + option.name + "=" + option.values));
    EXPECT_TRUE(contains(manual, std::string("\n.It Cm ") + option.name + " "));
  }
  EXPECT_TRUE(contains(text, "purge_delay_ms=0 to 3600000 (500 without it)\n"));
  std::size_t longest = 0;
  for (std::size_t start = 0; start < text.size(); start = text.find('\n', start) + 1) {
    longest = std::max(longest, text.find('\n', start) - start);
  }
  EXPECT_LE(longest, 90u);
}

TEST_F(Help, EachOptionOfAVerbIsInTheManualAndInEachCompletion) {
  const std::string manual = output_of({"manual"});
  for (const std::string verb : {"run", "classes"}) {
    const std::string whole = output_of({verb, "--help"});
    const std::string help = whole.substr(0, whole.find("\n\n", whole.find("Options:")));
    std::size_t at = help.find(" --");
    for (; at != std::string::npos; at = help.find(" --", at + 1)) {
      const std::string option = help.substr(at + 3, help.find_first_of(" =,\n", at + 1) - at - 3);
      if (option.empty()) continue;  // "--" alone
      EXPECT_TRUE(contains(manual, "Fl Fl " + option)) << verb;
      EXPECT_TRUE(contains(output_of({"completion", "bash"}), "--" + option)) << verb;
      EXPECT_TRUE(contains(output_of({"completion", "zsh"}), "--" + option)) << verb;
      EXPECT_TRUE(contains(output_of({"completion", "fish"}), " -l " + option)) << verb;
    }
  }
}

TEST_F(Help, WhatThereIsNotIsRefused) {
  const auto expect_refused = [&](const std::vector<std::string>& words, const char* reason) {
    const Result result = run(words);
    EXPECT_EQ(result.exit_status(), 2);
    EXPECT_EQ(result.output, "");
    EXPECT_TRUE(contains(result.errors, reason));
  };
  expect_refused({"help", "frob"}, "help: there is no topic 'frob'; topics are options, run,");
  expect_refused({"help", "run", "too"}, "see `tarn help --help`");
  expect_refused({"completion"}, "completion: name a shell");
  expect_refused({"completion", "ksh"}, "there is none for 'ksh', only for bash, zsh and fish");
}

}  // namespace

}  // namespace tarn::test
