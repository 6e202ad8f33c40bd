// account_folder: see account_folder.hpp.
// SPDX-License-Identifier: MIT
#include "account_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "descriptor.hpp"
#include "failure.hpp"

namespace tarn {

namespace {

std::string temporary_root() {
  const char* const wanted = std::getenv("TMPDIR");
  const std::string root = wanted == nullptr ? "" : wanted;
  // The path travels in TARN_OPTIONS, where a comma would end it; a relative one would mean
  // another place once the program has changed its directory.
  const bool is_usable = root.starts_with('/') && root.find(',') == std::string::npos;
  return is_usable ? root : "/tmp";
}

std::string check_account(const tarn_account& account, std::size_t bytes_read) {
  if (bytes_read < offsetof(tarn_account, state)) return "too short for an account";
  if (account.magic == 0) return "never finished";
  if (account.magic != TARN_ACCOUNT_MAGIC) return "not an account, or one of another version";
  if (bytes_read < sizeof account || account.bytes < sizeof account) {
    return "of an older tarn than this command, or cut off";
  }
  if (account.class_count > TARN_ACCOUNT_CLASSES) return "damaged: too many size classes";
  return "";
}

std::size_t read_up_to(int descriptor, void* target, std::size_t bytes) noexcept {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::read(descriptor, static_cast<char*>(target) + done, bytes - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace

const tarn_account* Accounts::of(pid_t pid) const noexcept {
  for (const tarn_account& account : processes) {
    if (account.pid == static_cast<std::uint64_t>(pid)) return &account;
  }
  return nullptr;
}

std::optional<tarn_account> read_account(const std::string& file, std::string& refusal) {
  // A link or a fifo with this name was not made by the library, and could hang or mislead.
  const Descriptor open(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!open.is_open() || ::fstat(open.number(), &status) != 0 || !S_ISREG(status.st_mode)) {
    refusal = "cannot be read as a file";
    return std::nullopt;
  }
  tarn_account account{};
  refusal = check_account(account, read_up_to(open.number(), &account, sizeof account));
  if (!refusal.empty()) return std::nullopt;
  account.program[TARN_ACCOUNT_PROGRAM - 1] = '\0';
  return account;
}

AccountFolder::AccountFolder() : path_(temporary_root() + "/tarn-run-XXXXXX") {
  if (::mkdtemp(path_.data()) == nullptr) {
    throw Failure(status_refused,
                  fmt::format("cannot make a directory {}: {}; set TMPDIR to one that can be "
                              "written",
                              path_, std::strerror(errno)));
  }
}

Accounts AccountFolder::read() const {
  Accounts accounts;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path_, ignored)) {
    std::string refusal;
    if (const auto account = read_account(entry.path().string(), refusal)) {
      accounts.processes.push_back(*account);
    } else {
      accounts.refused.push_back(fmt::format("the account of process {} is {}",
                                             entry.path().filename().string(), refusal));
    }
  }
  std::ranges::sort(accounts.processes, [](const tarn_account& a, const tarn_account& b) {
    return a.live_bytes_peak != b.live_bytes_peak ? a.live_bytes_peak > b.live_bytes_peak
                                                  : a.pid < b.pid;
  });
  std::ranges::sort(accounts.refused);
  return accounts;
}

void AccountFolder::remove() noexcept {
  if (path_.empty()) return;
  // A process that outlives the program may add a file between listing and removal: try again.
  for (int attempt = 0; attempt < 3; ++attempt) {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
    if (!error) break;
  }
  path_.clear();
}

}  // namespace tarn
