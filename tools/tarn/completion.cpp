// completion: see completion.hpp.
// SPDX-License-Identifier: MIT
#include "completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "verb_text.hpp"

namespace tarn {

namespace {

std::vector<std::string> option_words(const std::vector<OptionText>& options) {
  std::vector<std::string> words;
  for (const OptionText& option : options) {
    words.push_back(option.long_name);
    if (!option.short_name.empty()) words.push_back(option.short_name);
  }
  return words;
}

// The text in single quotes, which all three shells read alike.
std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (const char character : text) {
    if (character == '\'') {
      result += "'\\''";
    } else {
      result += character;
    }
  }
  return result + "'";
}

std::string quoted_words(const std::vector<std::string>& words) {
  return shell_quoted(fmt::format("{}", fmt::join(words, " ")));
}

// Before "--" come the verb's options and their values; after it, another command line.
constexpr const char* bash_start = R"(# bash completion of tarn; from `tarn completion bash`.
_tarn_program() {
  local i=$1
  if declare -F _command_offset >/dev/null; then
    _command_offset "$i"
  elif ((COMP_CWORD == i)); then
    COMPREPLY=($(compgen -c -- "${COMP_WORDS[COMP_CWORD]}"))
  fi
}

_tarn() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb='' words='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${COMP_WORDS[i]} in
      --) _tarn_program $((i + 1)); return ;;
      -*) ;;
      *) [[ -n $verb ]] || verb=${COMP_WORDS[i]} ;;
    esac
  done
  case $verb:$before in
)";

constexpr const char* bash_end = R"(  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _tarn tarn
)";

std::string bash_values(const VerbText& verb) {
  std::string text;
  for (const OptionText& option : verb.options) {
    if (option.value.empty()) continue;
    const std::vector<std::string> choices = option.choices();
    // COMPREPLY stays empty, so bash completes names of files.
    text += choices.empty() ? fmt::format("    {}:{}) return ;;\n", verb.name, option.long_name)
                            : fmt::format("    {}:{}) words={} ;;\n", verb.name, option.long_name,
                                          quoted_words(choices));
  }
  return text;
}

// Options are completed only after a dash; otherwise the verb's arguments, or names of files.
std::string bash_case(std::string_view verb, const std::vector<std::string>& options,
                      const std::vector<std::string>& others) {
  const std::string otherwise =
      others.empty() ? std::string("return") : fmt::format("words={}", quoted_words(others));
  return fmt::format("    {}:*)\n      if [[ $word == -* ]]; then words={}; else {}; fi ;;\n", verb,
                     quoted_words(options), otherwise);
}

// zsh interprets brackets and colons in a description.
std::string zsh_escaped(std::string_view text) {
  std::string result;
  for (const char character : text) {
    if (character == '[' || character == ']' || character == ':') result += '\\';
    result += character;
  }
  return result;
}

std::string zsh_action(const OptionText& option) {
  const std::vector<std::string> choices = option.choices();
  if (!choices.empty()) return fmt::format("({})", fmt::join(choices, " "));
  return option.takes_file() || option.value.empty() ? "_files" : " ";
}

std::string zsh_option(const OptionText& option) {
  std::string text = zsh_escaped(option.help);
  text = fmt::format("[{}]", text);
  if (!option.value.empty()) {
    text += fmt::format(":{}:{}", zsh_escaped(option.value), zsh_action(option));
  }
  std::string lines = fmt::format("        {} \\\n", shell_quoted(option.long_name + text));
  if (!option.short_name.empty()) {
    lines += fmt::format("        {} \\\n", shell_quoted(option.short_name + text));
  }
  return lines;
}

std::string fish_option(std::string_view condition, const OptionText& option) {
  std::string line = fmt::format("complete -c tarn -n {} -l {}", shell_quoted(condition),
                                 option.long_name.substr(2));
  if (!option.short_name.empty()) line += fmt::format(" -s {}", option.short_name.substr(1));
  const std::vector<std::string> choices = option.choices();
  if (!choices.empty()) {
    line += fmt::format(" -x -a {}", quoted_words(choices));
  } else if (!option.value.empty()) {
    line += option.takes_file() ? " -r -F" : " -x";
  }
  return fmt::format("{} -d {}\n", line, shell_quoted(option.help));
}

}  // namespace

