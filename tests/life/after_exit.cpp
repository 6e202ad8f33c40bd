// after_exit: allocation and free from everything that runs once exit has begun, even from what
// runs after the destructors of libtarn.so itself, while another thread goes on allocating.
//
// The program starts itself again with an argument; the inner run writes a letter for each thing
// that worked, and the outer run compares.
//
// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "family.h"
#include "pattern.h"

extern char** environ;

namespace {

bool is_inner = false;
void* kept[20];

// Frees blocks of before, and takes, fills and frees new ones of many sizes.
void work(char letter) {
  if (!is_inner) return;
  for (void*& block : kept) {
    free(block);
    block = malloc(3000);
    CHECK(block != nullptr);
  }
  for (std::size_t size = 1; size < 2000000; size *= 3) {
    void* block = malloc(size);
    CHECK(block != nullptr);
    pattern_fill(block, size, 8);
    block = realloc(block, size * 2);
    CHECK(block != nullptr && pattern_holds(block, size, 8));
    free(block);
  }
  CHECK(write(STDOUT_FILENO, &letter, 1) == 1);
}

struct Scope {
  explicit Scope(char name) : letter(name), text(new std::string(100, name)) {}
  ~Scope() {
    delete text;
    work(letter);
  }
  char letter;
  std::string* text;
};

Scope static_scope('s');
thread_local Scope thread_scope('t');

void at_exit() { work('x'); }
void at_quick_end(int, void*) { work('o'); }
void at_very_end(int, void*) { work('v'); }
__attribute__((destructor)) void destruct() { work('d'); }
__attribute__((destructor(101))) void destruct_last() { work('l'); }

// What a pre-initialiser registers runs after the dynamic linker's own clean-up, and so after the
// destructors of every library. (atexit would tie it to the program's own destructors.)
void pre_initialise(int argc, char**, char**) {
  is_inner = argc == 2;
  CHECK(on_exit(at_very_end, nullptr) == 0);
}
__attribute__((section(".preinit_array"), used)) void (*pre_initialiser)(int, char**,
                                                                         char**) = pre_initialise;

[[noreturn]] void allocate_for_ever() {
  for (uint64_t state = 99;;) {
    std::vector<void*> blocks(100);
    for (void*& block : blocks) block = malloc(random_next(&state) % 5000);
    for (void* block : blocks) free(block);
  }
}

int inner() {
  std::atexit(at_exit);
  on_exit(at_quick_end, nullptr);
  thread_scope.letter = 'T';
  std::thread([] { thread_scope.letter = 'u'; }).join();
  std::thread(allocate_for_ever).detach();
  std::exit(0);
}

std::string read_all(int file) {
  std::string text;
  char piece[64];
  for (ssize_t got; (got = read(file, piece, sizeof piece)) > 0;) {
    text.append(piece, static_cast<std::size_t>(got));
  }
  return text;
}

std::string run_inner(char* program) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  char mode[] = "inner";
  char* arguments[] = {program, mode, nullptr};
  pid_t child = -1;
  CHECK(posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments, environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string letters = read_all(ends[0]);
  close(ends[0]);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(!letters.empty() && letters.back() == 'v');
  std::sort(letters.begin(), letters.end());
  return letters;
}

}  // namespace

int main(int argc, char** argv) {
  begin(60);
  if (argc == 2) return inner();
  for (int round = 0; round < 20; ++round) {
    const std::string letters = run_inner(argv[0]);
    if (letters != "Tdlosuvx") dprintf(STDERR_FILENO, "ran: %s\n", letters.c_str());
    CHECK(letters == "Tdlosuvx");
  }
  return 0;
}
