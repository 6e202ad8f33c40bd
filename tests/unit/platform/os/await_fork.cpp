// Waiting for a fork: by others than who forks, once for each, and not for ever.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "platform/os/thread.hpp"
#include "tarn/tarn.h"

namespace tarn {
namespace {

struct Seen {
  bool by_forker = true;
  bool by_other = false;
  bool again = true;
  bool has_memory = false;
};
Seen* seen = nullptr;

// The library's handler has run by then: of those before a fork the first one comes last.
void before_fork() {
  if (seen == nullptr) return;
  seen->by_forker = os::await_fork();
  // The fork waits for this thread, so nobody but the clock ends its wait.
  std::thread([] {
    seen->by_other = os::await_fork();
    seen->again = os::await_fork();
  }).join();
  std::thread([] {
    void* const p = tarn_malloc(100);
    seen->has_memory = p != nullptr;
    tarn_free(p);
  }).join();
}
// Also before a shared library's constructors, which run before the program's.
void come_first() { pthread_atfork(before_fork, nullptr, nullptr); }
[[gnu::section(".preinit_array"), gnu::used]] void (*const at_preinit)() = come_first;

pid_t fork_and_look(Seen& what) {
  seen = &what;
  const pid_t child = fork();
  seen = nullptr;
  return child;
}

TEST(AwaitFork, OthersWaitOnceForEachFork) {
  tarn_free(tarn_malloc(1));
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(os::await_fork());
    Seen what;
    const pid_t child = fork_and_look(what);
    ASSERT_GE(child, 0);
    if (child == 0) {
      bool waits = os::await_fork();
      std::thread([&] { waits = os::await_fork() || waits; }).join();
      _exit(waits ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "nobody forks in the child";
    EXPECT_FALSE(what.by_forker);
    EXPECT_TRUE(what.by_other);
    EXPECT_FALSE(what.again);
    EXPECT_TRUE(what.has_memory);
    std::thread([] { EXPECT_FALSE(os::await_fork()) << "it is over"; }).join();
  }
}

}  // namespace
}  // namespace tarn
