// Frees that the hit path takes for suspect (heaps/blocks/lookup.hpp): what is free or no block
// is reported wherever its free block lies, and what only looks so is not.
//
// SPDX-License-Identifier: MIT
#include "heaps/blocks/lookup.hpp"

#include <cstring>
#include <vector>

#include "actor.hpp"
#include "engine/threads/gathering.hpp"
#include "heaps/blocks/allocate.hpp"
#include "malloc/blocks/resize.hpp"

namespace tarn {
namespace {

class SuspectsTest : public testing::Test {
 protected:
  SuspectsTest() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    if (current_thread == no_thread()) thread_start();
  }
  ~SuspectsTest() override {
    trim(0);
    EXPECT_TRUE(store.check());
  }

  static void give_what_is_at_hand() {
    Busy busy(*current_thread);
    give_at_hand(*current_thread);
  }
  static std::byte* take(std::size_t bytes) {
    auto* const block = static_cast<std::byte*>(allocate(bytes));
    memset(block, 1, bytes);
    return block;
  }
  static std::uint64_t& second_word(void* p) { return static_cast<std::uint64_t*>(p)[1]; }
};
using SuspectsDeathTest = SuspectsTest;

TEST_F(SuspectsDeathTest, AFreeBlockIsReportedWhereverItLies) {
  std::byte* const p = take(100);
  std::byte* const q = take(100);
  deallocate(p);
  deallocate(q);
  EXPECT_DEATH(deallocate(p), "double free: free") << "at hand";
  EXPECT_DEATH(deallocate_sized(p, 100), "double free: free");
  EXPECT_DEATH(deallocate(p, Family::array), "double free: operator delete\\[\\]");
  EXPECT_DEATH(reallocate(p, 50), "double free: realloc");
  give_what_is_at_hand();
  EXPECT_DEATH(deallocate(p), "double free: free") << "on its page";
  Actor other;
  EXPECT_DEATH(other.run([&] { deallocate(p); }), "double free: free") << "by another thread";
  EXPECT_DEATH(other.run([&] { reallocate(p, 50); }), "double free: realloc");
  other.end();
}

TEST_F(SuspectsDeathTest, AFreeBlockIsReportedInTheHandsOfAnotherThread) {
  Actor owner;
  void* const at_hand = owner.allocate(100);
  owner.run([&] { deallocate(at_hand); });
  EXPECT_DEATH(deallocate(at_hand), "double free: free") << "its owner has it";
  void* const gathered = owner.allocate(200);
  deallocate(gathered);
  EXPECT_DEATH(deallocate(gathered), "double free: free") << "this thread has gathered it";
  EXPECT_DEATH(owner.run([&] { deallocate(gathered); }), "double free: free");
  give_gathered(*current_thread);
  EXPECT_DEATH(deallocate(gathered), "double free: free") << "its owner has not looked";
  EXPECT_DEATH(owner.run([&] { deallocate(gathered); }), "double free: free");
  owner.end();
  EXPECT_DEATH(deallocate(gathered), "double free: free") << "of an ended thread";
}

TEST_F(SuspectsDeathTest, AThreadWithoutARecordLeavesTheMark) {
  Actor owner;
  void* const p = owner.allocate(100);
  Thread* const self = current_thread;
  set_current_thread(no_thread());
  deallocate(p);
  set_current_thread(self);
  EXPECT_DEATH(owner.run([&] { deallocate(p); }), "double free: free");
  owner.end();
}

TEST_F(SuspectsTest, ALiveBlockMayHoldTheMark) {
  const std::uint64_t mark = current_thread->cache.freed_mark;
  EXPECT_NE(mark, 0u);
  std::byte* const p = take(100);
  second_word(p) = mark;
  p[50] = std::byte{7};
  auto* const grown = static_cast<std::byte*>(reallocate(p, 100));
  EXPECT_EQ(grown, p) << "it is looked up, and stays";
  EXPECT_EQ(grown[50], std::byte{7});
  second_word(p) = mark;
  deallocate(p);
  EXPECT_EQ(allocate(100), p) << "it went where blocks go";
  EXPECT_EQ(second_word(p), 0u);
  Actor other;
  second_word(p) = mark;
  other.run([&] { deallocate(p); });
  other.end();
}

// Another thread's list at hand may lead through a block that was taken meanwhile, and keeps p.
TEST_F(SuspectsTest, ABlockThatHoldsItsAddressIsNoList) {
  Actor owner;
  void* const p = owner.allocate(100);
  void* const last = owner.allocate(100);
  void* const taken = owner.allocate(100);
  owner.run([&] {
    deallocate(last);
    deallocate(taken);
  });
  std::uint64_t as_freed[2];
  memcpy(as_freed, taken, sizeof as_freed);
  const std::uint64_t as_taken[2] = {address_of(p), 0};
  memcpy(taken, as_taken, sizeof as_taken);
  second_word(p) = current_thread->cache.freed_mark;
  deallocate(p);
  memcpy(taken, as_freed, sizeof as_freed);
  owner.end();
}

TEST_F(SuspectsTest, ABlockByTheHandleLosesTheMarkOfItsLastLife) {
  const tarn_heap heap = main_record.handle();
  for (const std::size_t bytes : {100u, 3000u}) {
    std::byte* const p = take(bytes);
    deallocate(p);
    give_what_is_at_hand();
    std::vector<void*> blocks;
    do {
      blocks.push_back(heap_allocate(heap, bytes, "test"));
      ASSERT_NE(second_word(blocks.back()), std::uint64_t{current_thread->cache.freed_mark});
    } while (blocks.back() != p);
    for (void* const block : blocks) deallocate(block);
  }
}

TEST_F(SuspectsTest, ALargeBlockThatBecomesSmallHasNoMark) {
  std::byte* const p = take(8);
  deallocate(p);
  give_what_is_at_hand();
  void* const small = reallocate(allocate(3 << 20), 8);
  EXPECT_EQ(second_word(small), 0u);
  deallocate(small);
}

TEST_F(SuspectsDeathTest, WhatIsNoBlockIsReported) {
  for (const std::size_t bytes : {24u, 1000u, 3000u, 40000u}) {
    std::byte* const p = take(bytes);
    EXPECT_DEATH(deallocate(p + 1), "invalid free: free");
    EXPECT_DEATH(deallocate(p + 8), "invalid free: free");
    EXPECT_DEATH(reallocate(p + 8, bytes), "invalid free: realloc");
    deallocate(p);
  }
  std::byte* const p = take(40000);
  EXPECT_DEATH(deallocate(p + 2 * slice_bytes), "invalid free: free") << "no block begins near";
  EXPECT_DEATH(deallocate(p + 20000), "invalid free: free");
  Actor other;
  EXPECT_DEATH(other.run([&] { deallocate(p + 20000); }), "invalid free: free");
  other.end();
  deallocate(p);
}

TEST_F(SuspectsDeathTest, WhatAListHoldsIsLookedAtWhenItGoesToItsPages) {
  std::byte* const p = take(3000);
  std::byte* const q = take(3000);
  const auto free_inside = [&] {
    deallocate(p + 16);
    give_what_is_at_hand();
  };
  EXPECT_DEATH(free_inside(), "invalid free: free");
  const auto write_to_the_freed = [&](std::uintptr_t link) {
    deallocate(q);
    deallocate(p);
    memcpy(p, &link, sizeof link);
    give_what_is_at_hand();
  };
  EXPECT_DEATH(write_to_the_freed(0), "use after free: a freed block of 3072 bytes");
  EXPECT_DEATH(write_to_the_freed(1), "use after free: a freed block of 3072 bytes");
  EXPECT_DEATH(write_to_the_freed(0x0101010101010101), "its link leads to 0x0*101010101010101");
  deallocate(q);
  deallocate(p);
}

TEST_F(SuspectsTest, EverySizeThatABlockMayHaveGoes) {
  for (std::size_t bytes = 0; bytes <= block_bytes_max; bytes += bytes < 3000 ? 1 : 997) {
    deallocate_sized(allocate(bytes), bytes, Family::object);
    deallocate_sized(allocate(bytes), bytes, Family::array);
  }
  deallocate_sized(allocate(3 << 20), 3 << 20, Family::object);
  deallocate_sized(allocate_aligned(24, 256), 24, Family::aligned_object);
  deallocate_sized(allocate_aligned(24, 256), 24);
  void* const shrunk = reallocate(allocate(60), 3);
  deallocate_sized(shrunk, 3);
  Actor owner;
  deallocate_sized(owner.allocate(100), 100, Family::object);
  deallocate_sized(owner.allocate(0), 0, Family::object);
  owner.end();
}

TEST_F(SuspectsDeathTest, AnotherSizeIsReported) {
  const auto said = [](std::size_t bytes, std::size_t of, Family family) {
    deallocate_sized(allocate(bytes), of, family);
  };
  EXPECT_DEATH(said(24, 48, Family::malloc), "size mismatch: free.*48 bytes, the block has 32");
  EXPECT_DEATH(said(24, SIZE_MAX, Family::malloc), "size mismatch: free");
  EXPECT_DEATH(said(48, 24, Family::object), "size mismatch: operator delete\\(");
  EXPECT_DEATH(said(48, 0, Family::array), "size mismatch: operator delete\\[\\]");
  EXPECT_DEATH(said(3000, 1500, Family::object), "size mismatch");
  EXPECT_DEATH(said(3 << 20, 3, Family::malloc), "with 3 bytes, the block has 3145728");
  Actor owner;
  void* const p = owner.allocate(48);
  EXPECT_DEATH(deallocate_sized(p, 24, Family::object), "size mismatch");
  EXPECT_DEATH(deallocate_sized(p, 100), "size mismatch");
  owner.free(p);
  owner.end();
}

}  // namespace
}  // namespace tarn
