// main: the command line of `tarn`, and the one place where it ends.
//
// The words after the first "--" belong to the program. They are taken off before anything else is
// parsed, so that no option of tarn's can be mistaken for one of the program's.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include "classes.hpp"
#include "failure.hpp"
#include "help.hpp"
#include "run.hpp"
#include "signals.hpp"
#include "symbolize.hpp"
#include "terminal.hpp"

namespace tarn {

namespace {

// A caller may have closed standard descriptors. The files that tarn opens must not take their
// place; the program finds them closed, as it would without tarn.
void hold_standard_descriptors() {
  int descriptor = 0;
  do {
    descriptor = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor > STDERR_FILENO) ::close(descriptor);
}

void complain(std::string_view text) {
  write_fully(STDERR_FILENO, fmt::format("tarn: {}\n", text));
}

Ending show(const std::string& text) {
  write_fully(STDOUT_FILENO, text);
  return {};
}

// Ends tarn for an option that the verb does not have. CLI11 would list everything that it did not
// understand.
void refuse_option(const CLI::App& verb) {
  const std::vector<std::string> strays = verb.remaining();
  if (strays.empty() || !strays.front().starts_with("-")) return;
  throw Failure(status_usage, fmt::format("{0}: there is no option {1}; see `tarn {0} --help`",
                                          verb.get_name(), strays.front()));
}

Ending run_parsed(const RunOptions& options, bool has_separator, const CLI::App& run) {
  refuse_option(run);
  const std::vector<std::string> strays = run.remaining();
  if (!strays.empty()) {
    throw Failure(status_usage, fmt::format("run: put -- before the program: tarn run [OPTIONS] "
                                            "-- {}{}",
                                            strays.front(), has_separator ? " ..." : ""));
  }
  if (options.words.empty()) {
    throw Failure(status_usage, "run: name a program: tarn run [OPTIONS] -- PROGRAM [ARGS...]");
  }
  check_options(run);
  return run_verb(options);
}

Ending classes_parsed(const ClassesOptions& options, bool has_separator, const CLI::App& classes) {
  refuse_option(classes);
  const std::vector<std::string> strays = classes.remaining();
  if (!strays.empty()) {
    throw Failure(status_usage, fmt::format("classes: one file is enough, '{}' is too many; a "
                                            "program comes after --",
                                            strays.front()));
  }
  if (has_separator && options.words.empty()) {
    throw Failure(status_usage, "classes: name a program: tarn classes [OPTIONS] -- PROGRAM");
  }
  return classes_verb(options);
}

// Ends tarn for a command line without a verb, or with an unknown one.
[[noreturn]] void refuse_verb(const std::vector<std::string>& own, const CLI::App& app) {
  if (own.empty()) throw Failure(status_usage, fmt::format("name a verb\n{}", app.help()));
  throw Failure(status_usage,
                fmt::format("there is no {} '{}'; see `tarn --help`",
                            own.front().starts_with("-") ? "option" : "verb", own.front()));
}

// Must be called before the verbs are added, since they inherit the option for help.
void add_own_options(CLI::App& app) {
  app.set_version_flag("-V,--version", "tarn " TARN_COMMAND_VERSION)
      ->description("Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.get_formatter()->label("SUBCOMMAND", "VERB");
  app.require_subcommand(1);
}

// Must be called after the verbs were added, since they would inherit this option too.
void describe_verbs(CLI::App& app) {
  for (CLI::App* const verb : app.get_subcommands([](CLI::App*) { return true; })) {
    if (!verb->get_group().empty()) verb->group("Verbs");
  }
  app.footer(
      "`tarn help VERB` says more about a verb, `tarn help options` about the library's "
      "options.");
}

// The verb that was named, or null. There is at most one.
CLI::App* verb_of(CLI::App& app) {
  const std::vector<CLI::App*> verbs = app.get_subcommands();
  return verbs.empty() ? nullptr : verbs.front();
}

Ending command(const std::vector<std::string>& words) {
  CLI::App app("tarn: run programs on tarn's malloc and see what it does for them", "tarn");
  add_own_options(app);
  RunOptions options;
  ClassesOptions class_options;
  SymbolizeOptions symbolize_options;
  HelpOptions help_options;
  add_run_verb(app, options);
  add_classes_verb(app, class_options);
  add_symbolize_verb(app, symbolize_options);
  add_help_verbs(app, help_options);
  describe_verbs(app);
  for (const char* const name : {"run", "classes"}) app.get_subcommand(name)->allow_extras();

  const auto separator = std::ranges::find(words, "--");
  const bool has_separator = separator != words.end();
  if (has_separator) options.words.assign(separator + 1, words.end());
  class_options.words = options.words;
  const std::vector<std::string> own(words.begin(), separator);
  try {
    // CLI11 takes the words of a vector from its end.
    app.parse(std::vector<std::string>(own.rbegin(), own.rend()));
  } catch (const CLI::CallForHelp&) {
    const CLI::App* const verb = verb_of(app);
    return show(verb != nullptr ? verb->help() : app.help());
  } catch (const CLI::CallForVersion& version) {
    return show(fmt::format("{}\n", version.what()));
  } catch (const CLI::ParseError& error) {
    const CLI::App* const verb = verb_of(app);
    if (verb == nullptr) refuse_verb(own, app);
    throw Failure(status_usage,
                  fmt::format("{0}: {1}; see `tarn {0} --help`", verb->get_name(), error.what()));
  }
  const CLI::App& verb = *verb_of(app);
  if (is_help_verb(verb)) return show(help_text(app, verb, help_options));
  if (verb.get_name() == "symbolize") return symbolize_verb(symbolize_options);
  return verb.get_name() == "run" ? run_parsed(options, has_separator, verb)
                                  : classes_parsed(class_options, has_separator, verb);
}

}  // namespace

}  // namespace tarn

int main(int argc, char** argv) {
  tarn::hold_standard_descriptors();
  tarn::Ending ending;
  try {
    ending = tarn::command({argv + std::min(argc, 1), argv + argc});
  } catch (const tarn::Failure& failure) {
    tarn::complain(failure.what());
    return failure.status();
  } catch (const std::exception& failure) {
    tarn::complain(failure.what());
    return tarn::status_refused;
  }
  if (ending.signal != 0) tarn::end_by_signal(ending.signal);
  return ending.status;
}
