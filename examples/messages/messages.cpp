// messages: a child writes messages into blocks of a shared pool and sends their tickets through a
// pipe; the parent takes the blocks over, reads and frees them. The child ends without a word while
// it still has a block, and the parent reclaims that.
//
// SPDX-License-Identifier: MIT
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tarn/pool/shared_array_pool.hpp"

namespace {

constexpr std::size_t block_count = 8;
constexpr std::size_t block_bytes = 64;
constexpr std::size_t members_max = 2;
constexpr int message_count = 100;

// Both processes see what is written here.
tarn::ArrayMemory map_shared(std::size_t bytes) {
  void* const data =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) std::exit(1);
  return {data, bytes};
}

// A program whose processes live longer would use the start time too, since process ids are used
// again.
std::uint64_t identity(pid_t process) {
  return tarn_array_identity(static_cast<std::uint32_t>(process), 0);
}

[[noreturn]] void write_messages(tarn::ArrayMemory notes, tarn::ArrayMemory blocks, int pipe_end) {
  auto pool = tarn::SharedArrayPool::attach(notes, blocks, identity(getpid()));
  for (int i = 0; i != message_count; ++i) {
    char* message = nullptr;
    while (message == nullptr) {  // All blocks are under way: the reader will free some.
      message = static_cast<char*>(pool.try_allocate());
      if (message == nullptr) usleep(100);
    }
    std::snprintf(message, block_bytes, "message %d of %d", i, message_count);
    const std::uint64_t ticket = pool.ticket(message);
    if (write(pipe_end, &ticket, sizeof ticket) != sizeof ticket) _exit(1);
  }
  while (pool.try_allocate() == nullptr) usleep(100);
  _exit(0);
}

}  // namespace

int main() {
  const auto notes =
      map_shared(tarn::SharedArrayPool::bookkeeping_bytes(block_count, block_bytes, members_max));
  const auto blocks = map_shared(block_count * block_bytes);
  const auto status =
      tarn::SharedArrayPool::format(notes, block_count, block_bytes, members_max, true);
  auto pool = tarn::SharedArrayPool::attach(notes, blocks, identity(getpid()));
  int ends[2];
  if (status != TARN_ARRAY_OK || !pool || pipe(ends) != 0) {
    std::fprintf(stderr, "messages: %s\n", tarn_array_status_text(pool.status()));
    return 1;
  }
  const pid_t child = fork();
  if (child == 0) write_messages(notes, blocks, ends[1]);
  close(ends[1]);
  std::uint64_t ticket = 0;
  while (read(ends[0], &ticket, sizeof ticket) == sizeof ticket) {
    auto* const message = static_cast<const char*>(pool.adopt(ticket));
    if (message == nullptr) continue;  // Its sender is gone, and its blocks are reclaimed.
    std::puts(message);
    pool.deallocate(const_cast<char*>(message));
  }
  waitpid(child, nullptr, 0);
  const std::size_t left = pool.reclaim(identity(child));
  std::printf("%zu block was left behind; ", left);
  std::printf(pool.is_empty() && pool.check() ? "all %zu are free\n" : "of %zu some are lost\n",
              pool.capacity());
}
