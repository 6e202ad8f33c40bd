// command: see command.hpp.
// SPDX-License-Identifier: MIT
#include "command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace tarn::test {

namespace {

// Appends what can be read; false at the end of the stream.
bool read_some(int descriptor, std::string& text) {
  std::array<char, 4096> buffer;
  const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
  if (got < 0) return errno == EINTR;
  text.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0;
}

std::pair<int, int> open_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  return {ends[0], ends[1]};
}

}  // namespace

testing::AssertionResult contains(std::string_view text, std::string_view piece) {
  const bool is_there = text.find(piece) != std::string_view::npos;
  return (is_there ? testing::AssertionSuccess() : testing::AssertionFailure())
         << '"' << piece << (is_there ? "\" is in: " : "\" is not in: ") << text;
}

int Result::exit_status() const { return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1; }
int Result::signal() const { return WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0; }
bool Result::has_core() const { return WIFSIGNALED(wait_status) && WCOREDUMP(wait_status); }

Running::Running(Running&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      output_(std::exchange(other.output_, -1)),
      errors_(std::exchange(other.errors_, -1)),
      read_(std::move(other.read_)) {}

Running::~Running() {
  if (output_ >= 0) ::close(output_);
  if (errors_ >= 0) ::close(errors_);
  if (pid_ == 0) return;
  ::kill(pid_, SIGTERM);
  ::kill(pid_, SIGCONT);
  ::waitpid(pid_, nullptr, 0);
}

bool Running::read_until(const std::string& text) {
  while (read_.find(text) == std::string::npos) {
    if (!read_some(output_, read_)) return false;
  }
  return true;
}

Result Running::finish() {
  Result result;
  result.output = read_;
  bool has_output = true;
  bool has_errors = true;
  while (has_output || has_errors) {
    std::array<pollfd, 2> waiting = {pollfd{has_output ? output_ : -1, POLLIN, 0},
                                     pollfd{has_errors ? errors_ : -1, POLLIN, 0}};
    ::poll(waiting.data(), waiting.size(), -1);
    if (waiting[0].revents != 0) has_output = read_some(output_, result.output);
    if (waiting[1].revents != 0) has_errors = read_some(errors_, result.errors);
  }
  ::waitpid(std::exchange(pid_, 0), &result.wait_status, 0);
  return result;
}

CommandTest::CommandTest() {
  std::string name = (std::filesystem::temp_directory_path() / "tools-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
  folder_ = name;
}

CommandTest::~CommandTest() { std::filesystem::remove_all(folder_); }

Running CommandTest::start(const std::vector<std::string>& words) {
  const auto [output, output_end] = open_pipe();
  const auto [errors, errors_end] = open_pipe();
  std::vector<char*> pointers = {const_cast<char*>(TARN_COMMAND)};
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);

  const pid_t pid = ::fork();
  if (pid == 0) {
    if (has_own_group) ::setpgid(0, 0);
    for (const char* name : {"NO_COLOR", "LD_PRELOAD", "TARN_OPTIONS"}) ::unsetenv(name);
    ::setenv("TMPDIR", folder_.c_str(), 1);
    // Cores are allowed as far as may be, so that one too many would be seen.
    rlimit core{RLIM_INFINITY, RLIM_INFINITY};
    if (::setrlimit(RLIMIT_CORE, &core) != 0) {
      ::getrlimit(RLIMIT_CORE, &core);
      core.rlim_cur = core.rlim_max;
      ::setrlimit(RLIMIT_CORE, &core);
    }
    for (const std::string& variable : variables) ::putenv(const_cast<char*>(variable.c_str()));
    const int source = ::open(input.c_str(), O_RDONLY | O_CLOEXEC);
    const bool is_ready = ::dup2(source, 0) == 0 && ::dup2(output_end, 1) == 1 &&
                          ::dup2(errors_end, 2) == 2 && ::chdir(folder_.c_str()) == 0;
    if (is_ready) ::execv(TARN_COMMAND, pointers.data());
    ::_exit(98);
  }
  ::close(output_end);
  ::close(errors_end);
  // In both processes, as shells do: whichever comes first.
  if (has_own_group) ::setpgid(pid, pid);
  return {pid, output, errors};
}

std::vector<std::string> CommandTest::on_fake(const std::vector<std::string>& options,
                                              const std::vector<std::string>& program) const {
  std::vector<std::string> words = {"run", "--library", TARN_FAKE_LIBRARY};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back("--");
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

Result CommandTest::run_on_fake(const std::vector<std::string>& options,
                                const std::vector<std::string>& program) {
  return run(on_fake(options, program));
}

std::vector<std::string> CommandTest::leftovers() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("tarn-")) names.push_back(name);
  }
  return names;
}

void CommandTest::write_file(const std::string& name, const std::string& content,
                             bool is_executable) {
  std::ofstream(folder_ / name, std::ios::binary) << content;
  if (is_executable) std::filesystem::permissions(folder_ / name, std::filesystem::perms(0755));
}

std::string CommandTest::read_file(const std::string& name) const {
  std::ostringstream text;
  text << std::ifstream(folder_ / name, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace tarn::test
