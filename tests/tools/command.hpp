// command: runs the command `tarn` as a user would, and keeps what it printed and how it ended.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tarn::test {

struct Result {
  int wait_status = 0;
  std::string output;
  std::string errors;

  int exit_status() const;  // -1 when a signal ended it
  int signal() const;
  bool has_core() const;
};

// Shows the text where that is not as expected. (A matcher would need gmock, which distributions
// have in a package apart.)
testing::AssertionResult contains(std::string_view text, std::string_view piece);

// A process that runs beside the test; killed at the end if the test did not wait for it.
class Running {
 public:
  Running(pid_t pid, int output, int errors) : pid_(pid), output_(output), errors_(errors) {}
  Running(Running&& other) noexcept;
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  Running& operator=(Running&&) = delete;
  ~Running();

  pid_t pid() const { return pid_; }
  // Reads stdout until `text` was seen; false if it ended before that.
  bool read_until(const std::string& text);
  Result finish();

 private:
  pid_t pid_;
  int output_;
  int errors_;
  std::string read_;
};

// Each test has a directory of its own, which is also TMPDIR and the current one.
class CommandTest : public testing::Test {
 protected:
  CommandTest();
  ~CommandTest() override;

  Running start(const std::vector<std::string>& words);
  Result run(const std::vector<std::string>& words) { return start(words).finish(); }
  // `tarn run --library FAKE options -- program`
  Result run_on_fake(const std::vector<std::string>& options,
                     const std::vector<std::string>& program);
  std::vector<std::string> on_fake(const std::vector<std::string>& options,
                                   const std::vector<std::string>& program) const;
  std::filesystem::path folder() const { return folder_; }
  // What tarn must not leave behind.
  std::vector<std::string> leftovers() const;
  void write_file(const std::string& name, const std::string& content, bool is_executable = false);
  std::string read_file(const std::string& name) const;

  std::vector<std::string> variables;  // "NAME=value", besides those that the test itself has
  std::string input = "/dev/null";
  bool has_own_group = false;

 private:
  std::filesystem::path folder_;
};

}  // namespace tarn::test
