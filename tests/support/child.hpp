// child: a part of a test that runs in the child of a fork.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <type_traits>

namespace support {

// A child has no use for gtest's failures: it says what is wrong and ends.
inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "in a child: %s\n", what);
  ::_exit(1);
}

// The child ends with what the body returns; with 0 if that is nothing. The status as waitpid()
// has it; -1: there was no child.
template <class Body>
int status_of_child(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      ::_exit(0);
    } else {
      ::_exit(body());
    }
  }
  int status = -1;
  return child > 0 && ::waitpid(child, &status, 0) == child ? status : -1;
}

}  // namespace support
