// manual: see manual.hpp.
// SPDX-License-Identifier: MIT
#include "manual.hpp"

#include <fmt/format.h>

#include <string_view>

#include "option_table.hpp"
#include "verb_text.hpp"

namespace tarn {

namespace {

// Escapes text for roff: a backslash, and a dot or a quote that begins a line, would be commands.
std::string roff_escaped(std::string_view text) {
  std::string result;
  bool begins_line = true;
  for (const char character : text) {
    if (begins_line && (character == '.' || character == '\'')) result += "\\&";
    result += character == '\\' ? "\\e" : std::string(1, character);
    begins_line = character == '\n';
  }
  return result;
}

// Puts each sentence on a line of its own, as mdoc requires.
std::string sentences(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char character = text[i];
    const bool is_break = character == '\n' || character == ' ';
    const bool ends_sentence = is_break && i > 0 && text[i - 1] == '.';
    result += ends_sentence ? '\n' : is_break ? ' ' : character;
  }
  while (!result.empty() && (result.back() == ' ' || result.back() == '\n')) result.pop_back();
  return roff_escaped(result) + "\n";
}

std::string paragraphs_of(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("\n\n"), text.size());
    if (end > 0) result += ".Pp\n" + sentences(text.substr(0, end));
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return result;
}

std::string sentence_of(std::string_view help) {
  std::string text = roff_escaped(help);
  if (text.front() >= 'a' && text.front() <= 'z') text.front() += 'A' - 'a';
  return text + ".\n";
}

std::string option_list(const std::vector<OptionText>& options) {
  std::string text = ".Bl -tag -width Ds\n";
  for (const OptionText& option : options) {
    text += ".It ";
    if (!option.short_name.empty()) text += fmt::format("Fl {} , ", option.short_name.substr(1));
    text += fmt::format("Fl Fl {}", option.long_name.substr(2));
    if (!option.value.empty()) text += fmt::format(" Ar {}", option.value);
    text += "\n" + sentence_of(option.help);
  }
  return text + ".El\n";
}

// "tarn run [OPTIONS] -- PROGRAM [ARGS...]"
std::string usage(std::string_view line) {
  line.remove_prefix(line.find(' ') + 1);
  const std::size_t verb = std::min(line.find(' '), line.size());
  std::string text = fmt::format(".Nm tarn\n.Cm {}\n", line.substr(0, verb));
  line.remove_prefix(std::min(verb + 1, line.size()));
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    std::string_view word = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    if (word.starts_with("--")) {
      text += word == "--" ? ".Fl Fl\n" : fmt::format(".Fl Fl {}\n", word.substr(2));
    } else if (word.starts_with("[")) {
      word = word.substr(1, word.size() - 2);
      const bool repeats = word.ends_with("...");
      if (repeats) word.remove_suffix(3);
      text += fmt::format(".Op Ar {}{}\n", word, repeats ? " ..." : "");
    } else {
      text += fmt::format(".Ar {}\n", word);
    }
  }
  return text;
}

std::string verb_section(const VerbText& verb) {
  std::string text = fmt::format(".Ss tarn {}\n{}", verb.name, sentence_of(verb.help));
  text += paragraphs_of(verb.about);
  for (const OptionText& argument : verb.arguments) {
    text += fmt::format(".Pp\n.Ar {} :\n{}", argument.long_name, sentence_of(argument.help));
  }
  return text + option_list(verb.options);
}

std::string environment() {
  std::string text =
      ".Sh ENVIRONMENT\n.Bl -tag -width Ds\n"
      ".It Ev LD_PRELOAD\nSet for the program, with the library in front of what it names "
      "already.\n"
      ".It Ev NO_COLOR\nIf it is set and not empty, there is no colour.\n"
      ".It Ev TARN_OPTIONS\nA list of options of the library,\n"
      ".Ar name Ns = Ns Ar value\nwith commas between them, which it reads when it starts.\n"
      ".Bl -tag -width Ds\n";
  for (const LibraryOption& option : library_options) {
    text += fmt::format(".It Cm {} Pq {}", option.name, option.values);
    if (*option.fallback != '\0') text += fmt::format("; {} without it", option.fallback);
    text += "\n" + sentence_of(option.help);
  }
  return text + ".El\n.El\n";
}

constexpr const char* exit_status =
    ".Sh EXIT STATUS\nThat of the program; if a signal ended it,\n.Nm\nends by the same signal.\n"
    "Of\n.Nm\nitself:\n"
    ".Bl -tag -width Ds -compact\n.It 2\nThe command line is wrong; nothing was run.\n"
    ".It 125\nThe machine refused something.\n.It 126\nThe program cannot be executed.\n"
    ".It 127\nThe program was not found.\n.El\n";

}  // namespace

std::string manual_page(CLI::App& app) {
  const std::vector<VerbText> verbs = verb_texts(app);
  std::string text =
      ".\\\" tarn: from `tarn manual`. SPDX-License-Identifier: MIT\n"
      ".Dd November 1, 2026\n.Dt TARN 1\n.Os\n.Sh NAME\n.Nm tarn\n"
      ".Nd run programs on tarn's malloc and see what it does for them\n.Sh SYNOPSIS\n";
  std::string sections;
  std::string examples;
  for (const VerbText& verb : verbs) {
    for (const std::string& line : verb.usages) text += usage(line);
    sections += verb_section(verb);
    examples += roff_escaped(verb.examples);
  }
  text +=
      ".Sh DESCRIPTION\n.Nm\nruns a program on the malloc of\n.Xr libtarn 3 ,\n"
      "without changing or linking it again, and reports what its memory was used for, or whether "
      "it runs faster.\n" +
      sections + ".Ss Options of the command itself\n" + option_list(command_options(app));
  text += environment() + exit_status;
  text += ".Sh EXAMPLES\n.Bd -literal -offset indent\n" + examples + ".Ed\n";
  return text + ".Sh SEE ALSO\n.Xr libtarn 3 ,\n.Xr malloc 3\n";
}

}  // namespace tarn
