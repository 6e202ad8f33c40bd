// compare: see compare.hpp.
//
// Every round runs the program once on each malloc. Rounds come in pairs: the order of the first is
// drawn at random, and that of the second is its reverse. So no malloc always follows the same
// other one, and a drift of the machine affects all alike.
// SPDX-License-Identifier: MIT
#include "compare.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "account_folder.hpp"
#include "comparison.hpp"
#include "failure.hpp"
#include "library.hpp"
#include "program.hpp"
#include "quantity.hpp"
#include "stage.hpp"

namespace tarn {

namespace {

// Why the comparison stopped before its end.
struct Stop {
  std::string text;
  Ending ending;
};

class Rounds {
 public:
  Rounds(const RunOptions& options, Terminal& terminal, Comparison& comparison,
         bool may_show_output);

  // Nothing if all rounds were run.
  std::optional<Stop> run();

 private:
  std::optional<Stop> run_round(std::size_t round, const std::vector<std::size_t>& order);
  std::optional<Stop> judge(const Outcome& outcome, const Contender& contender);
  std::vector<std::size_t> next_order(std::size_t round);
  std::vector<std::string> environment_of(const Contender& contender) const;
  void note_if_inactive(const Outcome& outcome, const AccountFolder& folder);

  const RunOptions& options_;
  Terminal& terminal_;
  Comparison& comparison_;
  bool may_show_output_;
  SignalGate gate_;
  Stage stage_;
  std::size_t done_ = 0;
  std::vector<std::size_t> order_;
  bool is_reverse_next_ = false;
  std::mt19937_64 random_{1};
};

Rounds::Rounds(const RunOptions& options, Terminal& terminal, Comparison& comparison,
               bool may_show_output)
    : options_(options),
      terminal_(terminal),
      comparison_(comparison),
      may_show_output_(may_show_output),
      order_(comparison.contenders.size()) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
}

std::vector<std::size_t> Rounds::next_order(std::size_t round) {
  // In the order of the list: if the program cannot run at all, the run without tarn shows it.
  if (round < options_.warmups) return order_;
  if (is_reverse_next_) {
    std::ranges::reverse(order_);
  } else {
    std::ranges::shuffle(order_, random_);
  }
  is_reverse_next_ = !is_reverse_next_;
  return order_;
}

std::vector<std::string> Rounds::environment_of(const Contender& contender) const {
  std::vector<std::string> environment = current_environment();
  if (!contender.library.empty()) add_preload(environment, contender.library);
  return environment;
}

void Rounds::note_if_inactive(const Outcome& outcome, const AccountFolder& folder) {
  if (folder.read().of(outcome.pid) != nullptr) return;
  comparison_.notes.push_back(
      {"inactive", fmt::format("tarn was not active in {}: it left no account, so both sides ran "
                               "on the same malloc",
                               text_of_name(options_.words.front()))});
  terminal_.warn(comparison_.notes.back().text);
}

std::optional<Stop> Rounds::judge(const Outcome& outcome, const Contender& contender) {
  check_started(outcome, options_.words.front());
  if (outcome.end_signal != 0) {
    return Stop{"interrupted: nothing is compared", {0, outcome.end_signal}};
  }
  if (outcome.has_succeeded() || options_.allows_failure) return std::nullopt;
  const std::string how = outcome.signal() != 0
                              ? fmt::format("died by signal {}", outcome.signal())
                              : fmt::format("exited with {}", outcome.exit_status());
  const std::string with =
      contender.library.empty() ? contender.name : fmt::format("with {}", contender.name);
  const std::string last_words = stage_.captured_errors();
  const int status = outcome.signal() != 0 ? 128 + outcome.signal() : outcome.exit_status();
  return Stop{fmt::format("the program {} in run {} ({}): nothing is compared; --allow-failure "
                          "compares all the same{}{}",
                          how, done_ + 1, with,
                          last_words.empty() ? "" : "\nits last words on stderr:\n", last_words),
              {status, 0}};
}

std::optional<Stop> Rounds::run_round(std::size_t round, const std::vector<std::size_t>& order) {
  const bool is_warmup = round < options_.warmups;
  const std::size_t total = (options_.warmups + options_.pairs) * comparison_.contenders.size();
  for (const std::size_t index : order) {
    Contender& contender = comparison_.contenders[index];
    const bool is_shown = options_.shows_output || (done_ == 0 && is_warmup && may_show_output_);
    if (!is_shown) terminal_.show_progress(done_, total, contender.name);
    Launch launch;
    launch.words = options_.words;
    launch.environment = environment_of(contender);
    stage_.set(launch, is_shown);
    if (is_shown && !may_show_output_) launch.output = STDERR_FILENO;
    // The account costs a little, so it is kept only where nothing is measured.
    std::optional<AccountFolder> folder;
    if (is_warmup && round == 0 && index == 1) {
      folder.emplace();
      set_option(launch.environment, "account", folder->path());
    }
    const Outcome outcome = run_child(launch, gate_);
    if (auto stop = judge(outcome, contender)) return stop;
    if (folder) note_if_inactive(outcome, *folder);
    if (!is_warmup) contender.outcomes.push_back(outcome);
    ++done_;
  }
  return std::nullopt;
}

std::optional<Stop> Rounds::run() {
  if (const int signal = gate_.pending_end(); signal != 0) {
    return Stop{"interrupted: nothing is compared", {0, signal}};
  }
  if (stage_.drops_input()) {
    terminal_.warn(
        "standard input can be read only once, so every run gets an empty one; give the "
        "program a file instead (< FILE)");
  }
  for (std::size_t round = 0; round < options_.warmups + options_.pairs; ++round) {
    if (auto stop = run_round(round, next_order(round))) return stop;
  }
  gate_.drain();
  return std::nullopt;
}

std::vector<Contender> contenders_for(const RunOptions& options) {
  std::vector<Contender> contenders = {{"without tarn", "", {}},
                                       {"tarn", find_library(options.library), {}}};
  for (const std::string& rival : options.rivals) {
    const std::string library = check_library(rival, "--against");
    contenders.push_back({std::filesystem::path(library).filename().string(), library, {}});
  }
  return contenders;
}

void note_before_start(const RunOptions& options, Terminal& terminal, Comparison& comparison) {
  const Inspection inspection = inspect_program(options.words.front());
  comparison.notes = inspection.notes;
  const std::string preloaded = value_of(current_environment(), "LD_PRELOAD");
  if (!preloaded.empty()) {
    comparison.notes.push_back(
        {"preloaded", fmt::format("LD_PRELOAD already names {}: the runs without tarn have it too",
                                  text_of_name(preloaded))});
  }
  for (const Note& note : comparison.notes) terminal.warn(note.text);
  if (inspection.is_preloadable) return;
  throw Failure(status_usage,
                "there is nothing to compare: no malloc can be preloaded into this "
                "program");
}

}  // namespace

Ending compare(const RunOptions& options, Terminal& terminal, ResultFile& result) {
  Comparison comparison;
  comparison.words = options.words;
  comparison.warmups = options.warmups;
  comparison.contenders = contenders_for(options);
  note_before_start(options, terminal, comparison);

  std::optional<Stop> stop;
  {
    Rounds rounds(options, terminal, comparison, !result.is_stdout());
    stop = rounds.run();
  }
  if (stop) {
    terminal.say(fmt::format("tarn: {}", stop->text));
    return stop->ending;
  }
  terminal.say(comparison_text(comparison, terminal));
  if (result.is_wanted()) result.write(comparison_json(comparison));
  return {};
}

}  // namespace tarn
