// account_folder: the private temporary directory in which the processes of one run leave their
// accounts, and how these are read.
//
// Each file is one tarn_account (tarn/diagnose/account.h). It was written by a program that may
// have crashed in the middle, or by anything else that found the directory, so nothing in it is
// trusted unchecked.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "tarn/diagnose/account.h"

namespace tarn {

struct Accounts {
  std::vector<tarn_account> processes;  // largest peak of live bytes first
  std::vector<std::string> refused;     // a sentence for each file that is no account

  const tarn_account* of(pid_t pid) const noexcept;
};

class AccountFolder {
 public:
  // Throws Failure when no temporary directory can be made.
  AccountFolder();
  ~AccountFolder() { remove(); }
  AccountFolder(const AccountFolder&) = delete;
  AccountFolder& operator=(const AccountFolder&) = delete;

  const std::string& path() const noexcept { return path_; }
  Accounts read() const;
  void remove() noexcept;

 private:
  std::string path_;
};

// The account in `file`; or nothing, with the reason in `refusal`.
std::optional<tarn_account> read_account(const std::string& file, std::string& refusal);

}  // namespace tarn
