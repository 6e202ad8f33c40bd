// Processes that exchange blocks through one shared pool, and are killed at random moments: the
// others go on, reclaim what the dead had, and in the end every block is accounted for.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <vector>

#include "shared_memory.hpp"

namespace array_pools {
namespace {

constexpr int kills = 400 / TARN_TEST_DIVISOR;
constexpr std::size_t capacity = 40;
constexpr std::size_t block_bytes = 64;
constexpr std::uint64_t parent_identity = 1;

std::uint64_t identity_of(pid_t process, int round) {
  return tarn_array_identity(static_cast<std::uint32_t>(process),
                             static_cast<std::uint64_t>(round));
}

// Tickets from one process to one other.
struct Ring {
  static constexpr std::uint64_t room = 16;
  std::uint64_t slots[room];
  std::uint64_t sent;      // Written by the sender (release; partner: receive).
  std::uint64_t received;  // Written by the receiver (release; partner: send).

  bool send(std::uint64_t ticket) {
    const std::uint64_t at = __atomic_load_n(&sent, __ATOMIC_RELAXED);
    if (at - __atomic_load_n(&received, __ATOMIC_ACQUIRE) == room) return false;
    slots[at % room] = ticket;
    __atomic_store_n(&sent, at + 1, __ATOMIC_RELEASE);
    return true;
  }
  std::uint64_t front() const {
    const std::uint64_t at = __atomic_load_n(&received, __ATOMIC_RELAXED);
    return at == __atomic_load_n(&sent, __ATOMIC_ACQUIRE) ? 0 : slots[at % room];
  }
  void drop() {
    const std::uint64_t at = __atomic_load_n(&received, __ATOMIC_RELAXED);
    __atomic_store_n(&received, at + 1, __ATOMIC_RELEASE);
  }
};

struct Rings {
  int holder;  // The round whose partner has a block (release; partner: the parent).
  Ring to_child;
  Ring to_parent;
};

void fill(void* block, unsigned char stamp) { std::memset(block, stamp, block_bytes); }
bool is_filled(const void* block) {
  const auto* const bytes = static_cast<const unsigned char*>(block);
  for (std::size_t i = 1; i != block_bytes; ++i) {
    if (bytes[i] != bytes[0]) return false;
  }
  return true;
}

// One step of either side. False: a block was not as it was sent.
bool exchange(tarn::SharedArrayPool& pool, Ring& out, Ring& in, std::minstd_rand& random) {
  if (random() % 2 == 0) {
    void* const block = pool.try_allocate();
    if (block != nullptr) {
      fill(block, static_cast<unsigned char>(random()));
      if (!out.send(pool.ticket(block))) pool.deallocate(block);
    }
  } else if (const std::uint64_t ticket = in.front(); ticket != 0) {
    void* const block = pool.adopt(ticket);
    const bool is_whole = block == nullptr || is_filled(block);
    in.drop();  // Later than adopt: killed between the two, it is dropped by the next.
    pool.deallocate(block);
    return is_whole;
  }
  return true;
}

[[noreturn]] void be_partner(const SharedPoolMemory& memory, Rings* rings, int round) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // A test that fails leaves nobody behind.
  tarn::SharedArrayPool pool = memory.attach(identity_of(getpid(), round));
  if (!pool) _exit(2);
  void* const kept = pool.try_allocate();  // Which nobody else ever gives back.
  if (kept == nullptr) _exit(3);
  __atomic_store_n(&rings->holder, round + 1, __ATOMIC_RELEASE);
  std::minstd_rand random(static_cast<unsigned>(round) + 7);
  while (exchange(pool, rings->to_parent, rings->to_child, random)) {
  }
  _exit(1);
}

// Takes back what nobody will receive.
void drain(tarn::SharedArrayPool& pool, Ring& ring) {
  for (std::uint64_t ticket = ring.front(); ticket != 0; ticket = ring.front()) {
    void* const block = pool.adopt(ticket);
    EXPECT_TRUE(block == nullptr || is_filled(block));
    pool.deallocate(block);
    ring.drop();
  }
}

void kill_and_wait(pid_t child) {
  ASSERT_EQ(kill(child, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status))
      << "the child ended by itself, exit status " << WEXITSTATUS(status);
}

TEST(SharedKills, APartnerThatIsKilledLosesNoBlock) {
  const SharedPoolMemory memory(capacity, block_bytes, 3);
  const Mapping rings_memory(sizeof(Rings));
  auto* const rings = static_cast<Rings*>(rings_memory.data());
  tarn::SharedArrayPool pool = memory.attach(parent_identity);
  ASSERT_TRUE(pool);
  std::minstd_rand random(1);
  std::size_t reclaimed = 0;
  for (int round = 0; round != kills; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) be_partner(memory, rings, round);
    while (__atomic_load_n(&rings->holder, __ATOMIC_ACQUIRE) != round + 1) sched_yield();
    for (std::size_t left = 500 + random() % 20000; left != 0; --left) {
      ASSERT_TRUE(exchange(pool, rings->to_child, rings->to_parent, random));
    }
    ASSERT_NO_FATAL_FAILURE(kill_and_wait(child));
    if (round % 2 == 0) drain(pool, rings->to_parent);  // Its last messages count, or not.
    reclaimed += pool.reclaim(identity_of(child, round));
    drain(pool, rings->to_parent);
    drain(pool, rings->to_child);
    ASSERT_TRUE(pool.check());
    ASSERT_EQ(pool.in_use(), 0u) << "in round " << round;
  }
  EXPECT_GE(reclaimed, std::size_t{kills});
  std::size_t taken = 0;
  while (pool.try_allocate() != nullptr) ++taken;
  EXPECT_EQ(taken, capacity);
}

