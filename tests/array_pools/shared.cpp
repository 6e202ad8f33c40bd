// SharedArrayPool with one thread: what each function promises, errors, misuse, damage. (Threads,
// processes and their ends: the other shared_ files.)
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "shared_memory.hpp"
#include "tarn/source/concepts.hpp"

namespace array_pools {
namespace {

using tarn::SharedArrayPool;
static_assert(tarn::BlockAllocator<SharedArrayPool>);

constexpr std::size_t count = 10, bytes = 24, members = 3;

TEST(SharedArrayPool, HandsOutEachBlockOnce) {
  const SharedPoolMemory memory(count, bytes, members);
  auto pool = memory.attach(1);
  ASSERT_TRUE(pool);
  std::vector<char*> taken;
  while (void* const p = pool.try_allocate()) taken.push_back(static_cast<char*>(p));
  ASSERT_EQ(taken.size(), count);
  for (std::size_t i = 0; i != count; ++i) EXPECT_EQ(taken[i], taken[0] + i * bytes);
  EXPECT_TRUE(pool.is_full() && !pool.is_empty() && pool.check());
  EXPECT_THROW((void)pool.allocate(), std::bad_alloc);
  for (char* p : taken) pool.deallocate(p);
  EXPECT_TRUE(pool.is_empty() && !pool.is_full() && pool.check());
  EXPECT_EQ(pool.try_allocate(), taken.back());  // The last freed one first.
  EXPECT_TRUE(pool.owns(taken[0] + 5) && !pool.owns(taken[0] - 1));
  pool.deallocate(nullptr);
}

TEST(SharedArrayPool, SaysNoToWhatBlocksAreNot) {
  const SharedPoolMemory memory(count, bytes, members);
  auto pool = memory.attach(1);
  EXPECT_EQ(pool.try_allocate(bytes + 1, 1), nullptr);
  EXPECT_EQ(pool.try_allocate(SIZE_MAX, 1), nullptr);
  EXPECT_EQ(pool.try_allocate(8, 16), nullptr);  // 24 bytes apart: aligned to 8.
  void* const p = pool.try_allocate(8, 8);
  EXPECT_NE(p, nullptr);
  pool.deallocate(p, 8, 8);
}

TEST(SharedArrayPool, BlocksChangeHandsOnce) {
  const SharedPoolMemory memory(count, bytes, members);
  auto sender = memory.attach(1);
  auto receiver = memory.attach(2);
  void* const p = sender.allocate();
  const std::uint64_t ticket = sender.ticket(p);
  EXPECT_EQ(sender.owner(p), 1u);
  EXPECT_EQ(receiver.adopt(ticket), p);
  EXPECT_EQ(sender.owner(p), 2u);
  EXPECT_EQ(sender.adopt(ticket), nullptr);
  receiver.deallocate(p);
  EXPECT_EQ(sender.owner(p), 0u);
  EXPECT_EQ(sender.ticket(p), 0u);
  EXPECT_EQ(receiver.adopt(0), nullptr);
  EXPECT_EQ(sender.allocate(), p);
  EXPECT_EQ(receiver.adopt(ticket), nullptr);  // Of the block's life before.
  EXPECT_EQ(receiver.adopt(ticket | 0xffffff), nullptr);
}

TEST(SharedArrayPool, ReclaimTakesTheDeadOnesBlocksOnly) {
  const SharedPoolMemory memory(count, bytes, members);
  auto pool = memory.attach(1);
  auto dead = memory.attach(2);
  void* const mine = pool.allocate();
  void* const given = dead.allocate();
  for (int i = 0; i != 4; ++i) (void)dead.allocate();
  EXPECT_NE(pool.adopt(dead.ticket(given)), nullptr);
  const std::uint64_t lost = dead.ticket(dead.allocate());
  EXPECT_EQ(pool.reclaim(2), 5u);
  EXPECT_EQ(pool.in_use(), 2u);
  EXPECT_EQ(pool.owner(mine), 1u);
  EXPECT_EQ(pool.owner(given), 1u);
  EXPECT_EQ(pool.adopt(lost), nullptr);
  EXPECT_EQ(pool.reclaim(2), 0u);
  EXPECT_EQ(pool.reclaim(0), 0u);
  EXPECT_EQ(pool.reclaim(1), 0u);  // Nobody reclaims itself.
  EXPECT_TRUE(pool.check());
}

TEST(SharedArrayPool, MembersHavePlacesUntilTheyLeaveOrAreReclaimed) {
  const SharedPoolMemory memory(count, bytes, members);
  SharedArrayPool joined[members];
  for (std::size_t m = 0; m != members; ++m) joined[m] = memory.attach(100 + m);
  EXPECT_EQ(memory.attach(7).status(), TARN_ARRAY_NO_PLACE);
  (void)joined[1].allocate();
  EXPECT_EQ(joined[1].leave(), 1u);
  EXPECT_FALSE(joined[1]);
  auto next = memory.attach(7);
  EXPECT_TRUE(next);
  (void)next.allocate();
  EXPECT_EQ(joined[1].leave(), 0u);  // The place is another's.
  EXPECT_EQ(next.in_use(), 1u);
  EXPECT_EQ(joined[0].reclaim(102), 0u);
  std::vector<std::uint64_t> found;
  next.for_each_member([&](std::uint64_t m) { found.push_back(m); });
  EXPECT_EQ(found, (std::vector<std::uint64_t>{100, 7}));
  EXPECT_EQ(memory.attach(0).status(), TARN_ARRAY_BAD_ARGUMENT);
  EXPECT_NE(tarn_array_identity(5, 1), tarn_array_identity(5, 2));
}

TEST(SharedArrayPool, WorksThroughMappingsAtDifferentAddresses) {
  const std::size_t notes_bytes = SharedArrayPool::bookkeeping_bytes(count, bytes, members);
  const int file = memfd_create("pool", 0);
  ASSERT_GE(file, 0);
  ASSERT_EQ(ftruncate(file, 8192), 0);
  char* place[2];
  SharedArrayPool pool[2];
  for (int i = 0; i != 2; ++i) {
    place[i] = static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    ASSERT_NE(place[i], MAP_FAILED);
    if (i == 0) {
      ASSERT_EQ(SharedArrayPool::format({place[0], notes_bytes}, count, bytes, members, true),
                TARN_ARRAY_OK);
    }
    pool[i] = SharedArrayPool::attach({place[i], notes_bytes}, {place[i] + 4096, count * bytes},
                                      static_cast<std::uint64_t>(i) + 1);
    ASSERT_TRUE(pool[i]);
  }
  auto* const here = static_cast<char*>(pool[0].allocate());
  std::strcpy(here, "hello");
  auto* const there = static_cast<char*>(pool[1].adopt(pool[0].ticket(here)));
  EXPECT_EQ(there - place[1], here - place[0]);
  EXPECT_STREQ(there, "hello");
  pool[1].deallocate(there);
  EXPECT_TRUE(pool[0].is_empty() && pool[1].check());
  for (char* at : place) munmap(at, 8192);
  close(file);
}

TEST(SharedArrayPool, RefusesPoolsThatCannotBe) {
  alignas(64) static unsigned char notes[4096];
  const tarn::ArrayMemory memory{notes, sizeof notes};
  EXPECT_EQ(SharedArrayPool::format(memory, 0, 8, 1), TARN_ARRAY_BAD_ARGUMENT);
  EXPECT_EQ(SharedArrayPool::format(memory, 8, 0, 1), TARN_ARRAY_BAD_ARGUMENT);
  EXPECT_EQ(SharedArrayPool::format(memory, 8, 8, 0), TARN_ARRAY_BAD_ARGUMENT);
  EXPECT_EQ(SharedArrayPool::format(memory, 8, 8, 256), TARN_ARRAY_BAD_ARGUMENT);
  EXPECT_EQ(SharedArrayPool::format(memory, 1 << 24, 8, 1), TARN_ARRAY_BAD_ARGUMENT);
  EXPECT_EQ(SharedArrayPool::format(memory, 2, SIZE_MAX, 1), TARN_ARRAY_BAD_ARGUMENT);
  EXPECT_EQ(SharedArrayPool::format({nullptr, 4096}, 8, 8, 1), TARN_ARRAY_BAD_ARGUMENT);
  EXPECT_EQ(SharedArrayPool::format({notes + 1, 4000}, 8, 8, 1), TARN_ARRAY_MISALIGNED);
  const std::size_t needed = SharedArrayPool::bookkeeping_bytes(8, 8, 1);
  EXPECT_EQ(SharedArrayPool::format({notes, needed - 1}, 8, 8, 1), TARN_ARRAY_TOO_SMALL);
  EXPECT_EQ(SharedArrayPool::format({notes, needed}, 8, 8, 1), TARN_ARRAY_OK);
}

TEST(SharedArrayPool, AttachSaysWhatIsWrong) {
  const SharedPoolMemory memory(count, bytes, 255);
  auto pool = memory.attach(1);
  auto* const words = static_cast<std::uint64_t*>(memory.notes().data());
  const auto with = [&](std::size_t word, std::uint64_t value) {
    const std::uint64_t before = words[word];
    words[word] = value;
    const auto found = memory.attach(2).status();
    const bool holds = pool.check();
    words[word] = before;
    EXPECT_FALSE(holds) << "word " << word;
    return found;
  };
  EXPECT_EQ(with(0, 0), TARN_ARRAY_NO_POOL);
  EXPECT_EQ(with(1, 2), TARN_ARRAY_OTHER_VERSION);
  EXPECT_EQ(with(2, count + 1), TARN_ARRAY_DAMAGED);
  EXPECT_EQ(with(4, 2), TARN_ARRAY_DAMAGED);
  EXPECT_EQ(with(6, 1), TARN_ARRAY_DAMAGED);
  EXPECT_EQ(with(8, count), TARN_ARRAY_DAMAGED);  // The head.
  EXPECT_EQ(with(16, count + 1), TARN_ARRAY_DAMAGED);
  const std::uint64_t kept = words[0];
  EXPECT_EQ(
      SharedArrayPool::attach(memory.notes().memory(), {memory.blocks().data(), 10}, 2).status(),
      TARN_ARRAY_TOO_SMALL);
  EXPECT_EQ(
      SharedArrayPool::attach({memory.notes().data(), 100}, memory.blocks().memory(), 2).status(),
      TARN_ARRAY_TOO_SMALL);
  EXPECT_EQ(words[0], kept);
  EXPECT_TRUE(pool.check());
}

TEST(SharedArrayPoolDeathTest, MisuseIsReported) {
  const SharedPoolMemory memory(count, bytes, members);
  const testing::KilledBySignal aborted(SIGABRT);
  auto pool = memory.attach(1);
  auto* const p = static_cast<char*>(pool.allocate());
  EXPECT_EXIT(pool.deallocate(p + 1), aborted, "tarn: invalid free: .*not the start of a block");
  EXPECT_EXIT(pool.deallocate(p + count * bytes), aborted, "tarn: invalid free: .*no block of");
  pool.deallocate(p);
  EXPECT_EXIT(pool.deallocate(p), aborted, "tarn: double free: .*the block is free");
  // Written over while it is in use: said, not followed.
  static_cast<std::uint64_t*>(memory.notes().data())[8] = 1234567;
  EXPECT_EXIT((void)pool.try_allocate(), aborted, "tarn: damaged pool: ");
}

}  // namespace
}  // namespace array_pools
