// terminal: colour and progress appear on a terminal, and only where they are wanted.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

#include <cstdlib>

#include "command.hpp"

namespace tarn::test {

namespace {

// Runs the command with a terminal for all three descriptors and returns what appears there.
std::string seen_on_terminal(const std::string& variable, const std::vector<std::string>& words) {
  int terminal = -1;
  const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (pid == 0) {
    ::setenv("TERM", "xterm", 1);
    ::unsetenv("NO_COLOR");
    if (!variable.empty()) ::putenv(const_cast<char*>(variable.c_str()));
    std::vector<char*> pointers = {const_cast<char*>(TARN_COMMAND)};
    for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    ::execv(TARN_COMMAND, pointers.data());
    ::_exit(98);
  }
  Running running(pid, terminal, ::open("/dev/null", O_RDONLY));
  return running.finish().output;
}

class OnTerminal : public CommandTest {
 protected:
  std::vector<std::string> plain_run() { return on_fake({}, {TARN_SUBJECT, "exit", "0"}); }
};

TEST_F(OnTerminal, ColourUnlessNoColorIsSet) {
  EXPECT_TRUE(contains(seen_on_terminal("", plain_run()), "\x1b[1m"));
  EXPECT_FALSE(contains(seen_on_terminal("NO_COLOR=1", plain_run()), "\x1b"));
  // An empty one does not count, as no-color.org has it.
  EXPECT_TRUE(contains(seen_on_terminal("NO_COLOR=", plain_run()), "\x1b[1m"));
  EXPECT_FALSE(contains(seen_on_terminal("TERM=dumb", plain_run()), "\x1b"));
  const auto refused = on_fake({"--no-color"}, {TARN_SUBJECT, "exit", "0"});
  EXPECT_FALSE(contains(seen_on_terminal("", refused), "\x1b"));
  const auto wanted = on_fake({"--color"}, {TARN_SUBJECT, "exit", "0"});
  EXPECT_TRUE(contains(seen_on_terminal("NO_COLOR=1", wanted), "\x1b[1m"));
}

TEST_F(OnTerminal, ProgressOnlyThere) {
  const auto words = on_fake({"--compare", "2"}, {TARN_SUBJECT, "exit", "0"});
  EXPECT_TRUE(contains(seen_on_terminal("", words), "5/6 "));
  EXPECT_FALSE(contains(run(words).errors, "5/6 "));
}

}  // namespace

}  // namespace tarn::test