std::string bash_completion(CLI::App& app) {
  std::string text = bash_start;
  std::string cases;
  std::vector<std::string> names;
  for (const VerbText& verb : verb_texts(app)) {
    names.push_back(verb.name);
    text += bash_values(verb);
    std::vector<std::string> options = option_words(verb.options);
    if (verb.takes_program()) options.push_back("--");
    if (verb.arguments.empty()) {
      cases += fmt::format("    {}:*) words={} ;;\n", verb.name, quoted_words(options));
    } else {
      cases += bash_case(verb.name, options, verb.arguments.front().choices());
    }
  }
  return text + cases + bash_case("", option_words(command_options(app)), names) + bash_end;
}

std::string zsh_completion(CLI::App& app) {
  std::string verbs;
  std::string cases;
  for (const VerbText& verb : verb_texts(app)) {
    verbs += fmt::format("    {}\n", shell_quoted(fmt::format("{}:{}", verb.name, verb.help)));
    cases += fmt::format("    {})\n      _arguments -S \\\n", verb.name);
    for (const OptionText& option : verb.options) cases += zsh_option(option);
    for (const OptionText& argument : verb.arguments) {
      cases += fmt::format(
          "        {} \\\n",
          shell_quoted(fmt::format("::{}:{}", argument.long_name, zsh_action(argument))));
    }
    cases += verb.takes_program() ? "        '*::program: _normal'\n      ;;\n"
                                  : "        && return\n      ;;\n";
  }
  std::string options;
  for (const OptionText& option : command_options(app)) options += zsh_option(option);
  return fmt::format(R"(#compdef tarn
# zsh completion of tarn; from `tarn completion zsh`.
_tarn() {{
  local curcontext=$curcontext state line
  local -a verbs
  verbs=(
{}  )
  _arguments -C \
{}        '1:verb:->verb' \
        '*::argument:->arguments'
  case $state in
    verb) _describe verb verbs; return ;;
  esac
  case ${{words[1]}} in
{}  esac
}}
if [ "$funcstack[1]" = _tarn ]; then
  _tarn "$@"
else
  compdef _tarn tarn
fi
)",
                     verbs, options, cases);
}

std::string fish_completion(CLI::App& app) {
  std::string text =
      "# fish completion of tarn; from `tarn completion fish`.\n"
      "complete -c tarn -f\n";
  for (const OptionText& option : command_options(app)) {
    text += fish_option("__fish_use_subcommand", option);
  }
  for (const VerbText& verb : verb_texts(app)) {
    text += fmt::format("complete -c tarn -n __fish_use_subcommand -a {} -d {}\n", verb.name,
                        shell_quoted(verb.help));
    const std::string seen = fmt::format("__fish_seen_subcommand_from {}", verb.name);
    const std::string own = fmt::format("{}; and not contains -- -- (commandline -opc)", seen);
    for (const OptionText& option : verb.options) text += fish_option(own, option);
    for (const OptionText& argument : verb.arguments) {
      const std::vector<std::string> choices = argument.choices();
      text += choices.empty() ? fmt::format("complete -c tarn -n {} -F\n", shell_quoted(own))
                              : fmt::format("complete -c tarn -n {} -a {}\n", shell_quoted(own),
                                            quoted_words(choices));
    }
    if (!verb.takes_program()) continue;
    text += fmt::format("complete -c tarn -n {} -a '(__tarn_program)'\n",
                        shell_quoted(seen + "; and contains -- -- (commandline -opc)"));
  }
  return text + R"(function __tarn_program
  set -l words (commandline -opc)
  set -l at (contains -i -- -- $words)
  complete -C (string join ' ' -- (string escape -- $words[(math $at + 1)..-1]) (commandline -ct))
end
)";
}

}  // namespace tarn
