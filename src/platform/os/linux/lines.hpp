// lines: a file of /proc about the process, and the lines of such a file, without allocating.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <unistd.h>

namespace tarn::os {

inline constexpr std::size_t line_bytes = 512;

// Opens the calling thread's file, since the process's is that of the first thread, and empty when
// that has ended. Where the kernel has none for threads, or a rule bars it, the process's.
inline int open_of_thread(const char* of_thread, const char* of_process) noexcept {
  const int file = open(of_thread, O_RDONLY | O_CLOEXEC);
  return file >= 0 ? file : open(of_process, O_RDONLY | O_CLOEXEC);
}
inline int open_maps() noexcept {
  return open_of_thread("/proc/thread-self/maps", "/proc/self/maps");
}

class Lines {
 public:
  explicit Lines(int file) noexcept : file_(file) {}

  // The next line, cut to what fits; false at the end.
  bool next(char* line) noexcept {
    std::size_t length = 0;
    for (;; ++at_) {
      if (at_ == filled_ && !fill()) return false;
      if (buffer_[at_] == '\n') break;
      if (length < line_bytes - 1) line[length++] = buffer_[at_];
    }
    ++at_;
    line[length] = '\0';
    return true;
  }

 private:
  bool fill() noexcept {
    const ssize_t got = read(file_, buffer_, sizeof buffer_);
    at_ = 0;
    filled_ = got <= 0 ? 0 : static_cast<std::size_t>(got);
    return filled_ != 0;
  }

  int file_;
  char buffer_[1024];
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
};

// Reads a number. *text is behind its digits afterwards.
inline std::uint64_t read_hexadecimal(const char** text) noexcept {
  std::uint64_t value = 0;
  for (;; ++*text) {
    const char c = **text;
    if (c >= '0' && c <= '9') {
      value = value * 16 + static_cast<std::uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value * 16 + static_cast<std::uint64_t>(c - 'a' + 10);
    } else {
      return value;
    }
  }
}

}  // namespace tarn::os
