// stage: see stage.hpp.
// SPDX-License-Identifier: MIT
#include "stage.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "failure.hpp"

namespace tarn {

namespace {

constexpr off_t last_words_bytes_max = 2000;

void require(bool is_done, const char* what) {
  if (is_done) return;
  throw Failure(status_refused, fmt::format("cannot open {}: {}", what, std::strerror(errno)));
}

}  // namespace

Stage::Stage()
    : nothing_(::open("/dev/null", O_RDWR | O_CLOEXEC)),
      errors_(::memfd_create("tarn-stderr", MFD_CLOEXEC)) {
  require(nothing_.is_open(), "/dev/null");
  require(errors_.is_open(), "a place for stderr");
  struct stat status {};
  if (::fstat(STDIN_FILENO, &status) != 0) return;
  has_input_file_ = S_ISREG(status.st_mode);
  drops_input_ = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
  if (has_input_file_) input_start_ = std::max<off_t>(::lseek(STDIN_FILENO, 0, SEEK_CUR), 0);
}

void Stage::set(Launch& launch, bool is_shown) {
  was_shown_ = is_shown;
  launch.input = nothing_.number();
  if (has_input_file_) {
    // Opened again, not rewound: a program may leave the position of its stdin anywhere, or share
    // it.
    input_ = Descriptor(::open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC));
    require(input_.is_open(), "standard input once more");
    require(::lseek(input_.number(), input_start_, SEEK_SET) == input_start_, "standard input");
    launch.input = input_.number();
  }
  if (is_shown) return;
  launch.output = nothing_.number();
  launch.errors = errors_.number();
  const bool is_empty =
      ::ftruncate(errors_.number(), 0) == 0 && ::lseek(errors_.number(), 0, SEEK_SET) == 0;
  require(is_empty, "a place for stderr");
}

std::string Stage::captured_errors() const {
  if (was_shown_) return "";
  const off_t end = ::lseek(errors_.number(), 0, SEEK_END);
  const off_t start = std::max<off_t>(end - last_words_bytes_max, 0);
  std::string text(static_cast<std::size_t>(std::max<off_t>(end - start, 0)), '\0');
  const ssize_t got = ::pread(errors_.number(), text.data(), text.size(), start);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace tarn
