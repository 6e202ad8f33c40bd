// leaks_subject: loses some of its blocks, keeps others, prints a line without its end, and ends:
// "exit STATUS", "signal" (asks for a report first, and waits for its end), "fork" (its child loses
// a block of its own), "_exit".
// SPDX-License-Identifier: MIT
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Node {
  Node* next;
  char name[24];
};

volatile std::size_t buffers = 2;  // The compiler does not know how many.
Node* volatile kept;
void* volatile lost;

[[gnu::noinline]] Node* make_node(Node* next) {
  auto* const node = static_cast<Node*>(std::malloc(sizeof(Node)));
  std::memset(node->name, 'x', sizeof node->name);
  node->next = next;
  return node;
}

[[gnu::noinline]] void lose_list() {
  Node* volatile list = nullptr;
  for (int i = 0; i < 3; ++i) list = make_node(list);
  list = nullptr;
}

[[gnu::noinline]] void lose_buffers() {
  const std::size_t count = buffers;
  for (std::size_t i = 1; i <= count; ++i) lost = std::malloc(1000 * i);
  lost = nullptr;
}

// What is left of calls on the stack.
[[gnu::noinline]] void wipe() {
  volatile char room[8192];
  for (volatile char& byte : room) byte = 0;
}

}  // namespace

int main(int argc, char** argv) {
  const char* const how = argc > 1 ? argv[1] : "exit";
  kept = make_node(make_node(nullptr));
  lose_list();
  lose_buffers();
  wipe();
  std::printf("a line without its end");
  if (std::strcmp(how, "signal") == 0) {
    std::raise(SIGUSR2);
    char* const file = argv[2];  // Where the report comes to.
    for (int i = 0; i < 1000 && ::access(file, F_OK) != 0; ++i) ::usleep(10'000);
    ::usleep(200'000);
    ::_exit(3);
  }
  if (std::strcmp(how, "fork") == 0) {
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child != 0) {
      int status = 0;
      ::waitpid(child, &status, 0);
      ::_exit(WEXITSTATUS(status));
    }
    lost = std::malloc(77);
    lost = nullptr;
  }
  if (std::strcmp(how, "_exit") == 0) ::_exit(0);
  return argc > 2 ? std::atoi(argv[2]) : 0;
}
