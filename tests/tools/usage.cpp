// usage: wrong command lines end with 2 and a sentence that says what to do, before anything runs.
// SPDX-License-Identifier: MIT
#include <unistd.h>

#include "command.hpp"

namespace tarn::test {

namespace {

class Usage : public CommandTest {
 protected:
  void expect_refused(const std::vector<std::string>& words, const std::string& reason) {
    const Result result = run(words);
    EXPECT_EQ(result.exit_status(), 2) << result.errors;
    EXPECT_TRUE(contains(result.errors, reason));
    EXPECT_TRUE(result.errors.starts_with("tarn: ")) << result.errors;
    EXPECT_EQ(result.output, "");
    EXPECT_EQ(leftovers(), std::vector<std::string>());
  }
};

TEST_F(Usage, HelpAndVersionGoToStdout) {
  const Result version = run({"--version"});
  EXPECT_EQ(version.exit_status(), 0);
  EXPECT_EQ(version.output, "tarn " TARN_COMMAND_VERSION "\n");
  const Result help = run({"run", "--help"});
  EXPECT_EQ(help.exit_status(), 0);
  EXPECT_TRUE(contains(help.output, "tarn run [OPTIONS] -- PROGRAM"));
  EXPECT_TRUE(contains(help.output, "--compare N"));
  EXPECT_TRUE(contains(run({"--help"}).output, "run"));
}

TEST_F(Usage, VerbsAndOptionsThatThereAreNot) {
  expect_refused({}, "name a verb");
  expect_refused({"frob"}, "there is no verb 'frob'");
  expect_refused({"run", "--frob", "--", "true"}, "there is no option --frob");
}

TEST_F(Usage, ProgramComesAfterTheSeparator) {
  expect_refused({"run", "true"}, "put -- before the program: tarn run [OPTIONS] -- true");
  expect_refused({"run"}, "name a program");
  expect_refused({"run", "--"}, "name a program");
}

TEST_F(Usage, NumbersAndCombinations) {
  expect_refused({"run", "--compare", "0", "--", "true"}, "not in range 1 to");
  expect_refused({"run", "--compare", "-3", "--", "true"}, "--compare");
  expect_refused({"run", "--compare", "many", "--", "true"}, "--compare");
  expect_refused({"run", "--compare", "3", "--stats", "--", "true"}, "single run");
  expect_refused({"run", "--compare", "3", "--check", "--", "true"}, "single run");
  expect_refused({"run", "--check", "--guard", "--", "true"}, "leave one of them out");
  expect_refused({"run", "--hardened", "--guard", "--", "true"}, "leave one of them out");
  expect_refused({"run", "--guard-every", "5", "--hardened", "--", "true"}, "is for all blocks");
  expect_refused({"run", "--guard-every", "5", "--guard", "--", "true"}, "is for all blocks");
  expect_refused({"run", "--guard-every", "0", "--", "true"}, "--guard-every");
  expect_refused({"run", "--compare", "3", "--guard-every", "5", "--", "true"}, "single run");
  expect_refused({"run", "--warmup", "3", "--", "true"}, "--compare N");
  expect_refused({"run", "--color", "--no-color", "--", "true"}, "contradict");
}

TEST_F(Usage, JsonPathIsTriedBeforeTheProgramRuns) {
  const Result result = run_on_fake({"--json", "no/such/folder/x.json"}, {"touch", "ran"});
  EXPECT_EQ(result.exit_status(), 2);
  EXPECT_TRUE(contains(result.errors, "--json: cannot write 'no/such/folder/x.json'"));
  EXPECT_FALSE(std::filesystem::exists(folder() / "ran"));
}

TEST_F(Usage, LibraryMustBeOneThatCanBePreloaded) {
  expect_refused({"run", "--library", "nothing.so", "--", "true"}, "there is no file 'nothing.so'");
  write_file("text.so", "no library");
  expect_refused({"run", "--library", "text.so", "--", "true"}, "no shared library");
  std::filesystem::copy_file(TARN_FAKE_LIBRARY, folder() / "a b.so");
  expect_refused({"run", "--library", "a b.so", "--", "true"}, "symbolic link");
  expect_refused(
      {"run", "--library", TARN_FAKE_LIBRARY, "--compare", "2", "--against", "no.so", "--", "true"},
      "--against: there is no file 'no.so'");
}

TEST_F(Usage, LibraryIsSoughtBesideTheCommand) {
  // A copy of the command in a prefix of its own: nothing there, then a library in each place.
  std::filesystem::create_directories(folder() / "prefix/bin");
  std::filesystem::copy_file(TARN_COMMAND, folder() / "prefix/bin/tarn");
  const std::string command = (folder() / "prefix/bin/tarn").string();
  const auto run_copy = [&](const std::string& words) {
    return run_on_fake({"-q"}, {"sh", "-c", "unset LD_PRELOAD; " + command + " run " + words});
  };
  const Result without = run_copy("-q -- true");
  EXPECT_EQ(without.exit_status(), 2);
  EXPECT_TRUE(contains(without.errors, "cannot find libtarn.so"));
  EXPECT_TRUE(contains(without.errors, "--library FILE"));
  for (const char* const place : {"prefix/lib64", "prefix/lib"}) {
    std::filesystem::create_directories(folder() / place);
    std::filesystem::copy_file(TARN_FAKE_LIBRARY, folder() / place / "libtarn.so");
    const Result with = run_copy(std::string("-q -- ") + TARN_SUBJECT + " environment");
    EXPECT_EQ(with.exit_status(), 0) << with.errors;
    EXPECT_TRUE(contains(with.output, std::string(place) + "/libtarn.so\n"));
  }
}

TEST_F(Usage, NoColourWhereNobodyWatches) {
  const Result plain = run_on_fake({"--stats"}, {TARN_SUBJECT, "exit", "0"});
  EXPECT_FALSE(contains(plain.errors, "\x1b"));
  const Result wanted = run_on_fake({"--color"}, {TARN_SUBJECT, "exit", "0"});
  EXPECT_TRUE(contains(wanted.errors, "\x1b[1m"));
}

}  // namespace

}  // namespace tarn::test
