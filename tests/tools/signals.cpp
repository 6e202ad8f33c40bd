// signals: what reaches tarn reaches the program, once; stopping and ending look as without tarn.
// SPDX-License-Identifier: MIT
#include "signals.hpp"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "command.hpp"

namespace tarn::test {

namespace {

class Signals : public CommandTest {};

siginfo_t info_of(int signal, int code, pid_t sender) {
  siginfo_t info{};
  info.si_signo = signal;
  info.si_code = code;
  info.si_pid = sender;
  return info;
}

TEST_F(Signals, SentToTarnReachTheProgramOnce) {
  Running running = start(on_fake({}, {TARN_SUBJECT, "count"}));
  ASSERT_TRUE(running.read_until("ready\n"));
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR2, SIGWINCH, SIGALRM, SIGCONT}) {
    ::kill(running.pid(), signal);
    ASSERT_TRUE(running.read_until("got " + std::to_string(signal) + "\n"));
  }
  ::kill(running.pid(), SIGUSR1);
  const Result result = running.finish();
  EXPECT_EQ(result.exit_status(), 0);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR2, SIGWINCH, SIGALRM, SIGCONT}) {
    EXPECT_TRUE(contains(result.output, "count " + std::to_string(signal) + " 1\n"));
  }
  EXPECT_EQ(leftovers(), std::vector<std::string>());
}

TEST_F(Signals, ProgramThatDiesOfOneTakesTarnAlongAfterTheReport) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    Running running = start(on_fake({}, {"sh", "-c", "echo ready; exec sleep 1000"}));
    ASSERT_TRUE(running.read_until("ready\n"));
    ::kill(running.pid(), signal);
    const Result result = running.finish();
    EXPECT_EQ(result.signal(), signal);
    EXPECT_TRUE(contains(result.errors, "peak RSS"));
    EXPECT_EQ(leftovers(), std::vector<std::string>());
  }
}

TEST_F(Signals, IgnoredByTheCallerStayIgnored) {
  // As under nohup: the program inherits it, and tarn lives on as well.
  ASSERT_EQ(::mkfifo((folder() / "go").c_str(), 0600), 0);
  ::signal(SIGHUP, SIG_IGN);
  Running running = start(on_fake({}, {"sh", "-c", "echo ready; read line < go; exit 12"}));
  ::signal(SIGHUP, SIG_DFL);
  ASSERT_TRUE(running.read_until("ready\n"));
  ::kill(running.pid(), SIGHUP);
  write_file("go", "go\n");
  EXPECT_EQ(running.finish().exit_status(), 12);
}

TEST_F(Signals, IgnoredChildSignalOfTheCallerLosesNoStatus) {
  ::signal(SIGCHLD, SIG_IGN);
  Running running = start(on_fake({}, {TARN_SUBJECT, "exit", "8"}));
  ::signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(running.finish().exit_status(), 8);
}

TEST_F(Signals, StopAndContinueTakeBothAlong) {
  has_own_group = true;
  Running running = start(on_fake({}, {TARN_SUBJECT, "count"}));
  ASSERT_TRUE(running.read_until("ready\n"));
  ::kill(running.pid(), SIGTSTP);
  int status = 0;
  ASSERT_EQ(::waitpid(running.pid(), &status, WUNTRACED), running.pid());
  ASSERT_TRUE(WIFSTOPPED(status));
  ::kill(running.pid(), SIGCONT);
  ASSERT_TRUE(running.read_until("got " + std::to_string(SIGCONT) + "\n"));
  ::kill(running.pid(), SIGUSR1);
  EXPECT_EQ(running.finish().exit_status(), 0);
}

TEST_F(Signals, InterruptKeyIsDeliveredOnce) {
  int terminal = -1;
  const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    ::execl(TARN_COMMAND, "tarn", "run", "--library", TARN_FAKE_LIBRARY, "--", TARN_SUBJECT,
            "count", nullptr);
    ::_exit(98);
  }
  const int errors = ::open("/dev/null", O_RDONLY);
  Running running(pid, terminal, errors);
  ASSERT_TRUE(running.read_until("ready\r\n"));
  // Stopped, tarn sees the interrupt only after the program has had it: one passed on could not
  // melt into the first.
  ::kill(pid, SIGSTOP);
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, WUNTRACED), pid);
  ASSERT_EQ(::write(terminal, "\x03", 1), 1);
  ASSERT_TRUE(running.read_until("got 2\r\n"));
  ::kill(pid, SIGCONT);
  ASSERT_TRUE(running.read_until("got " + std::to_string(SIGCONT) + "\r\n"));
  ::kill(pid, SIGUSR1);
  const Result result = running.finish();
  EXPECT_EQ(result.exit_status(), 0);
  EXPECT_TRUE(contains(result.output, "count 2 1\r\n"));
  EXPECT_FALSE(contains(result.output, "count 2 2"));
}

TEST(Relay, TerminalSignalsReachedTheGroupAlready) {
  Standing standing{10, 11, true, false};
  for (const int signal : {SIGINT, SIGQUIT, SIGTSTP, SIGWINCH, SIGHUP}) {
    EXPECT_FALSE(should_relay(info_of(signal, SI_KERNEL, 0), standing)) << signal;
  }
  standing.shares_group = false;
  EXPECT_TRUE(should_relay(info_of(SIGINT, SI_KERNEL, 0), standing));
}

TEST(Relay, HangUpReachesOnlyTheLeaderOfASession) {
  const Standing standing{10, 11, true, true};
  EXPECT_TRUE(should_relay(info_of(SIGHUP, SI_KERNEL, 0), standing));
  EXPECT_FALSE(should_relay(info_of(SIGINT, SI_KERNEL, 0), standing));
}

TEST(Relay, SentSignalsGoOnUnlessTheProgramSentThem) {
  const Standing standing{10, 11, true, false};
  EXPECT_TRUE(should_relay(info_of(SIGINT, SI_USER, 5), standing));
  EXPECT_TRUE(should_relay(info_of(SIGRTMIN + 3, SI_QUEUE, 5), standing));
  EXPECT_FALSE(should_relay(info_of(SIGTERM, SI_USER, 11), standing));
  EXPECT_FALSE(should_relay(info_of(SIGPIPE, SI_USER, 10), standing));
  EXPECT_FALSE(should_relay(info_of(SIGCHLD, CLD_EXITED, 11), standing));
  // A timer that the caller set before it became tarn (alarm and exec) was meant for the program.
  EXPECT_TRUE(should_relay(info_of(SIGALRM, SI_KERNEL, 0), standing));
}

}  // namespace

}  // namespace tarn::test
