// result_file: see result_file.hpp.
// SPDX-License-Identifier: MIT
#include "result_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "failure.hpp"
#include "quantity.hpp"

namespace tarn {

namespace {

[[noreturn]] void refuse(int status, const std::string& option, const std::string& path,
                         int error) {
  throw Failure(status, fmt::format("{}: cannot write '{}': {}", option, text_of_name(path),
                                    std::strerror(error)));
}

}  // namespace

ResultFile::ResultFile(const std::string& path, std::string_view option)
    : path_(path), option_(option) {
  if (!is_wanted() || is_stdout()) return;
  is_made_here_ = ::access(path_.c_str(), F_OK) != 0;
  // No O_TRUNC: if the program does not even start, an older result is kept.
  file_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (!file_.is_open()) refuse(status_usage, option_, path_, errno);
}

ResultFile::~ResultFile() {
  if (is_made_here_ && file_.is_open() && !is_written_) ::unlink(path_.c_str());
}

void ResultFile::write(const nlohmann::ordered_json& json) {
  if (!is_wanted()) return;
  // Names of programs and arguments are bytes, but JSON is Unicode: invalid bytes become U+FFFD.
  write_text(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void ResultFile::write_text(std::string_view text) {
  if (!is_wanted()) return;
  const int target = is_stdout() ? STDOUT_FILENO : file_.number();
  // A pipe or a device has no length that could be cut.
  if (!is_stdout() && ::ftruncate(target, 0) != 0 && errno != EINVAL) {
    refuse(status_refused, option_, path_, errno);
  }
  is_written_ = true;
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(target, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) refuse(status_refused, option_, path_, written < 0 ? errno : ENOSPC);
    done += static_cast<std::size_t>(written);
  }
}

}  // namespace tarn
