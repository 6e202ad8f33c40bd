// RegionArrayPool: blocks in memory that is never written, or mapped twice; bookkeeping that is
// damaged, too small, or of something else.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "tarn/pool/region_array_pool.hpp"
#include "tarn/source/concepts.hpp"

namespace array_pools {
namespace {

using tarn::RegionArrayPool;
static_assert(tarn::BlockAllocator<RegionArrayPool>);

// Bookkeeping full of rubbish, exactly as large as it must be.
class Notes {
 public:
  Notes(std::size_t count, std::size_t bytes, bool exact)
      : bytes_(RegionArrayPool::bookkeeping_bytes(count, bytes, exact)),
        words_((bytes_ + 7) / 8, 0x5a5a5a5a5a5a5a5a) {}
  tarn::ArrayMemory memory() { return {words_.data(), bytes_}; }
  std::uint64_t& word(std::size_t i) { return words_[i]; }

 private:
  std::size_t bytes_;
  std::vector<std::uint64_t> words_;
};

struct Shape {
  std::size_t count, bytes;
  bool exact;
};
class EveryRegion : public testing::TestWithParam<Shape> {};

// The blocks are addresses that no one may touch: a pool that did would crash.
TEST_P(EveryRegion, ServesBlocksThatCannotBeTouched) {
  const Shape shape = GetParam();
  const std::size_t bytes = shape.count * shape.bytes;
  void* const blocks = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(blocks, MAP_FAILED);
  Notes notes(shape.count, shape.bytes, shape.exact);
  auto pool = RegionArrayPool::make(notes.memory(), blocks, shape.count, shape.bytes, shape.exact);
  ASSERT_TRUE(pool) << tarn_array_status_text(pool.status());
  std::vector<void*> taken;
  while (void* const p = pool.try_allocate()) {
    EXPECT_EQ(p, static_cast<char*>(blocks) + taken.size() * shape.bytes);
    EXPECT_EQ(pool.at(pool.index_of(p)), p);
    taken.push_back(p);
  }
  EXPECT_EQ(taken.size(), shape.count);
  EXPECT_TRUE(pool.is_full());
  EXPECT_THROW((void)pool.allocate(), std::bad_alloc);
  for (std::size_t i = 0; i < taken.size(); i += 3) pool.deallocate(taken[i]);
  EXPECT_TRUE(pool.check());
  EXPECT_EQ(pool.in_use(), shape.count - (shape.count + 2) / 3);
  std::size_t live = 0;
  pool.for_each([&](void*) { ++live; });
  EXPECT_EQ(live, pool.in_use());
  pool.for_each([&](void* p) { pool.deallocate(p); });
  EXPECT_TRUE(pool.is_empty() && pool.check());
  EXPECT_EQ(pool.peak(), shape.count);
  pool.deallocate(nullptr);
  munmap(blocks, bytes);
}
INSTANTIATE_TEST_SUITE_P(Shapes, EveryRegion,
                         testing::Values(Shape{1, 1, false}, Shape{256, 3, false},
                                         Shape{257, 24, true}, Shape{9000, 7, true},
                                         Shape{65536, 16, false}, Shape{65537, 2, true}));

TEST(RegionArrayPool, NeverWritesAReadOnlyMapping) {
  constexpr std::size_t count = 64, bytes = 100;
  auto* const blocks = static_cast<unsigned char*>(
      mmap(nullptr, count * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(blocks, MAP_FAILED);
  for (std::size_t i = 0; i != count * bytes; ++i) blocks[i] = static_cast<unsigned char>(i);
  ASSERT_EQ(mprotect(blocks, count * bytes, PROT_READ), 0);
  Notes notes(count, bytes, true);
  auto pool = RegionArrayPool::make(notes.memory(), blocks, count, bytes, true);
  for (int round = 0; round != 3; ++round) {
    void* taken[count];
    for (void*& p : taken) p = pool.allocate();
    for (void* p : taken) pool.deallocate(p);
  }
  for (std::size_t i = 0; i != count * bytes; ++i) {
    ASSERT_EQ(blocks[i], static_cast<unsigned char>(i));
  }
  munmap(blocks, count * bytes);
}

TEST(RegionArrayPool, TwoMappingsOfOneFileAreOnePool) {
  constexpr std::size_t count = 300, bytes = 48, room = 1 << 16;
  const int file = memfd_create("pool", 0);
  ASSERT_GE(file, 0);
  ASSERT_EQ(ftruncate(file, room), 0);
  char* place[2];
  for (char*& at : place) {
    at = static_cast<char*>(mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    ASSERT_NE(at, MAP_FAILED);
  }
  const std::size_t notes_bytes = RegionArrayPool::bookkeeping_bytes(count, bytes, true);
  const std::size_t blocks_at = tarn::RegionArrayPool::bookkeeping_bytes(count, bytes, true) + 40;
  auto first =
      RegionArrayPool::make({place[0], notes_bytes}, place[0] + blocks_at, count, bytes, true);
  auto second =
      RegionArrayPool::attach({place[1], notes_bytes}, {place[1] + blocks_at, count * bytes});
  ASSERT_TRUE(first && second);
  auto* const here = static_cast<char*>(first.allocate());
  std::strcpy(here, "from here");
  auto* const there = static_cast<char*>(second.at(first.index_of(here)));
  EXPECT_NE(here, there);
  EXPECT_STREQ(there, "from here");
  EXPECT_FALSE(second.owns(here));
  EXPECT_EQ(second.in_use(), 1u);
  second.deallocate(there);
  EXPECT_TRUE(first.is_empty() && first.check());
  EXPECT_EQ(first.peak(), 1u);
  EXPECT_EQ(second.peak(), 1u);
  for (char* at : place) munmap(at, room);
  close(file);
}

TEST(RegionArrayPool, RefusesPoolsThatCannotBe) {
  alignas(8) unsigned char notes[4096];
  unsigned char blocks[64];
  const auto status = [&](std::size_t count, std::size_t bytes, tarn::ArrayMemory memory) {
    return RegionArrayPool::make(memory, blocks, count, bytes).status();
  };
  const tarn::ArrayMemory memory{notes, sizeof notes};
  EXPECT_EQ(status(0, 8, memory), TARN_ARRAY_BAD_ARGUMENT);
  EXPECT_EQ(status(8, 0, memory), TARN_ARRAY_BAD_ARGUMENT);
  EXPECT_EQ(status(SIZE_MAX, 1, memory), TARN_ARRAY_BAD_ARGUMENT);
  EXPECT_EQ(status(1, SIZE_MAX, memory), TARN_ARRAY_BAD_ARGUMENT);
  EXPECT_EQ(status(SIZE_MAX / 2 + 2, 2, memory), TARN_ARRAY_BAD_ARGUMENT);
  EXPECT_EQ(status((std::size_t{1} << 32) + 1, 1, memory), TARN_ARRAY_BAD_ARGUMENT);
  EXPECT_EQ(status(8, 8, {nullptr, 4096}), TARN_ARRAY_BAD_ARGUMENT);
  EXPECT_EQ(status(8, 8, {notes + 4, 4000}), TARN_ARRAY_MISALIGNED);
  const std::size_t needed = RegionArrayPool::bookkeeping_bytes(8, 8);
  EXPECT_EQ(status(8, 8, {notes, needed - 1}), TARN_ARRAY_TOO_SMALL);
  EXPECT_EQ(status(8, 8, {notes, needed}), TARN_ARRAY_OK);
  EXPECT_EQ(RegionArrayPool::bookkeeping_bytes(0, 1), 0u);
  EXPECT_EQ(RegionArrayPool().status(), TARN_ARRAY_NO_POOL);
}

TEST(RegionArrayPool, AttachSaysWhatIsWrong) {
  Notes notes(64, 16, false);
  unsigned char blocks[64 * 16];
  const auto status = [&](std::size_t less = 0) {
    return RegionArrayPool::attach(notes.memory(), {blocks, sizeof blocks - less}).status();
  };
  EXPECT_EQ(status(), TARN_ARRAY_NO_POOL);  // Rubbish.
  auto pool = RegionArrayPool::make(notes.memory(), blocks, 64, 16);
  for (int i = 0; i != 5; ++i) (void)pool.allocate();
  EXPECT_EQ(status(), TARN_ARRAY_OK);
  EXPECT_EQ(status(1), TARN_ARRAY_TOO_SMALL);
  const auto with = [&](std::size_t word, std::uint64_t value) {
    const std::uint64_t before = notes.word(word);
    notes.word(word) = value;
    const auto found = status();
    const bool holds = pool.check();
    notes.word(word) = before;
    EXPECT_FALSE(holds && found != TARN_ARRAY_OTHER_VERSION) << "word " << word;
    return found;
  };
  EXPECT_EQ(with(0, 0), TARN_ARRAY_NO_POOL);
  EXPECT_EQ(with(1, 99), TARN_ARRAY_OTHER_VERSION);
  EXPECT_EQ(with(2, 65), TARN_ARRAY_DAMAGED);
  EXPECT_EQ(with(3, 17), TARN_ARRAY_DAMAGED);
  EXPECT_EQ(with(4, 1), TARN_ARRAY_DAMAGED);
  EXPECT_EQ(with(6, 0), TARN_ARRAY_DAMAGED);
  EXPECT_EQ(with(7, 6), TARN_ARRAY_DAMAGED);  // More free than were carved.
  EXPECT_EQ(with(8, 65), TARN_ARRAY_DAMAGED);
  EXPECT_TRUE(pool.check());
}

TEST(RegionArrayPool, CheckSeesAnIndexTwice) {
  Notes notes(64, 16, false);
  unsigned char blocks[64 * 16];
  auto pool = RegionArrayPool::make(notes.memory(), blocks, 64, 16);
  void* taken[5];
  for (void*& p : taken) p = pool.allocate();
  pool.deallocate(taken[1]);
  pool.deallocate(taken[3]);
  EXPECT_TRUE(pool.check());
  auto* const indices =
      static_cast<unsigned char*>(notes.memory().data) + sizeof(tarn_array_region);
  ASSERT_EQ(indices[0], 1);
  indices[0] = 3;
  EXPECT_FALSE(pool.check());
  indices[0] = 5;  // Never handed out.
  EXPECT_FALSE(pool.check());
}

TEST(RegionArrayPoolDeathTest, MisuseIsReported) {
  static unsigned char blocks[8 * 16];
  const testing::KilledBySignal aborted(SIGABRT);
  for (const bool exact : {false, true}) {
    Notes notes(8, 16, exact);
    auto pool = RegionArrayPool::make(notes.memory(), blocks, 8, 16, exact);
    auto* const p = static_cast<unsigned char*>(pool.allocate());
    (void)pool.allocate();
    EXPECT_EXIT(pool.deallocate(p + 1), aborted, "tarn: invalid free: .*not the start");
    EXPECT_EXIT(pool.deallocate(&notes), aborted, "tarn: invalid free: .*no block of this pool");
    EXPECT_EXIT(pool.deallocate(p + 32), aborted, "tarn: double free: ");
    pool.deallocate(p);
    if (exact) {
      EXPECT_EXIT(pool.deallocate(p), aborted, "tarn: double free: .*freed before");
    }
  }
}

}  // namespace
}  // namespace array_pools
