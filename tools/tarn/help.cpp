// help: see help.hpp.
// SPDX-License-Identifier: MIT
#include "help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "completion.hpp"
#include "failure.hpp"
#include "manual.hpp"
#include "option_table.hpp"
#include "quantity.hpp"
#include "usage.hpp"
#include "verb_text.hpp"

namespace tarn {

namespace {

constexpr const char* options_topic = "options";

constexpr const char* completion_footer =
    "An installed tarn has its completions where the shells look for them. Elsewhere:\n\n"
    "Examples:\n"
    "  source <(tarn completion bash)\n"
    "  tarn completion zsh > ~/.zfunc/_tarn\n"
    "  tarn completion fish > ~/.config/fish/completions/tarn.fish\n";

// Breaks a sentence into lines of at most 76 columns, each indented by six.
std::string paragraph(std::string_view text) {
  std::string lines;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (column == 0 || column + 1 + end > 70) {
      lines += "\n      ";
      column = 0;
    } else {
      lines += ' ';
      ++column;
    }
    lines += text.substr(0, end);
    column += end;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string options_text() {
  std::string text =
      "The environment variable TARN_OPTIONS is a list NAME=VALUE,NAME=VALUE, which the library\n"
      "reads when it starts. What it does not understand is reported on stderr and ignored.\n"
      "Programs that change user or group when they start (setuid) ignore all of it.\n\n"
      "Options:\n";
  for (const LibraryOption& option : library_options) {
    text += fmt::format("  {}={}", option.name, option.values);
    if (*option.fallback != '\0') text += fmt::format(" ({} without it)", option.fallback);
    text += paragraph(option.help) + "\n";
  }
  return text + "\nExample:\n  TARN_OPTIONS=purge_delay_ms=1000,background_purge=1 ./server\n";
}

std::string topic_text(CLI::App& app, const std::string& topic) {
  if (topic.empty()) {
    app.clear();  // Else this would be the help of the verb that was parsed.
    return app.help();
  }
  if (topic == options_topic) return options_text();
  std::vector<std::string> topics{options_topic};
  for (const VerbText& verb : verb_texts(app)) {
    if (verb.name == topic) return app.get_subcommand(topic)->help();
    topics.push_back(verb.name);
  }
  throw Failure(status_usage, fmt::format("help: there is no topic '{}'; topics are {}",
                                          text_of_name(topic), fmt::join(topics, ", ")));
}

std::string completion_text(CLI::App& app, const std::string& shell) {
  for (const ShellCompletion& known : shell_completions) {
    if (shell == known.shell) return known.make(app);
  }
  throw Failure(status_usage,
                shell.empty() ? "completion: name a shell: tarn completion bash, zsh or fish"
                              : fmt::format("completion: there is none for '{}', only for bash, "
                                            "zsh and fish",
                                            text_of_name(shell)));
}

}  // namespace

void add_help_verbs(CLI::App& app, HelpOptions& options) {
  CLI::App* const help = app.add_subcommand("help", "Explain a verb, or the library's options");
  set_usage(help, "Usage: tarn help [TOPIC]\n");
  help->add_option("TOPIC", options.topic, "A verb, or options, which is TARN_OPTIONS")
      ->type_name("run|classes|symbolize|options");
  CLI::App* const completion =
      app.add_subcommand("completion", "Print the completion of tarn for a shell");
  set_usage(completion, "Usage: tarn completion SHELL\n");
  completion->footer(completion_footer);
  completion->add_option("SHELL", options.shell, "The shell")->type_name("bash|zsh|fish");
  // For the build. Users do not need it.
  app.add_subcommand("manual", "Print the source of the manual page")->group("");
}

bool is_help_verb(const CLI::App& verb) {
  const std::string& name = verb.get_name();
  return name == "help" || name == "completion" || name == "manual";
}

std::string help_text(CLI::App& app, const CLI::App& verb, const HelpOptions& options) {
  if (verb.get_name() == "help") return topic_text(app, options.topic);
  if (verb.get_name() == "completion") return completion_text(app, options.shell);
  return manual_page(app);
}

}  // namespace tarn