// Keeps some blocks, marks them as its own, and sees that nobody else had them.
[[noreturn]] void be_holder(const SharedPoolMemory& memory, int round) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // A test that fails leaves nobody behind.
  tarn::SharedArrayPool pool = memory.attach(identity_of(getpid(), round));
  if (!pool) _exit(2);
  std::minstd_rand random(static_cast<unsigned>(round) + 77);
  void* held[8] = {};
  for (;;) {
    void*& place = held[random() % 8];
    if (place == nullptr) {
      place = pool.try_allocate();
      if (place != nullptr) fill(place, static_cast<unsigned char>(getpid() + round));
      continue;
    }
    const auto* const bytes = static_cast<const unsigned char*>(place);
    if (bytes[0] != static_cast<unsigned char>(getpid() + round) || !is_filled(place)) _exit(1);
    pool.deallocate(place);
    place = nullptr;
  }
}

TEST(SharedKills, OthersGoOnWhileTheDeadAreReclaimed) {
  constexpr std::size_t holders = 3;
  constexpr std::size_t tight = 20;  // Fewer than all want, so that they meet at the list's end.
  const SharedPoolMemory memory(tight, block_bytes, 6);
  tarn::SharedArrayPool pool = memory.attach(parent_identity);
  ASSERT_TRUE(pool);
  struct Holder {
    pid_t process;
    int round;
  };
  std::vector<Holder> alive;
  std::minstd_rand random(2);
  for (int round = 0; round != kills; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) be_holder(memory, round);
    alive.push_back({child, round});
    if (alive.size() < holders) continue;
    usleep(static_cast<useconds_t>(random() % 2000));
    const std::size_t victim = random() % alive.size();
    ASSERT_NO_FATAL_FAILURE(kill_and_wait(alive[victim].process));
    pool.reclaim(identity_of(alive[victim].process, alive[victim].round));
    alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(victim));
    void* const block = pool.try_allocate();  // The parent meets them, too.
    pool.deallocate(block);
  }
  for (const Holder& holder : alive) {
    ASSERT_NO_FATAL_FAILURE(kill_and_wait(holder.process));
  }
  EXPECT_TRUE(pool.check());
  for (const Holder& holder : alive) pool.reclaim(identity_of(holder.process, holder.round));
  EXPECT_TRUE(pool.check());
  EXPECT_EQ(pool.in_use(), 0u);
  std::size_t members = 0;
  pool.for_each_member([&](std::uint64_t) { ++members; });
  EXPECT_EQ(members, 1u);
}

}  // namespace
}  // namespace array_pools
