// symbolize: `tarn symbolize`, and reports of programs that `tarn run` has started: functions,
// files, lines and what is inlined, in text and JSON, during the run and afterwards.
// SPDX-License-Identifier: MIT
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "command.hpp"

namespace tarn::test {

namespace {

#ifdef TARN_REAL_LIBRARY

// The line of the subject that ends in these words.
std::string line_of(const std::string& words) {
  std::ifstream file(TARN_SYMBOLIZE_SOURCE);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.ends_with("// " + words)) return std::to_string(number);
  }
  return "none";
}

testing::AssertionResult has_lines(const std::string& text, const std::vector<std::string>& lines) {
  std::string pattern;
  for (const std::string& line : lines) pattern += line + "\n";
  if (std::regex_search(text, std::regex(pattern))) return testing::AssertionSuccess();
  return testing::AssertionFailure() << pattern << " is not in:\n" << text;
}

#endif

class Symbolize : public CommandTest {
 protected:
#ifdef TARN_REAL_LIBRARY
  std::string place(const std::string& words) const {
    return " at [^\n]*symbolize_subject.cpp:" + line_of(words);
  }
  // What a report of the subject has, with a call for each of the functions.
  std::vector<std::string> expected() const {
    const std::string site = "tarn_tools_symbolize_subject\\+0x[0-9a-f]+ \\(0x[0-9a-f]+\\) ";
    return {"tarn:   allocated at " + site + "[^\n]*::Row::fill" + place("Row::fill") +
                " \\(inlined\\)",
            "tarn:             by " + site + "[^\n]*::make" + place("make"),
            "tarn:             by " + site + "main at [^\n]*(\ntarn: +by [^\n]*)*",
            "tarn:   freed at " + site + "[^\n]*::drop" + place("drop"),
            "tarn:         by " + site + "main" + place("first") + "(\ntarn: +by [^\n]*)*",
            "tarn:   now at " + site + "[^\n]*::drop" + place("drop"),
            "tarn:       by " + site + "main" + place("second")};
  }
#endif
  Result symbolize(const std::vector<std::string>& words) {
    std::vector<std::string> all{"symbolize"};
    all.insert(all.end(), words.begin(), words.end());
    return run(all);
  }
};

#ifdef TARN_REAL_LIBRARY

TEST_F(Symbolize, ReportsOfARunHaveLines) {
  const Result result = run({"run", "-q", "--check", "--", TARN_SYMBOLIZE_SUBJECT});
  EXPECT_EQ(result.signal(), SIGABRT);
  EXPECT_EQ(result.errors.find("tarn: double free: free(0x"), 0u) << result.errors;
  EXPECT_TRUE(has_lines(result.errors, expected()));
}

TEST_F(Symbolize, SoDoThoseInAFile) {
  variables = {"TARN_OPTIONS=report_file=report,misuse_status=9,stack_depth=2"};
  const Result result = run({"run", "-q", "--check", "--", TARN_SYMBOLIZE_SUBJECT});
  EXPECT_EQ(result.exit_status(), 9);
  EXPECT_EQ(result.errors, "");
  EXPECT_TRUE(has_lines(read_file("report"), expected()));
}

TEST_F(Symbolize, JsonHasThemToo) {
  variables = {"TARN_OPTIONS=report_json=1"};
  const Result result = run({"run", "-q", "--check", "--", TARN_SYMBOLIZE_SUBJECT});
  const auto report = nlohmann::json::parse(result.errors);
  EXPECT_EQ(report["kind"], "double free");
  const auto& calls = report["allocated_at"];
  EXPECT_TRUE(calls[0]["inlined"]);
  EXPECT_EQ(calls[0]["address"], calls[1]["address"]);
  EXPECT_FALSE(calls[1].contains("inlined"));
  EXPECT_EQ(calls[1]["line"], std::stoi(line_of("make")));
  EXPECT_EQ(calls[2]["function"], "main");
  EXPECT_EQ(report["freed_at"][0]["line"], std::stoi(line_of("drop")));
  EXPECT_EQ(report["now_at"][1]["line"], std::stoi(line_of("second")));
}

