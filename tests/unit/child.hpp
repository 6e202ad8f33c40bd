// child: a body that runs in the child of a fork which nobody has repaired yet.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <csignal>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace tarn {

// The system call knows nothing of pthread_atfork. What fails in the child fails the test.
template <class Body>
void in_unrepaired_child(Body body) {
  const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  ASSERT_GE(child, 0);
  if (child == 0) {
    body();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "see the child's messages";
}

}  // namespace tarn
