// compare: `tarn run --compare`: what is run, what is measured, what is concluded.
// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include <sstream>

#include "command.hpp"
#include "comparison.hpp"

namespace tarn::test {

namespace {

class Compare : public CommandTest {};

// A contender whose runs took these wall times, and ten times as many KiB at most.
Contender contender_with(const std::string& name, const std::vector<double>& seconds) {
  Contender contender{name, "", {}};
  for (const double wall : seconds) {
    Outcome outcome;
    outcome.wall_seconds = wall;
    outcome.usage.ru_maxrss = static_cast<long>(wall * 10);
    contender.outcomes.push_back(outcome);
  }
  return contender;
}

TEST_F(Compare, TableAndVerdict) {
  const Result result = run_on_fake({"--compare", "3"}, {TARN_SUBJECT, "exit", "0"});
  EXPECT_EQ(result.exit_status(), 0);
  for (const char* const row :
       {"wall time", "user time", "kernel time", "peak RSS", "minor faults"}) {
    EXPECT_TRUE(contains(result.errors, row));
  }
  EXPECT_TRUE(contains(result.errors, "no difference that 3 pairs of runs can show"));
  // Each column has a head, and the head says what is divided by what.
  EXPECT_TRUE(contains(result.errors, "tarn / without tarn, ratio of\n"));
  const std::string& text = result.errors;
  const std::size_t end = text.find("tarn / without tarn, ratio of\n");
  const std::string heads = text.substr(end, text.find("wall time") - end);
  for (const char* const head : {"median ", "medians ", "pairs ", "pairs, range\n"}) {
    EXPECT_TRUE(contains(heads, head));
  }
  EXPECT_EQ(leftovers(), std::vector<std::string>());
}

TEST_F(Compare, WithJsonOnStdoutRunsThatAreShownPrintToStderr) {
  const Result result = run_on_fake({"--compare", "1", "--show-output", "--json", "-"},
                                    {TARN_SUBJECT, "say", "hello"});
  EXPECT_EQ(nlohmann::json::parse(result.output)["pairs"], 1);
  EXPECT_TRUE(contains(result.errors, "hello\nhello\n"));
}

TEST_F(Compare, JsonHasEveryRun) {
  const Result result =
      run_on_fake({"--compare", "3", "--json", "-", "--against", TARN_EMPTY_LIBRARY},
                  {TARN_SUBJECT, "say", "hello"});
  // With the JSON on stdout the program's own output would spoil it.
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json["format"], "tarn-compare");
  EXPECT_EQ(json["pairs"], 3);
  EXPECT_TRUE(json["confidence"].is_null());
  ASSERT_EQ(json["contenders"].size(), 3u);
  EXPECT_EQ(json["contenders"][0]["name"], "without tarn");
  EXPECT_EQ(json["contenders"][1]["name"], "tarn");
  for (const auto& contender : json["contenders"]) EXPECT_EQ(contender["runs"].size(), 3u);
  const auto& wall = json["contenders"][1]["metrics"]["wall_seconds"];
  EXPECT_LE(wall["min"], wall["median"]);
  EXPECT_LE(wall["median"], wall["max"]);
  EXPECT_GT(wall["ratio"]["median_of_pairs"], 0.0);
}

TEST_F(Compare, EachContenderHasItsOwnPreloadAndNoAccount) {
  write_file("record", "#!/bin/sh\necho \"$LD_PRELOAD|$TARN_OPTIONS\" >> seen\n", true);
  run_on_fake({"--compare", "2", "--warmup", "0"}, {"./record"});
  std::istringstream seen(read_file("seen"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(seen, line);) lines.push_back(line);
  std::ranges::sort(lines);
  const std::string with = TARN_FAKE_LIBRARY "|";
  std::vector<std::string> expected = {with, with, "|", "|"};
  std::ranges::sort(expected);
  EXPECT_EQ(lines, expected);
}

TEST_F(Compare, OutputIsShownOnceUnlessMoreIsWanted) {
  const auto program = std::vector<std::string>{TARN_SUBJECT, "say", "hello"};
  EXPECT_EQ(run_on_fake({"--compare", "2"}, program).output, "hello\n");
  EXPECT_EQ(run_on_fake({"--compare", "2", "--warmup", "0"}, program).output, "");
  EXPECT_EQ(run_on_fake({"--compare", "1", "--show-output"}, program).output,
            "hello\nhello\nhello\nhello\n");
}

TEST_F(Compare, EveryRunReadsTheSameInput) {
  write_file("input", "abc");
  input = (folder() / "input").string();
  const Result result = run_on_fake({"--compare", "2", "--show-output"}, {TARN_SUBJECT, "sum"});
  EXPECT_EQ(result.exit_status(), 0);
  // Whole lines: a ratio in the table may end in these digits, too.
  std::istringstream lines(result.errors);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) count += line == "294" ? 1 : 0;
  EXPECT_EQ(count, 6u);
}

TEST_F(Compare, FailureStopsUnlessAllowed) {
  const std::vector<std::string> fails = {"sh", "-c", "echo why >&2; exit 4"};
  const Result shown = run_on_fake({"--compare", "2", "--json", "x.json"}, fails);
  EXPECT_EQ(shown.exit_status(), 4);
  EXPECT_TRUE(contains(shown.errors, "why\ntarn: the program exited with 4 in run 1 (without"));
  EXPECT_FALSE(std::filesystem::exists(folder() / "x.json"));
  const Result hidden = run_on_fake({"--compare", "2", "--warmup", "0"}, fails);
  EXPECT_EQ(hidden.exit_status(), 4);
  EXPECT_TRUE(contains(hidden.errors, "its last words on stderr:\nwhy"));
  EXPECT_EQ(run_on_fake({"--compare", "2", "--allow-failure"}, fails).exit_status(), 0);
  EXPECT_EQ(run_on_fake({"--compare", "2"}, {"no-such-program"}).exit_status(), 127);
}

TEST_F(Compare, InterruptionEndsTheWholeComparison) {
  Running running = start(on_fake({"--compare", "9"}, {"sh", "-c", "echo ready; exec sleep 1000"}));
  ASSERT_TRUE(running.read_until("ready\n"));
  ::kill(running.pid(), SIGINT);
  const Result result = running.finish();
  EXPECT_EQ(result.signal(), SIGINT);
  EXPECT_TRUE(contains(result.errors, "interrupted"));
  EXPECT_EQ(leftovers(), std::vector<std::string>());
}

TEST_F(Compare, InactiveTarnIsTold) {
  const Result result = run(
      {"run", "--library", TARN_EMPTY_LIBRARY, "--compare", "1", "--", TARN_SUBJECT, "exit", "0"});
  EXPECT_TRUE(contains(result.errors, "tarn was not active"));
  const Result active = run_on_fake({"--compare", "1"}, {TARN_SUBJECT, "exit", "0"});
  EXPECT_FALSE(contains(active.errors, "not active"));
}

TEST(Verdict, SaysFasterOnlyWhenPairsShowIt) {
  const Contender base = contender_with("without", {100, 101, 99, 100, 102, 100, 99, 101});
  const Contender fast = contender_with("tarn", {88, 89, 87, 88, 90, 88, 87, 89});
  EXPECT_TRUE(contains(verdict_of(fast, base), "tarn is faster: 12 % less time (95 % CI 12 % to"));
  EXPECT_TRUE(contains(verdict_of(fast, base), "12 % less peak memory"));
  EXPECT_TRUE(contains(verdict_of(base, fast), "without is slower: 14 % more time"));
}

TEST(Verdict, SaysSoWhenNothingIsShown) {
  const Contender base = contender_with("without", {100, 120, 90, 100, 80, 105, 100, 95});
  const Contender same = contender_with("tarn", {105, 100, 95, 90, 100, 100, 85, 115});
  EXPECT_EQ(verdict_of(same, base), "tarn: no difference that 8 pairs of runs can show");
}

TEST(Verdict, FewPairsShowNothingHoweverFarApart) {
  const Contender base = contender_with("without", {100, 100, 100, 100, 100});
  const Contender fast = contender_with("tarn", {10, 10, 10, 10, 10});
  EXPECT_TRUE(contains(verdict_of(fast, base), "no difference that 5 pairs of runs can show"));
  EXPECT_TRUE(contains(verdict_of(fast, base), "so far 90 % less time"));
}

TEST(Verdict, RatioOfNothingIsUnknown) {
  const Contender base = contender_with("without", {0, 1, 1});
  const Contender other = contender_with("tarn", {1, 1, 1});
  EXPECT_FALSE(ratio_of(other, base, metrics()[0]).is_known);
}

}  // namespace

}  // namespace tarn::test