TEST_F(Symbolize, AReportIsReadAfterwards) {
  variables = {"TARN_OPTIONS=symbolizer=/none"};
  const Result result = run({"run", "-q", "--check", "--", TARN_SYMBOLIZE_SUBJECT});
  EXPECT_FALSE(has_lines(result.errors, expected()));
  variables.clear();
  write_file("report", "before\n" + result.errors + "behind");
  input = (folder() / "report").string();
  const Result read = symbolize({TARN_SYMBOLIZE_SUBJECT});
  EXPECT_EQ(read.exit_status(), 0) << read.errors;
  EXPECT_TRUE(has_lines(read.output, expected()));
  EXPECT_EQ(read.output.find("before\ntarn: double free: "), 0u) << read.output;
  EXPECT_TRUE(read.output.ends_with("\nbehind\n")) << read.output;
}

#endif

TEST_F(Symbolize, WhatIsNoReportIsPassedOn) {
  const std::string text =
      "tarn: double free: free(0x10): the memory was freed before\n"
      "tarn:   now at nothing+0x10 (0x10) name\n"
      "tarn:   now at 0x10\n"
      "tarn:   now at nothing+0xffffffffffffffffff (0x10)\n"
      "{\"tarn\":\"misuse\",\"now_at\":[{\"address\":\"0x10\"},{\"address\":7},3]}\n"
      "{\"tarn\":\"misuse\",\"now_at\":{\"address\":\"none\"}}\n"
      "{\"other\":1}\n{broken\n\n";
  write_file("report", text);
  input = (folder() / "report").string();
  const Result result = symbolize({TARN_SYMBOLIZE_SUBJECT});
  EXPECT_EQ(result.exit_status(), 0) << result.errors;
  EXPECT_EQ(result.output, text);
}

TEST_F(Symbolize, LongLinesAndDeepOnesArePassedOn) {
  const std::string text = "tarn:   allocated at " + std::string(1'000'000, 'x') + "\n" +
                           "tarn:   now at a+0x1 (0x1) " + std::string(1'000'000, 'x') + "\n" +
                           "{\"tarn\":\"misuse\",\"x\":" + std::string(200'000, '[') +
                           std::string(200'000, ']') + "}\nlast\n";
  write_file("report", text);
  input = (folder() / "report").string();
  const Result result = symbolize({TARN_SYMBOLIZE_SUBJECT});
  EXPECT_EQ(result.exit_status(), 0) << result.errors;
  EXPECT_TRUE(result.output == text);
}

TEST_F(Symbolize, LeaksOfWrongTypesAreRead) {
  write_file("report",
             "{\"tarn\":\"leaks\",\"show\":\"text\",\"blocks\":\"x\",\"groups\":[{\"heap\":5,"
             "\"blocks\":2,\"block_bytes\":3,\"allocated_at\":7},9]}\n"
             "{\"tarn\":\"leaks\",\"groups\":5}\n");
  input = (folder() / "report").string();
  const Result result = symbolize({TARN_SYMBOLIZE_SUBJECT});
  EXPECT_EQ(result.exit_status(), 1);
  EXPECT_TRUE(contains(result.output, "tarn: no pointer reaches 2 blocks of 6 bytes"));
}

TEST_F(Symbolize, WrongWordsAreRefused) {
  EXPECT_TRUE(contains(symbolize({"no-such-file"}).errors, "symbolize: no-such-file: "));
  EXPECT_EQ(symbolize({"no-such-file"}).exit_status(), 2);
  write_file("text", "no program");
  EXPECT_EQ(symbolize({"text"}).exit_status(), 2);
  EXPECT_EQ(symbolize({"--process", "1", "text"}).exit_status(), 2);
  EXPECT_EQ(symbolize({"--process", "0"}).exit_status(), 2);
  EXPECT_EQ(symbolize({"--process", "4194304"}).exit_status(), 125);
  EXPECT_EQ(symbolize({"--processes"}).exit_status(), 2);
}

}  // namespace

}  // namespace tarn::test
