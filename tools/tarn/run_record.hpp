// run_record: all that is known about one finished run. The text and the JSON are views of it.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "account_folder.hpp"
#include "child.hpp"
#include "program.hpp"

namespace tarn {

struct RunRecord {
  std::vector<std::string> words;
  std::string library;
  Outcome outcome;
  Accounts accounts;
  std::vector<Note> notes;  // what was reported before the start and after the end
  // Process ids of the unfinished accounts whose processes still existed after the program's end.
  std::vector<std::uint64_t> running;

  const tarn_account* main_account() const noexcept { return accounts.of(outcome.pid); }
};

// "final", "running" for a process that outlived the program, "unfinished" for one that was killed
// or left through _exit, so that its figures are those of its last slow path.
std::string_view state_of(const RunRecord& record, const tarn_account& account);

// The slack, estimated from sampled requests. Negative when none were sampled.
double slack_of(const tarn_account_class& row) noexcept;

}  // namespace tarn
