// program: executables that a preloaded malloc cannot reach, and those that bring their own.
// SPDX-License-Identifier: MIT
#include "program.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <elf.h>

#include "command.hpp"
#include "elf.hpp"

namespace tarn::test {

namespace {

class Program : public CommandTest {
 protected:
  static std::vector<std::string> kinds_of(const Inspection& inspection) {
    std::vector<std::string> kinds;
    for (const Note& note : inspection.notes) kinds.push_back(note.kind);
    return kinds;
  }
  // The subject with one byte of its file changed.
  std::string changed_subject(std::size_t offset, char value) {
    std::filesystem::copy_file(TARN_SUBJECT, folder() / "changed");
    std::string content = read_file("changed");
    content[offset] = value;
    write_file("changed", content, true);
    return (folder() / "changed").string();
  }
  using Kinds = std::vector<std::string>;
};

TEST_F(Program, OrdinaryOneIsReachable) {
  const Inspection inspection = inspect_program(TARN_SUBJECT);
  EXPECT_TRUE(inspection.is_reachable);
  EXPECT_TRUE(inspection.is_preloadable);
  EXPECT_EQ(kinds_of(inspection), Kinds());
}

TEST_F(Program, StaticOneIsToldAndRuns) {
  EXPECT_EQ(kinds_of(inspect_program(TARN_SUBJECT_STATIC)), Kinds{"static"});
  const Result result = run_on_fake({}, {TARN_SUBJECT_STATIC, "exit", "5"});
  EXPECT_EQ(result.exit_status(), 5);
  EXPECT_TRUE(contains(result.errors, "statically linked"));
  EXPECT_TRUE(contains(result.errors, "not active"));
}

TEST_F(Program, DynamicLoaderAsAProgramIsReachable) {
  const auto elf = Elf::open(TARN_SUBJECT);
  ASSERT_TRUE(elf);
  EXPECT_TRUE(inspect_program(elf->interpreter()).is_reachable);
}

TEST_F(Program, OneForAnotherMachineIsTold) {
  const Inspection inspection =
      inspect_program(changed_subject(offsetof(Elf64_Ehdr, e_machine), EM_S390));
  EXPECT_EQ(kinds_of(inspection), Kinds{"machine"});
  EXPECT_FALSE(inspection.is_preloadable);
  EXPECT_TRUE(contains(inspection.notes[0].text, "S/390"));
}

TEST_F(Program, OneOfAnotherCLibraryIsNotPreloadedInto) {
  const auto elf = Elf::open(TARN_SUBJECT);
  ASSERT_TRUE(elf);
  std::filesystem::copy_file(TARN_SUBJECT, folder() / "subject");
  const std::size_t at = read_file("subject").find(elf->interpreter());
  ASSERT_NE(at, std::string::npos);
  const Inspection inspection =
      inspect_program(changed_subject(at + elf->interpreter().size() - 1, 'X'));
  EXPECT_EQ(kinds_of(inspection), Kinds{"interpreter"});
  EXPECT_FALSE(inspection.is_preloadable);
}

TEST_F(Program, SetuidOneOfAnotherUserIsTold) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  std::filesystem::copy_file(TARN_SUBJECT, folder() / "setuid");
  const std::string path = (folder() / "setuid").string();
  ASSERT_EQ(::chown(path.c_str(), 65534, 0), 0);
  ASSERT_EQ(::chmod(path.c_str(), 04755), 0);
  EXPECT_EQ(kinds_of(inspect_program(path)), Kinds{"setuid"});
  EXPECT_EQ(::chown(path.c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(path.c_str(), 04755), 0);
  // Root stays root: nothing is gained, and LD_PRELOAD counts.
  EXPECT_EQ(kinds_of(inspect_program(path)), Kinds());
}

TEST_F(Program, ScriptsAreFollowed) {
  write_file("script", std::string("#!") + TARN_SUBJECT_OWN_MALLOC + " exit\n", true);
  const Inspection inspection = inspect_program((folder() / "script").string());
  EXPECT_EQ(inspection.path, TARN_SUBJECT_OWN_MALLOC);
  EXPECT_EQ(kinds_of(inspection), Kinds{"allocator"});

  write_file("env", std::string("#!/usr/bin/env -S A=1 ") + TARN_SUBJECT + "\n", true);
  EXPECT_EQ(inspect_program((folder() / "env").string()).path, TARN_SUBJECT);

  write_file("circle", "#!" + (folder() / "circle").string() + "\n", true);
  EXPECT_EQ(kinds_of(inspect_program((folder() / "circle").string())), Kinds());
  write_file("bare", "exit 0\n", true);
  EXPECT_EQ(inspect_program((folder() / "bare").string()).path, "/bin/sh");
}

TEST_F(Program, SecondAllocatorIsTold) {
  const Inspection exported = inspect_program(TARN_SUBJECT_OWN_MALLOC);
  ASSERT_EQ(kinds_of(exported), Kinds{"allocator"});
  EXPECT_TRUE(contains(exported.notes[0].text, "exports a malloc of its own"));
  EXPECT_TRUE(exported.is_reachable);

  const Inspection text = inspect_program(TARN_SUBJECT_JEMALLOC);
  ASSERT_EQ(kinds_of(text), Kinds{"allocator"});
  EXPECT_TRUE(contains(text.notes[0].text, "(jemalloc)"));

  const Result result = run_on_fake({}, {TARN_SUBJECT_JEMALLOC, "exit", "0"});
  EXPECT_TRUE(contains(result.errors, "seems to bring an allocator of its own (jemalloc)"));
}

#ifdef TARN_REAL_LIBRARY
TEST_F(Program, TarnInsideIsTheMallocOnlyWhereItDefinesMalloc) {
  const Inspection beside = inspect_program(TARN_SUBJECT_BESIDE);
  EXPECT_EQ(kinds_of(beside), Kinds{"linked_heaps"});
  EXPECT_TRUE(beside.is_reachable);
  EXPECT_FALSE(contains(beside.notes[0].text, "already"));

  EXPECT_EQ(kinds_of(inspect_program(TARN_SUBJECT_BOTH)), (Kinds{"linked_heaps", "allocator"}));

  const Inspection drop_in = inspect_program(TARN_SUBJECT_DROP_IN);
  EXPECT_EQ(kinds_of(drop_in), Kinds{"linked_tarn"});
  EXPECT_TRUE(contains(drop_in.notes[0].text, "has tarn's malloc linked in already"));

  // The command has the words that it looks for, and no malloc.
  const Kinds of_command = kinds_of(inspect_program(TARN_COMMAND));
  EXPECT_EQ(std::ranges::count(of_command, "linked_tarn"), 0);
}
#endif

TEST_F(Program, SanitizersKeepTheirMalloc) {
  for (const char* const name : {"__asan_init", "__tsan_init", "__lsan_init"}) {
    const std::string file = std::string("sanitized") + name;
    std::filesystem::copy_file(TARN_SUBJECT_SANITIZED, folder() / file);
    std::string content = read_file(file);
    // The subject defines __asan_init; the names of its symbols are as long as these.
    for (std::size_t at = content.find("__asan_init"); at != std::string::npos;
         at = content.find("__asan_init", at + 1)) {
      content.replace(at, 11, name);
    }
    write_file(file, content, true);
    const Inspection inspection = inspect_program((folder() / file).string());
    EXPECT_EQ(kinds_of(inspection), Kinds{"sanitizer"}) << name;
    EXPECT_FALSE(inspection.is_preloadable);
  }
  const Result result = run_on_fake({}, {TARN_SUBJECT_SANITIZED, "environment"});
  EXPECT_EQ(result.exit_status(), 0);
  EXPECT_TRUE(contains(result.errors, "is built with AddressSanitizer"));
  EXPECT_FALSE(contains(result.output, TARN_FAKE_LIBRARY));
  const Result compared = run_on_fake({"--compare", "2"}, {TARN_SUBJECT_SANITIZED, "exit", "0"});
  EXPECT_EQ(compared.exit_status(), 2);
  EXPECT_TRUE(contains(compared.errors, "there is nothing to compare"));
}

TEST_F(Program, PoolsOfPythonAreTold) {
  ::unsetenv("PYTHONMALLOC");
  const Inspection inspection = inspect_program(TARN_SUBJECT_PYTHON);
  ASSERT_EQ(kinds_of(inspection), Kinds{"pymalloc"});
  EXPECT_TRUE(inspection.is_reachable);
  EXPECT_TRUE(contains(inspection.notes[0].text, "with PYTHONMALLOC=malloc in the environment"));
  ::setenv("PYTHONMALLOC", "malloc_debug", 1);
  EXPECT_EQ(kinds_of(inspect_program(TARN_SUBJECT_PYTHON)), Kinds());
  ::setenv("PYTHONMALLOC", "pymalloc_debug", 1);
  EXPECT_EQ(kinds_of(inspect_program(TARN_SUBJECT_PYTHON)), Kinds{"pymalloc"});
  ::unsetenv("PYTHONMALLOC");
}

TEST_F(Program, FilesCutAnywhereAreNoTrouble) {
  std::filesystem::copy_file(TARN_SUBJECT, folder() / "whole");
  const std::string whole = read_file("whole");
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += 1 + bytes / 9) {
    write_file("cut", whole.substr(0, bytes), true);
    inspect_program((folder() / "cut").string());
  }
  // Every header field at its largest: offsets and counts that point far outside.
  for (std::size_t at = EI_NIDENT + 4; at < sizeof(Elf64_Ehdr); ++at) {
    std::string broken = whole;
    broken[at] = '\xff';
    write_file("cut", broken, true);
    inspect_program((folder() / "cut").string());
  }
}

TEST_F(Program, MissingOneHasNothingToTell) {
  EXPECT_EQ(find_program("surely-no-such-program"), "");
  EXPECT_EQ(inspect_program("surely-no-such-program").path, "");
  EXPECT_EQ(find_program("sh").substr(0, 1), "/");
}

}  // namespace

}  // namespace tarn::test
