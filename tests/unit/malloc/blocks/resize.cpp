// realloc of every kind of block: what stays, what moves, and what a failure leaves.
//
// SPDX-License-Identifier: MIT
#include "malloc/blocks/resize.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "actor.hpp"
#include "heaps/blocks/allocate.hpp"
#include "heaps/operations/life.hpp"
#include "platform/os/fake/fake.hpp"

namespace tarn {
namespace {

enum class Home { malloc, young, paged, region, secret, checked, guarded, passthrough };
constexpr std::array homes{Home::malloc, Home::young,   Home::paged,   Home::region,
                           Home::secret, Home::checked, Home::guarded, Home::passthrough};
constexpr std::array<std::size_t, 8> sizes{1, 16, 40, 200, 3'000, 40'000, 300'000, 2'000'000};

alignas(64) std::array<std::byte, std::size_t{32} << 20> region;

// A heap of a kind, or malloc's own, and blocks of it whose contents are known.
class ResizeTest : public testing::TestWithParam<Home> {
 protected:
  ResizeTest() {
    if (GetParam() == Home::malloc) return;
    tarn_heap_options options = TARN_HEAP_OPTIONS();
    if (GetParam() == Home::region) {
      options.region = region.data();
      options.region_bytes = region.size();
    }
    if (GetParam() == Home::secret) options.flags = TARN_HEAP_SECRET;
    if (GetParam() == Home::checked) options.mode = TARN_MODE_CHECKED;
    if (GetParam() == Home::guarded) options.mode = TARN_MODE_GUARDED;
    if (GetParam() == Home::passthrough) options.mode = TARN_MODE_PASSTHROUGH;
    heap_ = heap_create(&options);
    if (heap_.record != nullptr && GetParam() == Home::paged) record().young = false;
  }
  void SetUp() override {
    if (GetParam() != Home::malloc && heap_.record == nullptr) GTEST_SKIP() << "not to be had here";
  }
  ~ResizeTest() override {
    os::fake::fail_at(0, false);
    if (heap_.record != nullptr) {
      EXPECT_TRUE(heap_clear(heap_, true, "test"));
    }
    trim(0);
    EXPECT_TRUE(store.check());
  }

  HeapRecord& record() { return *static_cast<HeapRecord*>(heap_.record); }
  unsigned char* allocate_filled(std::size_t bytes) {
    void* const p =
        GetParam() == Home::malloc ? tarn::allocate(bytes) : heap_allocate(heap_, bytes, "test");
    EXPECT_NE(p, nullptr);
    for (std::size_t i = 0; i < bytes; ++i) static_cast<unsigned char*>(p)[i] = mark_of(i);
    return static_cast<unsigned char*>(p);
  }
  static unsigned char mark_of(std::size_t i) { return static_cast<unsigned char>(i * 7 + 1); }
  static void expect_filled(const unsigned char* p, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(p[i], mark_of(i)) << "of " << bytes;
  }

  tarn_heap heap_{};
};

std::string name_of(const testing::TestParamInfo<Home>& info) {
  constexpr std::array names{"Malloc", "Young",   "Paged",   "Region",
                             "Secret", "Checked", "Guarded", "Passthrough"};
  return names[static_cast<std::size_t>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(Of, ResizeTest, testing::ValuesIn(homes), name_of);

TEST_P(ResizeTest, FromEverySizeToEverySizeTheContentsStay) {
  for (const std::size_t before : sizes) {
    for (const std::size_t after : sizes) {
      unsigned char* const p = allocate_filled(before);
      errno = 17;
      auto* const resized = static_cast<unsigned char*>(reallocate(p, after));
      ASSERT_NE(resized, nullptr) << before << " to " << after;
      EXPECT_EQ(errno, 17) << "a success leaves it alone";
      expect_filled(resized, std::min(before, after));
      std::memset(resized, 0, after);
      deallocate(resized);
    }
  }
}

TEST_P(ResizeTest, TheSameSizeStays) {
  if (GetParam() == Home::passthrough) GTEST_SKIP() << "as the system's malloc likes";
  for (const std::size_t bytes : sizes) {
    if (GetParam() == Home::checked && bytes == 1) continue;  // It leaves most of its place unused.
    unsigned char* const p = allocate_filled(bytes);
    EXPECT_EQ(reallocate(p, bytes), p) << bytes;
    expect_filled(p, bytes);
    deallocate(p);
  }
}

// A request that no memory could hold, and then one for which the OS gives none.
TEST_P(ResizeTest, AFailureLeavesTheBlockAsItWas) {
  for (const std::size_t bytes : sizes) {
    unsigned char* const p = allocate_filled(bytes);
    errno = 0;
    EXPECT_EQ(reallocate(p, SIZE_MAX / 4), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    expect_filled(p, bytes);
    if (GetParam() == Home::passthrough) {  // The fake OS is not the system's malloc's.
      deallocate(p);
      continue;
    }
    os::fake::limit_bytes(os::fake::bytes_reserved());
    os::fake::fail_at(1, true);
    errno = 0;
    void* const grown = reallocate(p, std::size_t{3} << 30);
    const int error = errno;
    os::fake::fail_at(0, false);
    os::fake::limit_bytes(0);
    EXPECT_EQ(grown, nullptr);
    EXPECT_EQ(error, ENOMEM);
    expect_filled(p, bytes);
    deallocate(p);
  }
}

TEST_P(ResizeTest, ASmallerSizeIsToBeHadWithoutMemory) {
  for (const std::size_t bytes : sizes) {
    if (bytes < 16) continue;
    unsigned char* const p = allocate_filled(bytes);
    os::fake::fail_at(1, true);
    errno = 17;
    auto* const shrunk = static_cast<unsigned char*>(reallocate(p, bytes / 10 + 1));
    const int error = errno;
    os::fake::fail_at(0, false);
    ASSERT_NE(shrunk, nullptr) << bytes;
    EXPECT_EQ(error, 17);
    expect_filled(shrunk, bytes / 10 + 1);
    deallocate(shrunk);
  }
}

TEST_P(ResizeTest, ExpandingNeverMovesAndChangesNothingWhereItCannot) {
  EXPECT_FALSE(heap_try_expand(nullptr, 10));
  for (const std::size_t bytes : sizes) {
    unsigned char* const p = allocate_filled(bytes);
    EXPECT_FALSE(heap_try_expand(p, SIZE_MAX));
    EXPECT_TRUE(heap_try_expand(p, bytes));
    std::size_t reached = bytes;
    while (reached < bytes + 200'000 && heap_try_expand(p, reached + 1000)) reached += 1000;
    expect_filled(p, bytes);
    std::memset(p, 0, reached);
    deallocate(p);
  }
}

TEST_P(ResizeTest, ABlockOfAnotherThreadComesToThisOne) {
  Actor actor;
  for (const std::size_t bytes : sizes) {
    unsigned char* p = nullptr;
    actor.run([&] { p = allocate_filled(bytes); });
    auto* const grown = static_cast<unsigned char*>(reallocate(p, bytes * 3 + 100));
    ASSERT_NE(grown, nullptr);
    expect_filled(grown, bytes);
    deallocate(grown);
  }
  actor.run([] { trim(0); });
  actor.end();
}

// Into a heap by name, wherever the block was.
TEST_P(ResizeTest, IntoAnotherHeap) {
  const tarn_heap target = heap_create(nullptr);
  ASSERT_NE(target.record, nullptr);
  for (const std::size_t bytes : sizes) {
    unsigned char* const p = allocate_filled(bytes);
    auto* const moved =
        static_cast<unsigned char*>(heap_reallocate(target, p, bytes + 5, "test", nullptr));
    ASSERT_NE(moved, nullptr);
    EXPECT_NE(moved, p);
    expect_filled(moved, bytes);
    deallocate(moved);
  }
  EXPECT_TRUE(heap_clear(target, true, "test"));
}

TEST(KeepsPlaceTest, SmallBlocksMoveEarlyAndLargeOnesLate) {
  for (const std::size_t size : {16u, 64u, 1024u, 65'536u}) {
    EXPECT_TRUE(keeps_place(size, size));
    EXPECT_FALSE(keeps_place(size, size + 1));
  }
  EXPECT_TRUE(keeps_place(64, 1));
  EXPECT_TRUE(keeps_place(1024, 512));
  EXPECT_FALSE(keeps_place(1024, 511));
  EXPECT_TRUE(keeps_place(65'536, 16'384));
  EXPECT_FALSE(keeps_place(65'536, 16'383));
}

}  // namespace
}  // namespace tarn
