// lacking: what a limited run throws when the machine does not have what it needs; the text says
// what to do about it.
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
