// run: one program under `tarn run`: its status, its account, its environment.
// SPDX-License-Identifier: MIT
#include <sys/wait.h>

#include <nlohmann/json.hpp>

#include "command.hpp"

namespace tarn::test {

namespace {

class Run : public CommandTest {};

TEST_F(Run, StatusIsThatOfTheProgram) {
  EXPECT_EQ(run_on_fake({}, {TARN_SUBJECT, "exit", "0"}).exit_status(), 0);
  EXPECT_EQ(run_on_fake({}, {TARN_SUBJECT, "exit", "37"}).exit_status(), 37);
  EXPECT_EQ(leftovers(), std::vector<std::string>());
}

TEST_F(Run, DeathBySignalIsThatOfTheProgramWithOneCoreAtMost) {
  for (const int signal : {SIGTERM, SIGSEGV, SIGABRT, SIGKILL, SIGUSR1}) {
    const Result result = run_on_fake({}, {TARN_SUBJECT, "die", std::to_string(signal)});
    EXPECT_EQ(result.signal(), signal);
    EXPECT_FALSE(result.has_core()) << "signal " << signal;
    EXPECT_TRUE(contains(result.errors, "died by SIG"));
  }
  EXPECT_EQ(leftovers(), std::vector<std::string>());
}

TEST_F(Run, WhatCannotStartEndsAsInShells) {
  const Result missing = run_on_fake({}, {"surely-no-such-program"});
  EXPECT_EQ(missing.exit_status(), 127);
  EXPECT_TRUE(contains(missing.errors, "'surely-no-such-program': not found in PATH"));
  EXPECT_EQ(run_on_fake({}, {"./nothing-here"}).exit_status(), 127);

  write_file("plain", "no program");
  const Result plain = run_on_fake({}, {"./plain"});
  EXPECT_EQ(plain.exit_status(), 126);
  EXPECT_TRUE(contains(plain.errors, "Permission denied"));

  write_file("orphan", "#!/no/such/interpreter\n", true);
  const Result orphan = run_on_fake({}, {"./orphan"});
  EXPECT_EQ(orphan.exit_status(), 126);
  EXPECT_TRUE(contains(orphan.errors, "interpreter"));
  EXPECT_EQ(leftovers(), std::vector<std::string>());
}

TEST_F(Run, FileWithoutInterpreterGoesToTheShellAsWithExecvp) {
  write_file("script", "exit 21\n", true);
  EXPECT_EQ(run_on_fake({}, {"./script"}).exit_status(), 21);
}

TEST_F(Run, OutputAndArgumentsPassUntouched) {
  const Result result = run_on_fake({"--quiet"}, {TARN_SUBJECT, "say", "--json -- x"});
  EXPECT_EQ(result.output, "--json -- x\n");
  EXPECT_EQ(result.errors, "");
}

TEST_F(Run, AccountIsShortAndReadable) {
  const Result result = run_on_fake({}, {TARN_SUBJECT, "exit", "0"});
  EXPECT_TRUE(contains(result.errors, "tarn: subject (pid "));
  EXPECT_TRUE(contains(result.errors, "peak ~3.00 MiB live, 1.00 KiB at the end"));
  EXPECT_TRUE(contains(result.errors, "peak RSS"));
  EXPECT_TRUE(contains(result.errors, "in the kernel"));
  EXPECT_TRUE(contains(result.errors, "7 blocks"));
  EXPECT_FALSE(contains(result.errors, "size class"));
  EXPECT_FALSE(contains(result.errors, "as last written"));
  const auto lines = std::ranges::count(result.errors, '\n');
  EXPECT_GE(lines, 5);
  EXPECT_LE(lines, 8);
}

TEST_F(Run, StatsAddTheTableOfClasses) {
  const Result result = run_on_fake({"--stats"}, {TARN_SUBJECT, "exit", "0"});
  // 100 sampled requests of 1200 bytes in all, in blocks of 16: a quarter was not asked for.
  EXPECT_TRUE(contains(result.errors, "16 B       1,234,567            12        192 B    ~25 %"));
  EXPECT_TRUE(contains(result.errors, "64 B              10             1         64 B        -"));
}

TEST_F(Run, ProcessThatLeftThroughExitIsShownAndMarked) {
  const Result result = run_on_fake({"--json", "-"}, {TARN_SUBJECT, "leave", "5"});
  EXPECT_EQ(result.exit_status(), 5);
  EXPECT_TRUE(contains(result.errors, "as last written"));
  EXPECT_EQ(nlohmann::json::parse(result.output)["processes"][0]["state"], "unfinished");
}

TEST_F(Run, WithJsonOnStdoutTheProgramPrintsToStderr) {
  const Result result = run_on_fake({"--quiet", "--json", "-"}, {TARN_SUBJECT, "say", "hello"});
  EXPECT_EQ(nlohmann::json::parse(result.output)["format"], "tarn-run");
  EXPECT_EQ(result.errors, "hello\n");
}

TEST_F(Run, ChildrenAreListedByPeak) {
  const std::string script = std::string(TARN_SUBJECT) + " exit 0; " + TARN_SUBJECT + " exit 0";
  const Result result = run_on_fake({}, {"sh", "-c", script + "; exit 4"});
  EXPECT_EQ(result.exit_status(), 4);
  EXPECT_TRUE(contains(result.errors, "3 processes were on tarn"));
  EXPECT_TRUE(contains(result.errors, "~3.00 MiB  subject"));
}

TEST_F(Run, JsonHasEverything) {
  const Result result = run_on_fake({"--json", "out.json"}, {TARN_SUBJECT, "exit", "3"});
  EXPECT_EQ(result.exit_status(), 3);
  const auto json = nlohmann::json::parse(read_file("out.json"));
  EXPECT_EQ(json["format"], "tarn-run");
  EXPECT_EQ(json["format_version"], 1);
  EXPECT_EQ(json["command"], nlohmann::json({TARN_SUBJECT, "exit", "3"}));
  EXPECT_EQ(json["exit_status"], 3);
  EXPECT_TRUE(json["signal"].is_null());
  EXPECT_EQ(json["is_active"], true);
  EXPECT_GT(json["resources"]["peak_rss_bytes"], 100000);
  EXPECT_GT(json["resources"]["minor_faults"], 0);
  EXPECT_GT(json["resources"]["wall_seconds"], 0.0);
  ASSERT_EQ(json["processes"].size(), 1u);
  const auto& process = json["processes"][0];
  EXPECT_EQ(process["state"], "final");
  EXPECT_EQ(process["pid"], json["pid"]);
  EXPECT_EQ(process["live_bytes_peak"], 3u << 20);
  ASSERT_EQ(process["classes"].size(), 2u);
  EXPECT_EQ(process["classes"][0]["allocations"], 1234567);
  EXPECT_DOUBLE_EQ(process["classes"][0]["slack"], 0.25);
  EXPECT_TRUE(process["classes"][1]["slack"].is_null());
}

TEST_F(Run, JsonReplacesAnOlderResultOnlyWhenThereIsOne) {
  write_file("old.json", std::string(100000, 'x'));
  EXPECT_EQ(run_on_fake({"--json", "old.json"}, {"surely-no-such-program"}).exit_status(), 127);
  EXPECT_EQ(read_file("old.json").size(), 100000u);
  run_on_fake({"--json", "old.json"}, {TARN_SUBJECT, "exit", "0"});
  EXPECT_TRUE(nlohmann::json::accept(read_file("old.json")));

  run_on_fake({"--json", "new.json"}, {"surely-no-such-program"});
  EXPECT_FALSE(std::filesystem::exists(folder() / "new.json"));
}

TEST_F(Run, JsonOfNamesThatAreNoUnicodeIsStillJson) {
  const Result result = run_on_fake({"--json", "-"}, {TARN_SUBJECT, "exit", "0", "\xff\x01"});
  EXPECT_TRUE(nlohmann::json::accept(result.output));
}

TEST_F(Run, EnvironmentIsTheUsersWithTarnInFront) {
  variables = {"LD_PRELOAD=" TARN_FAKE_LIBRARY, "TARN_OPTIONS=purge_delay_ms=5,account=/other",
               // For a sanitized build of the command, which would mind what is preloaded.
               "ASAN_OPTIONS=verify_asan_link_order=0"};
  const Result result = run_on_fake({"-q"}, {TARN_SUBJECT, "environment"});
  EXPECT_TRUE(contains(result.output, TARN_FAKE_LIBRARY ":" TARN_FAKE_LIBRARY "\n"));
  EXPECT_TRUE(contains(result.output, "\npurge_delay_ms=5,account=" + folder().string() + "/"));
}

TEST_F(Run, ModesAreInPlaceOfTheUsers) {
  variables = {"TARN_OPTIONS=mode=fast,purge_delay_ms=5"};
  for (const auto& [flag, mode] :
       {std::pair("--hardened", "hardened"), {"--check", "checked"}, {"--guard", "guarded"}}) {
    const Result result = run_on_fake({"-q", flag}, {TARN_SUBJECT, "environment"});
    EXPECT_TRUE(contains(result.output, std::string(",mode=") + mode + "\n")) << result.output;
    EXPECT_TRUE(contains(result.output, "\npurge_delay_ms=5,account="));
    EXPECT_FALSE(contains(result.output, "mode=fast"));
  }
}

TEST_F(Run, GuardEveryIsAnOption) {
  const Result result = run_on_fake({"-q", "--guard-every", "5000"}, {TARN_SUBJECT, "environment"});
  EXPECT_TRUE(contains(result.output, ",guard_every=5000\n")) << result.output;
}

TEST_F(Run, TemporaryFolderWithACommaIsNotUsed) {
  std::filesystem::create_directory(folder() / "a,b");
  variables = {"TMPDIR=" + (folder() / "a,b").string()};
  const Result result = run_on_fake({"-q"}, {TARN_SUBJECT, "environment"});
  EXPECT_TRUE(contains(result.output, "account=/tmp/tarn-"));
}

TEST_F(Run, MissingAccountIsTold) {
  // A preloaded library that is no tarn: the program runs, and nothing is made up.
  const Result result =
      run({"run", "--json", "-", "--library", TARN_EMPTY_LIBRARY, "--", TARN_SUBJECT, "exit", "6"});
  EXPECT_EQ(result.exit_status(), 6);
  EXPECT_TRUE(contains(result.errors, "tarn was not active"));
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json["is_active"], false);
  EXPECT_EQ(json["notes"][0]["kind"], "inactive");
}

TEST_F(Run, ClosedStandardDescriptorsStayClosed) {
  const std::string script = std::string("exec 0<&- ; exec ") + TARN_COMMAND +
                             " run -q --library " + TARN_FAKE_LIBRARY +
                             " -- sh -c 'test ! -e /proc/self/fd/0'";
  EXPECT_EQ(WEXITSTATUS(std::system(script.c_str())), 0);
}

#ifdef TARN_REAL_LIBRARY
TEST_F(Run, AccountOfTheRealLibrary) {
  const Result result = run({"run", "--json", "-", "--", TARN_SUBJECT, "allocate"});
  ASSERT_EQ(result.exit_status(), 0) << result.errors;
  const auto json = nlohmann::json::parse(result.output);
  ASSERT_EQ(json["is_active"], true) << result.errors;
  const auto& process = json["processes"][0];
  EXPECT_EQ(process["state"], "final");
  EXPECT_EQ(process["program"], "subject");
  // Ten thousand blocks of a thousand bytes; the peak may be taken a little early.
  EXPECT_GE(process["live_bytes_peak"], 9'000'000);
  EXPECT_LE(process["live_bytes_peak"], 14'000'000);
  EXPECT_LT(process["live_bytes"], 1'000'000);
  std::uint64_t allocations = 0;
  for (const auto& row : process["classes"]) allocations += row["allocations"].get<std::uint64_t>();
  EXPECT_GE(allocations, 10'000u);
}
#endif

}  // namespace

}  // namespace tarn::test
