// verb_text: see verb_text.hpp.
// SPDX-License-Identifier: MIT
#include "verb_text.hpp"

#include <CLI/CLI.hpp>
#include <string_view>

namespace tarn {

namespace {

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::size_t start = std::min(text.find_first_not_of(' '), end);
    lines.emplace_back(text.substr(start, end - start));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

OptionText option_text(const CLI::Option& option) {
  OptionText text;
  if (!option.get_lnames().empty()) text.long_name = "--" + option.get_lnames().front();
  if (!option.get_snames().empty()) text.short_name = "-" + option.get_snames().front();
  if (option.get_items_expected_max() > 0) text.value = option.get_type_name();
  text.help = option.get_description();
  return text;
}

void add_options(CLI::App& app, std::vector<OptionText>& options,
                 std::vector<OptionText>& arguments) {
  for (const CLI::Option* const option : app.get_options()) {
    OptionText text = option_text(*option);
    if (option->get_positional()) {
      text.long_name = option->get_name(true);
      arguments.push_back(text);
    } else {
      options.push_back(text);
    }
  }
}

// The usage comes from the verb's own formatter, if it has one: "Usage: " and a line for each form.
std::vector<std::string> usages_of(CLI::App& verb) {
  std::string help = verb.help();
  constexpr std::string_view title = "Usage: ";
  const std::size_t start = help.find(title);
  if (start == std::string::npos) return {};
  help = help.substr(start + title.size());
  std::vector<std::string> usages;
  for (const std::string& line : lines_of(help)) {
    if (!line.starts_with("tarn ")) break;
    usages.push_back(line);
  }
  return usages;
}

}  // namespace

std::vector<std::string> OptionText::choices() const {
  std::vector<std::string> words;
  std::string_view left = value;
  while (left.find('|') != std::string_view::npos) {
    words.emplace_back(left.substr(0, left.find('|')));
    left.remove_prefix(left.find('|') + 1);
  }
  if (!words.empty()) words.emplace_back(left);
  return words;
}

bool VerbText::takes_program() const {
  return std::ranges::any_of(
      usages, [](const std::string& usage) { return usage.find("-- PROGRAM") != usage.npos; });
}

std::vector<VerbText> verb_texts(CLI::App& app) {
  std::vector<VerbText> verbs;
  for (CLI::App* const verb : app.get_subcommands([](CLI::App*) { return true; })) {
    if (verb->get_group().empty()) continue;
    VerbText text;
    text.name = verb->get_name();
    text.help = verb->get_description();
    text.usages = usages_of(*verb);
    add_options(*verb, text.options, text.arguments);
    const std::string footer = verb->get_footer();
    constexpr std::string_view title = "Examples:\n";
    const std::size_t examples = std::min(footer.find(title), footer.size());
    text.about = footer.substr(0, examples);
    if (examples < footer.size()) {
      for (const std::string& line : lines_of(footer.substr(examples + title.size()))) {
        text.examples += line + "\n";
      }
    }
    verbs.push_back(text);
  }
  return verbs;
}

std::vector<OptionText> command_options(CLI::App& app) {
  std::vector<OptionText> options;
  std::vector<OptionText> arguments;
  add_options(app, options, arguments);
  return options;
}

}  // namespace tarn
