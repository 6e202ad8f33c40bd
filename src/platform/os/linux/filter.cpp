// filter on Linux.
//
// SPDX-License-Identifier: MIT
#include "platform/os/filter.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/os/linux/uncancelled.hpp"

namespace tarn::os {

namespace {

struct Start {
  const char* path;
  const char* argument;
  int input;
  int write_end;  // Of the input.
  int output;
  sigset_t signals;  // What the process had.
};

constexpr int not_started = 127;

// Becomes the program. What it shares with the process that waits for its end is that one's memory.
[[noreturn]] void become(const Start& start) noexcept {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) sigaction(signal, &standard, nullptr);
  pthread_sigmask(SIG_SETMASK, &start.signals, nullptr);
  char* const arguments[] = {const_cast<char*>(start.path), const_cast<char*>(start.argument),
                             nullptr};
  char* const environment[] = {nullptr};
  // Away from the numbers that they are to have.
  const int input = fcntl(start.input, F_DUPFD_CLOEXEC, 3);
  const int output = fcntl(start.output, F_DUPFD_CLOEXEC, 3);
  if (dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0) {
    execve(start.path, arguments, environment);
  }
  _exit(not_started);
}

// Of what waitpid() has returned for a process that has ended.
int exit_status_of(pid_t ended, int status) noexcept {
  return ended > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : not_started;
}

int wait_for(pid_t process) noexcept {
  int status = 0;
  pid_t ended = 0;
  do {
    ended = waitpid(process, &status, __WALL);
  } while (ended < 0 && errno == EINTR);
  return exit_status_of(ended, status);
}

// The program has a parent of its own, a copy of the process, which ends as the program does. The
// kernel tells a process of each child's end that has become another program; this copy has not.
// All signals are blocked in it.
[[noreturn]] void look_after(const Start& start) noexcept {
  close(start.write_end);
  setpgid(0, 0);  // To be ended together.
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &standard, nullptr);  // Where it is ignored, nothing can be waited for.
  // NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): posix_spawn may allocate.
  const pid_t program = vfork();
  if (program == 0) become(start);  // NOLINT(clang-analyzer-unix.Vfork): it never returns.
  _exit(program < 0 ? not_started : wait_for(program));
}

// A program that takes longer is ended.
constexpr long wait_ms_most = 30'000;
constexpr long look_ms = 5;
constexpr int still_running = -1;

bool has_ended(pid_t process, int* exit_status) noexcept {
  int status = 0;
  const pid_t ended = waitpid(process, &status, __WALL | WNOHANG);
  const bool is_there = ended == 0 || (ended < 0 && errno == EINTR);
  *exit_status = is_there ? still_running : exit_status_of(ended, status);
  return !is_there;
}

}  // namespace

bool filter_start(const char* path, const char* argument, int output, Filter* filter) noexcept {
  const Uncancelled uncancelled;
  const int saved = errno;
  int ends[2];
  bool started = false;
  // A socket: a write to it can do without SIGPIPE.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) {
    const timeval patience{wait_ms_most / 1000, 0};
    setsockopt(ends[1], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    Start start{path, argument, ends[0], ends[1], output, {}};
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &start.signals);
    // Without a signal at its end, and without the program's functions for forks.
    filter->process = static_cast<int>(syscall(SYS_clone, 0, 0, 0, 0, 0));
    if (filter->process == 0) look_after(start);
    pthread_sigmask(SIG_SETMASK, &start.signals, nullptr);
    close(ends[0]);
    started = filter->process > 0;
    if (started) {
      filter->to = ends[1];
    } else {
      close(ends[1]);
    }
  }
  errno = saved;
  return started;
}

bool filter_write(const Filter& filter, const char* text, std::size_t bytes) noexcept {
  const Uncancelled uncancelled;
  const int saved = errno;
  while (bytes != 0) {
    const ssize_t sent = send(filter.to, text, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) break;
    text += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
  errno = saved;
  return bytes == 0;
}

int filter_finish(Filter& filter) noexcept {
  const Uncancelled uncancelled;
  const int saved = errno;
  shutdown(filter.to, SHUT_WR);  // A process that was forked meanwhile may have it, too.
  close(filter.to);
  int status = not_started;
  for (long waited = 0; waited < wait_ms_most && !has_ended(filter.process, &status);
       waited += look_ms) {
    const timespec look{0, look_ms * 1'000'000};
    nanosleep(&look, nullptr);
  }
  if (status == still_running) {
    kill(-filter.process, SIGKILL);
    wait_for(filter.process);
    status = not_started;
  }
  errno = saved;
  filter = {};
  return status;
}

int open_to_append(const char* path) noexcept {
  const Uncancelled uncancelled;
  const int saved = errno;
  const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  errno = saved;
  return file;
}

void close_file(int file) noexcept {
  const int saved = errno;
  close(file);
  errno = saved;
}

}  // namespace tarn::os
