// run: see run.hpp.
// SPDX-License-Identifier: MIT
#include "run.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "compare.hpp"
#include "failure.hpp"
#include "library.hpp"
#include "program.hpp"
#include "quantity.hpp"
#include "result_file.hpp"
#include "run_report.hpp"
#include "usage.hpp"

namespace tarn {

namespace {

constexpr int leak_status = 23;                                // As LeakSanitizer's users know it.
constexpr std::size_t guard_every_max = std::size_t{1} << 31;  // As the library has it.

constexpr const char* run_footer =
    "Everything after -- is the program, found as a shell would find it, and its arguments. The\n"
    "exit status is the program's; 126 and 127 mean that it could not be started, 125 that this\n"
    "machine refused something, 2 that this command line is wrong. tarn's own messages go to\n"
    "stderr, and with --json - the program's output goes there too.\n\n"
    "Examples:\n"
    "  tarn run -- python3 script.py\n"
    "  tarn run --stats --json account.json -- make -j4\n"
    "  tarn run --check -- ./my_program input.txt\n"
    "  tarn run --leaks --suppressions known_leaks.txt -- ./my_tests\n"
    "  tarn run --compare 10 -- ./my_program input.txt\n";

// As TARN_OPTIONS can name it.
std::string file_for_option(const std::string& file) {
  std::error_code error;
  const std::string path = std::filesystem::absolute(file, error).string();
  if (::access(path.c_str(), R_OK) != 0) {
    throw Failure(status_usage, fmt::format("run: --suppressions: '{}' cannot be read", file));
  }
  if (path.find(',') != std::string::npos) {
    throw Failure(status_usage,
                  fmt::format("run: --suppressions: TARN_OPTIONS cannot name '{}', which has a "
                              "comma; make a symbolic link to it elsewhere",
                              path));
  }
  return path;
}

std::string likely_reason(const RunRecord& record) {
  if (record.outcome.signal() == SIGKILL) return "it was killed, perhaps before it had begun";
  return "likely it is or became a program that cannot be preloaded into, it dropped LD_PRELOAD, "
         "or it could not read the library or write the account's directory (another user, a "
         "sandbox)";
}

// Adds notes on what the accounts show about whether tarn did its work.
void note_activity(RunRecord& record, const Inspection& inspection) {
  for (const std::string& refusal : record.accounts.refused) {
    record.notes.push_back({"account_refused", refusal});
  }
  if (record.main_account() != nullptr) return;
  const std::string name = text_of_name(record.words.front());
  const bool has_others = !record.accounts.processes.empty();
  const std::string others = has_others ? ", though processes that it started did" : "";
  if (!inspection.is_reachable) {
    record.notes.push_back(
        {"inactive",
         fmt::format("tarn was not active in {}, as said before it started{}", name, others)});
    return;
  }
  record.notes.push_back(
      {"inactive", fmt::format("tarn was not active in {}: it left no account{}; {}", name, others,
                               likely_reason(record))});
}

void note_running(RunRecord& record) {
  for (const tarn_account& account : record.accounts.processes) {
    if (account.state == TARN_ACCOUNT_FINAL || account.pid == 0) continue;
    const auto pid = static_cast<pid_t>(account.pid);
    if (pid == record.outcome.pid) continue;  // tarn has waited for it.
    if (::kill(pid, 0) == 0 || errno == EPERM) record.running.push_back(account.pid);
  }
}

// Runs the program and reads its accounts. Afterwards the temporary directory is gone.
void run_with_account(RunRecord& record, const Inspection& inspection, const SignalGate& gate,
                      bool keeps_stdout, const RunOptions& options) {
  const AccountFolder folder;
  Launch launch;
  if (keeps_stdout) launch.output = STDERR_FILENO;
  launch.words = record.words;
  launch.environment = current_environment();
  if (inspection.is_preloadable) {
    add_preload(launch.environment, record.library);
    set_option(launch.environment, "account", folder.path());
    set_symbolizer(launch.environment);
    if (options.finds_leaks) {
      set_option(launch.environment, "leaks", "1");
      set_default(launch.environment, "leak_status", std::to_string(leak_status));
      if (!options.suppressions.empty()) {
        set_option(launch.environment, "suppressions", file_for_option(options.suppressions));
      }
    }
    if (!options.mode().empty()) set_option(launch.environment, "mode", options.mode());
    if (options.finds_leaks && options.guard_every == 0) {
      set_default(launch.environment, "mode", "checked");
    }
    if (options.guard_every != 0) {
      set_option(launch.environment, "guard_every", std::to_string(options.guard_every));
    }
  }
  record.outcome = run_child(launch, gate);
  check_started(record.outcome, record.words.front());
  record.accounts = folder.read();
  note_running(record);
}

Ending plain_run(const RunOptions& options, Terminal& terminal, ResultFile& result) {
  RunRecord record;
  record.words = options.words;
  record.library = find_library(options.library);
  const Inspection inspection = inspect_program(options.words.front());
  for (const Note& note : inspection.notes) terminal.warn(note.text);
  {
    const SignalGate gate;
    if (const int signal = gate.pending_end(); signal != 0) return {0, signal};
    run_with_account(record, inspection, gate, result.is_stdout(), options);
    gate.drain();
    // From here on signals may end tarn again: a report into a full pipe must not block it for
    // ever.
  }
  note_activity(record, inspection);
  for (const Note& note : record.notes) terminal.warn(note.text);
  terminal.say(run_text(record, terminal, options.has_class_table));
  record.notes.insert(record.notes.begin(), inspection.notes.begin(), inspection.notes.end());
  if (result.is_wanted()) result.write(run_json(record));
  return {record.outcome.exit_status(), record.outcome.signal()};
}

}  // namespace

void add_run_verb(CLI::App& app, RunOptions& options) {
  CLI::App* const run = app.add_subcommand("run", "Run a program on tarn's malloc");
  set_usage(run, "Usage: tarn run [OPTIONS] -- PROGRAM [ARGS...]\n");
  run->footer(run_footer);
  run->add_flag("--stats", options.has_class_table, "Show allocations by size class, with slack");
  run->add_flag("--hardened", options.is_hardened,
                "End the program at most mistakes with its blocks; for production");
  run->add_flag("--check", options.is_checked,
                "End the program at a wrong free or a write beyond a block, and say which");
  run->add_flag("--guard", options.is_guarded,
                "As --check, and at reads and writes beyond a block or after its free");
  run->add_option("--guard-every", options.guard_every,
                  "As --guard, for one of N blocks, chosen at random")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, guard_every_max).description(""));
  run->add_flag("--leaks", options.finds_leaks,
                "Report the blocks that no pointer reaches at the end; the exit status is 23 then");
  run->add_option("--suppressions", options.suppressions,
                  "Leave leaks out that a line of FILE covers")
      ->type_name("FILE");
  run->add_option("--json", options.json, "Write everything as JSON to FILE (- for stdout)")
      ->type_name("FILE");
  run->add_option("--library", options.library, "Use this libtarn.so")->type_name("FILE");
  run->add_flag("--quiet,-q", options.is_quiet, "Print nothing of tarn's own");
  run->add_flag("--color", options.wants_color, "Use colour, even in a file");
  run->add_flag("--no-color", options.refuses_color, "Use no colour, even on a terminal");
  // The empty description keeps the range out of the help. The complaint still names it.
  const auto in_range = [](std::size_t least) {
    return CLI::Range(least, pairs_max).description("");
  };
  run->add_option("--compare", options.pairs, "Compare N runs with tarn and N without")
      ->type_name("N")
      ->check(in_range(1));
  run->add_option("--warmup", options.warmups, "Runs of each kind before those that count")
      ->type_name("K")
      ->capture_default_str()
      ->check(in_range(0));
  run->add_option("--against", options.rivals, "Compare another preloaded malloc as well")
      ->type_name("LIB")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  run->add_flag("--show-output", options.shows_output, "Let every run print, not only the first");
  run->add_flag("--allow-failure", options.allows_failure, "Compare runs even if they fail");
}

