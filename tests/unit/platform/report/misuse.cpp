// What a program is told before it ends.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "platform/base/check.hpp"
#include "platform/os/process.hpp"
#include "platform/report/misuse.hpp"
#include "platform/report/output.hpp"
#include "platform/stack/stacks.hpp"
#include "tarn/diagnose/misuse.h"
#include "tarn/tarn.h"

namespace tarn {
namespace {

// Volatile, so that no compiler warns of what is done on purpose.
volatile std::uintptr_t moved_by = 0;

void* moved(void* p, std::uintptr_t by) {
  moved_by = by;
  return static_cast<std::byte*>(p) + moved_by;
}

TEST(MisuseDeathTest, EachKindHasItsWords) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  void* const p = reinterpret_cast<void*>(0x1230);
  EXPECT_EXIT(report_misuse(Misuse::invalid_free, "free", p), testing::KilledBySignal(SIGABRT),
              "^tarn: invalid free: free\\(0x1230\\): ");
  EXPECT_EXIT(report_misuse(Misuse::double_free, "free", p), testing::KilledBySignal(SIGABRT),
              "^tarn: double free: free\\(0x1230\\): ");
  EXPECT_EXIT(report_misuse(Misuse::invalid_pointer, "realloc", p),
              testing::KilledBySignal(SIGABRT), "^tarn: invalid pointer: realloc\\(0x1230\\): ");
}

TEST(MisuseDeathTest, AFailedCheckNamesTheCondition) {
  EXPECT_EXIT(TARN_CHECK(1 + 1 == 3), testing::KilledBySignal(SIGABRT),
              "^tarn: internal error: .*misuse.cpp:[0-9]+: 1 \\+ 1 == 3 does not hold");
}

TEST(MisuseDeathTest, FreeOfWhatIsNoBlock) {
  static int object = 0;
  EXPECT_EXIT(tarn_free(moved(&object, 0)), testing::KilledBySignal(SIGABRT),
              "^tarn: invalid free: free");
  void* const large = tarn_malloc(1 << 20);
  EXPECT_EXIT(tarn_free(moved(large, 4096)), testing::KilledBySignal(SIGABRT),
              "^tarn: invalid free: free");
  EXPECT_EXIT(tarn_free(moved(large, 16)), testing::KilledBySignal(SIGABRT),
              "^tarn: invalid free: free");
  EXPECT_EXIT(tarn_realloc(moved(&object, 0), 10), testing::KilledBySignal(SIGABRT),
              "^tarn: invalid .*: realloc");
  EXPECT_EXIT(static_cast<void>(tarn_malloc_usable_size(moved(large, 64))),
              testing::KilledBySignal(SIGABRT), "^tarn: invalid .*: malloc_usable_size");
  tarn_free(large);
}

// Of a block that three stacks are known of.
void report_block() {
  auto* const code = reinterpret_cast<void*>(&getpid);  // Of libc.
  const std::array<const void*, 3> made{moved(code, 1), moved(code, 2),
                                        reinterpret_cast<void*>(0x3000)};
  static char block[40];
  report_block_misuse({.kind = Misuse::double_free,
                       .function = "free",
                       .p = block,
                       .start = block,
                       .bytes = 40,
                       .said_bytes = 0,
                       .expected = nullptr,
                       .heap_name = "na\"mes",
                       .heap_id = 7,
                       .allocated_at = stacks.keep(made.data(), made.size()),
                       .freed_at = reinterpret_cast<void*>(0x5001),
                       .here = nullptr});
}

// A report after which the process goes on.
void explain_fault() {
  explain_block_fault({.kind = Misuse::overrun,
                       .function = "a write",
                       .p = &report_options,
                       .start = &report_options,
                       .bytes = 4,
                       .said_bytes = 0,
                       .expected = nullptr,
                       .heap_name = "",
                       .heap_id = 0,
                       .allocated_at = nullptr,
                       .freed_at = nullptr,
                       .here = nullptr});
}

// What report_options say holds for one test.
class ReportsDeathTest : public testing::Test {
 protected:
  ReportsDeathTest() {
    stacks.set_depth(0);
    GTEST_FLAG_SET(death_test_style, "fast");
    folder_ =
        std::filesystem::temp_directory_path() / ("tarn-reports-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder_);
  }
  ~ReportsDeathTest() override {
    report_options = {};
    std::filesystem::remove_all(folder_);
  }
  // A program that does what the shell's words say.
  std::string program(const std::string& words) const {
    const std::string path = folder_ / "program";
    std::ofstream(path) << "#!/bin/sh\n" << words << "\n";
    ::chmod(path.c_str(), 0755);
    return path;
  }
  std::string path() const { return folder_ / "report"; }
  std::string written() const {
    std::ostringstream text;
    text << std::ifstream(path()).rdbuf();
    return text.str();
  }

  std::filesystem::path folder_;
};

const testing::KilledBySignal aborts(SIGABRT);
constexpr const char* first_line =
    "^tarn: double free: free\\(0x[0-9a-f]+\\): the block of 40 bytes was freed before; the heap "
    "\"na\"mes\" \\(number 7\\)\n";

TEST_F(ReportsDeathTest, ATextHasTheCallsBelowEachOther) {
  EXPECT_EXIT(
      report_block(), aborts,
      std::string(first_line) +
          "tarn:   allocated at libc[^ ]+\\+0x[0-9a-f]+ \\(0x[0-9a-f]+\\) [a-z_]*getpid[^\n]*\n"
          "tarn:             by libc[^ ]+\\+0x[0-9a-f]+ \\(0x[0-9a-f]+\\) [a-z_]*getpid[^\n]*\n"
          "tarn:             by 0x2fff\n"
          "tarn:   freed at 0x5000\n$");
}

TEST_F(ReportsDeathTest, JsonIsOneLine) {
  report_options.json = true;
  EXPECT_EXIT(
      report_block(), aborts,
      "^\\{\"tarn\":\"misuse\",\"kind\":\"double free\",\"text\":\"free\\(0x[0-9a-f]+\\): the "
      "block of 40 bytes was freed before; the heap \\\\\"na\\\\\"mes[^\n]*\",\"process\":[0-9]+,"
      "\"function\":\"free\",\"address\":\"0x[0-9a-f]+\",\"block\":\"0x[0-9a-f]+\","
      "\"block_bytes\":40,\"owner\":\\{\"kind\":\"heap\",\"name\":\"na\\\\\"mes\",\"number\":7\\},"
      "\"allocated_at\":\\[\\{[^\n]*\\{\"address\":\"0x2fff\"\\}\\],"
      "\"freed_at\":\\[\\{\"address\":\"0x5000\"\\}\\],\"now_at\":\\[\\]\\}\n$");
}

TEST_F(ReportsDeathTest, TheProcessMayEndWithAStatus) {
  report_options.status = 77;
  EXPECT_EXIT(report_block(), testing::ExitedWithCode(77), first_line);
}

TEST_F(ReportsDeathTest, AFileGetsThemAtItsEnd) {
  const std::string file = path();
  std::ofstream(file) << "before\n";
  report_options.file = file.c_str();
  EXPECT_EXIT(report_block(), aborts, "^$");
  const std::string text = written();
  EXPECT_EQ(text.find("before\ntarn: double free: "), 0u) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6) << text;
  const std::string nowhere = folder_ / "no" / "folder";
  report_options.file = nowhere.c_str();
  EXPECT_EXIT(report_block(), aborts, "report_file: .*cannot be opened.*\ntarn: double free: ");
}

TEST_F(ReportsDeathTest, TheProgramIsTold) {
  static std::string context = "the context";
  const auto tell = [](const tarn_misuse* misuse, void* of_program) {
    const auto& known = *misuse;
    std::fprintf(stderr, "told: %s %s %s %zu %s %zu %zu %zu %p %s\n", known.kind, known.function,
                 known.owner_name, known.block_bytes, known.owner_kind, known.allocated_at.count,
                 known.freed_at.count, known.now_at.count, known.freed_at.calls[0],
                 static_cast<std::string*>(of_program)->c_str());
    EXPECT_EQ(known.bytes, sizeof known);
    EXPECT_EQ(known.address, known.block);
    report_misuse(Misuse::double_free, "once more", nullptr);
  };
  tarn_on_misuse(tell, &context);
  EXPECT_EXIT(report_block(), aborts,
              std::string(first_line) +
                  ".*\ntold: double free free na\"mes 40 heap 3 1 0 0x5001 the "
                  "context\ntarn: double free: once more\\(0x0\\): the memory was freed before\n$");
  tarn_on_misuse(nullptr, nullptr);
}

TEST_F(ReportsDeathTest, AProgramMayFilterThem) {
  // Its environment is empty, its input the report, its argument the verb; it gets no signal's
  // mask.
  const std::string filter =
      program("echo \"$1 $# [$TARN_OPTIONS]\"; /usr/bin/sed 's/^tarn/TARN/'");
  report_options.symbolizer = filter.c_str();
  EXPECT_EXIT(report_block(), aborts, "^symbolize 1 \\[\\]\nTARN: double free: ");
  const std::string file = path();
  report_options.file = file.c_str();
  EXPECT_EXIT(report_block(), aborts, "^$");
  EXPECT_EQ(written().find("symbolize 1 []\nTARN: double free: "), 0u) << written();
}

TEST_F(ReportsDeathTest, WithoutTheirFilterTheyAreWhole) {
  const std::string none = folder_ / "none";
  report_options.symbolizer = none.c_str();
  EXPECT_EXIT(report_block(), aborts, first_line);
  // One that fails, one that reads nothing, one that is killed: what it wrote comes first.
  for (const char* const words :
       {"exit 3", "exec <&-; exit 1", "kill -9 $$", "echo some; exit 1"}) {
    const std::string filter = program(words);
    report_options.symbolizer = filter.c_str();
    EXPECT_EXIT(report_block(), aborts, "tarn: double free: .*freed at 0x5000\n$") << words;
  }
}

TEST_F(ReportsDeathTest, AFilterIsWaitedForWhereChildrenAreIgnored) {
  const std::string filter = program("/usr/bin/sed 's/^tarn/TARN/'");
  report_options.symbolizer = filter.c_str();
  EXPECT_EXIT((std::signal(SIGCHLD, SIG_IGN), report_block()), aborts,
              "^TARN: double free: [^\n]*\n(TARN:   [^\n]*\n)*$");
}

TEST_F(ReportsDeathTest, AForkedProcessDoesNotHoldTheFilterUp) {
  const std::string filter = program("exec /bin/cat");
  report_options.symbolizer = filter.c_str();
  const auto told = [](const tarn_misuse*, void*) {};
  tarn_on_misuse(told, nullptr);
  const auto report = [] {
    std::thread([] {  // Somewhere in it, a fork will have the socket.
      for (int i = 0; i < 20; ++i) {
        const auto child = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
        if (child == 0) {
          ::close(STDERR_FILENO);
          ::close(STDOUT_FILENO);
          ::sleep(3);
          ::_exit(0);
        }
        ::usleep(500);
      }
    })
        .detach();
    ::alarm(2);
    for (int i = 0; i < 20; ++i) {
      explain_fault();
    }
    ::_exit(0);
  };
  EXPECT_EXIT(report(), testing::ExitedWithCode(0), "tarn: overrun: ");
  tarn_on_misuse(nullptr, nullptr);
}

std::atomic<int> signals{0};

TEST_F(ReportsDeathTest, TheProgramSeesNothingOfTheFilter) {
  const std::string filter = program("exec /bin/cat");
  report_options.symbolizer = filter.c_str();
  const auto explain = [] {
    std::signal(SIGCHLD, [](int) { ++signals; });
    std::signal(SIGPIPE, [](int) { ++signals; });
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) ::pause();
    }
    explain_fault();
    const int seen = signals;
    const pid_t waited = ::waitpid(-1, nullptr, WNOHANG);
    ::kill(child, SIGKILL);
    ::_exit(seen == 0 && waited == 0 ? 0 : 1);
  };
  EXPECT_EXIT(explain(), testing::ExitedWithCode(0), "tarn: overrun: a write at ");
}

TEST_F(ReportsDeathTest, OneThreadAtATimeIsHeard) {
  const std::string filter = program("/bin/sleep 0.3; exec /bin/cat");
  report_options.symbolizer = filter.c_str();
  const auto both = [] {
    std::thread other([] { report_block(); });
    report_block();
  };
  EXPECT_EXIT(both(), aborts, std::string(first_line) + "(tarn:   [^\n]*\n)*$");
}

}  // namespace
}  // namespace tarn
