// leaks: `tarn run --leaks` on a program whose leaks are known: their stacks, the exit status, what
// is suppressed, and what is no leak; and the reading of reports and suppressions by itself.
// SPDX-License-Identifier: MIT
#include "leaks.hpp"

#include <nlohmann/json.hpp>

#include "command.hpp"

namespace tarn::test {

namespace {

using Json = nlohmann::ordered_json;

bool covers(const char* pattern, const char* name) { return Suppression{pattern}.covers(name); }

TEST(Suppressions, FindTheirPatternInNames) {
  EXPECT_TRUE(covers("lose", "lose_list"));
  EXPECT_TRUE(covers("list", "lose_list"));
  EXPECT_TRUE(covers("l*e*t", "lose_list()"));
  EXPECT_TRUE(covers("^lose", "lose_list"));
  EXPECT_TRUE(covers("list$", "lose_list"));
  EXPECT_TRUE(covers("^lose_list$", "lose_list"));
  EXPECT_TRUE(covers("*", ""));
  EXPECT_TRUE(covers("a*ab*b", "xxaababbxx"));
  EXPECT_FALSE(covers("^list", "lose_list"));
  EXPECT_FALSE(covers("lose$", "lose_list"));
  EXPECT_FALSE(covers("^lose$", "lose_list"));
  EXPECT_FALSE(covers("losing", "lose_list"));
  EXPECT_FALSE(covers("a*b", "ba"));
  EXPECT_FALSE(covers("x", ""));
}

TEST(Suppressions, AreLines) {
  const auto all =
      read_suppressions("# a comment\n\n  leak: std::vector*  # why\r\nlibfoo.so\n#\nlast");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].pattern, "std::vector*");
  EXPECT_EQ(all[1].pattern, "libfoo.so");
  EXPECT_EQ(all[2].pattern, "last");
  EXPECT_TRUE(read_suppressions("").empty());
  EXPECT_FALSE(suppressions_in("/no/such/file").has_value());
  EXPECT_FALSE(suppressions_in("/").has_value());
}

Json group(int blocks, int bytes, const char* function) {
  Json made = {{"heap_id", 2},     {"heap", "malloc"},   {"block_bytes", bytes},
               {"blocks", blocks}, {"direct_blocks", 1}, {"allocated_at", Json::array()}};
  if (function != nullptr)
    made["allocated_at"].push_back({{"function", function}, {"module", "m"}});
  return made;
}

TEST(Suppressions, TakeTheirGroupsOutOfTheSums) {
  Json report = {{"blocks", 16},
                 {"bytes", 390},
                 {"direct_blocks", 5},
                 {"direct_bytes", 110},
                 {"groups",
                  {group(3, 10, "a"), group(2, 50, "b"), group(4, 20, "a"), group(6, 30, nullptr),
                   group(1, 0, nullptr), 7}}};
  auto all = read_suppressions("b\nunused");
  EXPECT_TRUE(suppress(report, all));
  EXPECT_EQ(all[0].blocks, 2u);
  EXPECT_EQ(all[0].bytes, 100u);
  EXPECT_EQ(all[1].blocks, 0u);
  EXPECT_EQ(report["blocks"], 14);
  EXPECT_EQ(report["bytes"], 290);
  EXPECT_EQ(report["direct_blocks"], 4);
  EXPECT_EQ(report["suppressed_blocks"], 2);
  ASSERT_EQ(report["groups"].size(), 3u) << "one stack is one group; those without stay apart";
  EXPECT_EQ(report["groups"][0]["bytes"], 180);
  EXPECT_EQ(report["groups"][1]["bytes"], 110);
  EXPECT_EQ(report["groups"][1]["blocks"], 7);
  EXPECT_FALSE(report["groups"][1].contains("block_bytes"));
  const std::string text = leaks_text(report, all);
  EXPECT_TRUE(contains(text, "tarn: no pointer reaches 14 blocks of 290 bytes, 4 of 60 directly"));
  EXPECT_TRUE(contains(text,
                       "tarn: leak: 180 bytes, 6 blocks of 30, 1 directly, of the heap "
                       "\"malloc\" (number 2)\n"));
  EXPECT_TRUE(contains(text, "tarn: leak: 110 bytes, 7 blocks, 2 directly"));
  EXPECT_TRUE(contains(text, "tarn: suppressed: 100 bytes in 2 blocks by b\n"));
  all = read_suppressions("*\n");
  Json covered = {{"blocks", 1}, {"bytes", 1}, {"groups", {group(1, 1, "f")}}};
  EXPECT_FALSE(suppress(covered, all));
  Json empty = Json::object();
  EXPECT_FALSE(suppress(empty, all));
}

#ifdef TARN_REAL_LIBRARY