void check_options(const CLI::App& run) {
  // CLI11 can refuse these by itself, but then prints a list of them behind every option.
  const auto is_given = [&](const char* option) { return run.count(option) > 0; };
  if (is_given("--color") && is_given("--no-color")) {
    throw Failure(status_usage, "run: --color and --no-color contradict each other");
  }
  if (is_given("--check") && is_given("--guard")) {
    throw Failure(status_usage, "run: --guard finds what --check does; leave one of them out");
  }
  for (const char* const option : {"--check", "--guard"}) {
    if (is_given("--hardened") && is_given(option)) {
      throw Failure(status_usage, fmt::format("run: {} finds what --hardened does, and more; leave "
                                              "one of them out",
                                              option));
    }
  }
  for (const char* const option : {"--hardened", "--check", "--guard"}) {
    if (is_given("--guard-every") && is_given(option)) {
      throw Failure(
          status_usage,
          fmt::format("run: {} is for all blocks; leave it or --guard-every out", option));
    }
  }
  for (const char* const option :
       {"--stats", "--quiet", "--hardened", "--check", "--guard", "--guard-every", "--leaks"}) {
    if (is_given("--compare") && is_given(option)) {
      throw Failure(status_usage, fmt::format("run: {} is for a single run; leave it or --compare "
                                              "out",
                                              option));
    }
  }
  if (is_given("--suppressions") && !is_given("--leaks")) {
    throw Failure(status_usage, "run: --suppressions is for --leaks");
  }
  for (const char* const option : {"--warmup", "--against", "--show-output", "--allow-failure"}) {
    if (!is_given("--compare") && is_given(option)) {
      throw Failure(status_usage, fmt::format("run: {} is for --compare N", option));
    }
  }
}

Ending run_verb(const RunOptions& options) {
  Terminal terminal(options.color(), options.is_quiet);
  ResultFile result(options.json);
  return options.pairs > 0 ? compare(options, terminal, result)
                           : plain_run(options, terminal, result);
}

}  // namespace tarn
