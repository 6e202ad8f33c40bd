// lacking: the exception of a limited run when the machine lacks what it needs. The text says what
// to do about it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace lists {

struct Lacking : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// "<what>: <the text of errno>"
inline std::string with_errno(const std::string& what) {
  return what + ": " + std::strerror(errno);
}

}  // namespace lists