class Leaks : public CommandTest {
 protected:
  Result run_subject(std::vector<std::string> options, const std::vector<std::string>& words) {
    std::vector<std::string> all{"run", "-q", "--leaks"};
    all.insert(all.end(), options.begin(), options.end());
    all.push_back("--");
    all.push_back(TARN_LEAKS_SUBJECT);
    all.insert(all.end(), words.begin(), words.end());
    return run(all);
  }
};

TEST_F(Leaks, AreReportedWithTheirStacks) {
  const Result result = run_subject({}, {});
  EXPECT_EQ(result.exit_status(), 23) << result.errors;
  EXPECT_EQ(result.output, "a line without its end");
  EXPECT_TRUE(contains(result.errors,
                       "tarn: no pointer reaches 5 blocks of 3,096 bytes, 3 of 3,032 "
                       "directly (of "));
  EXPECT_TRUE(contains(result.errors,
                       "tarn: leak: 3,000 bytes, 2 blocks, 2 directly, of the heap "
                       "\"malloc\" (number "));
  EXPECT_TRUE(contains(result.errors, "tarn: leak: 96 bytes, 3 blocks of 32, 1 directly, of the "));
  EXPECT_TRUE(contains(result.errors, "::lose_buffers at "));
  EXPECT_TRUE(contains(result.errors, "::make_node at "));
  EXPECT_TRUE(contains(result.errors, "::lose_list at "));
}

TEST_F(Leaks, APatternLeavesThemOut) {
  write_file("some", "lose_list\n");
  Result result = run_subject({"--suppressions", "some"}, {});
  EXPECT_EQ(result.exit_status(), 23);
  EXPECT_TRUE(contains(result.errors, "tarn: no pointer reaches 2 blocks of 3,000 bytes"));
  EXPECT_FALSE(contains(result.errors, "make_node"));
  EXPECT_TRUE(contains(result.errors, "tarn: suppressed: 96 bytes in 3 blocks by lose_list\n"));
  write_file("all", "# Known.\nleaks_subject.cpp$\n");
  result = run_subject({"--suppressions", "all"}, {});
  EXPECT_EQ(result.exit_status(), 0);
  EXPECT_EQ(result.errors, "");
}

TEST_F(Leaks, TheProgramsOwnStatusStays) {
  EXPECT_EQ(run_subject({}, {"exit", "5"}).exit_status(), 5);
  variables = {"TARN_OPTIONS=leak_status=9"};
  EXPECT_EQ(run_subject({}, {"exit", "0"}).exit_status(), 9);
  variables = {"TARN_OPTIONS=leak_status=0"};
  EXPECT_EQ(run_subject({}, {"exit", "0"}).exit_status(), 0);
}

TEST_F(Leaks, WhoDoesNotExitIsNotAsked) {
  const Result result = run_subject({}, {"_exit"});
  EXPECT_EQ(result.exit_status(), 0);
  EXPECT_EQ(result.errors, "");
}

TEST_F(Leaks, AChildHasItsOwn) {
  const Result result = run_subject({}, {"fork"});
  EXPECT_EQ(result.exit_status(), 23);
  EXPECT_TRUE(contains(result.errors, "tarn: leak: 77 bytes, 1 block of 77, 1 directly"));
}

TEST_F(Leaks, AreFoundInFastAndHardenedHeapsToo) {
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--hardened"}, {"--guard"}, {"--check"}}) {
    const Result result = run_subject(options, {});
    EXPECT_EQ(result.exit_status(), 23) << options[0];
    EXPECT_TRUE(contains(result.errors, "tarn: no pointer reaches 5 blocks of 3,"));
  }
  variables = {"TARN_OPTIONS=mode=fast"};
  const Result result = run_subject({}, {});
  EXPECT_EQ(result.exit_status(), 23);
  EXPECT_TRUE(contains(result.errors, "tarn: no pointer reaches 5 blocks of 3,"));
}

TEST_F(Leaks, ASignalAsksForThem) {
  variables = {"TARN_OPTIONS=report_json=1,report_file=report,leak_signal=12"};
  const Result result = run_subject({}, {"signal", "report"});
  EXPECT_EQ(result.exit_status(), 3);
  const auto report = nlohmann::json::parse(read_file("report"), nullptr, false);
  ASSERT_TRUE(report.is_object()) << read_file("report") << result.errors;
  EXPECT_EQ(report["tarn"], "leaks");
  EXPECT_EQ(report["blocks"], 5);
  EXPECT_FALSE(report.contains("show"));
}

TEST_F(Leaks, WrongOptionsAreRefused) {
  const Result none = run_subject({"--suppressions", "none"}, {});
  EXPECT_EQ(none.exit_status(), 2);
  EXPECT_TRUE(contains(none.errors, "run: --suppressions: 'none' cannot be read"));
  EXPECT_EQ(run({"run", "--suppressions", "x", "--", "true"}).exit_status(), 2);
  EXPECT_EQ(run({"run", "--leaks", "--compare", "2", "--", "true"}).exit_status(), 2);
}

#endif

}  // namespace

}  // namespace tarn::test
