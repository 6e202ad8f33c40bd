// tables: what every tarn_malloc_table must do, whatever is behind it.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <random>

#include "../support/threads.hpp"
#include "subjects.hpp"
#include "tarn/heap/malloc_table.hpp"

namespace {

using tables::Kind;
using tables::Subject;

// A table as an allocator with a value.
struct Calls {
  explicit Calls(const tarn_malloc_table& t) : t(t) {}
  unsigned char* allocate(std::size_t bytes) const {
    return static_cast<unsigned char*>(t.allocate(t.context, bytes));
  }
  unsigned char* zeroed(std::size_t count, std::size_t bytes) const {
    return static_cast<unsigned char*>(t.allocate_zeroed(t.context, count, bytes));
  }
  unsigned char* aligned(std::size_t alignment, std::size_t bytes) const {
    return static_cast<unsigned char*>(t.allocate_aligned(t.context, alignment, bytes));
  }
  unsigned char* reallocate(void* p, std::size_t bytes) const {
    return static_cast<unsigned char*>(t.reallocate(t.context, p, bytes));
  }
  void deallocate(void* p) const { t.deallocate(t.context, p); }
  std::size_t usable(const void* p) const { return t.usable_size(t.context, p); }
  const tarn_malloc_table& t;
};

bool is_aligned(const void* p, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(p) % alignment == 0;
}

void fill(unsigned char* p, std::size_t bytes, unsigned seed) {
  for (std::size_t i = 0; i < bytes; ++i) p[i] = static_cast<unsigned char>(seed + i * 7);
}
bool is_filled(const unsigned char* p, std::size_t bytes, unsigned seed) {
  for (std::size_t i = 0; i < bytes; ++i) {
    if (p[i] != static_cast<unsigned char>(seed + i * 7)) return false;
  }
  return true;
}

class Tables : public testing::TestWithParam<Kind> {
 protected:
  std::unique_ptr<Subject> subject = GetParam().make();
  Calls calls{subject->table};
};

TEST_P(Tables, HaveAllFunctions) {
  const tarn_malloc_table& t = subject->table;
  EXPECT_EQ(t.bytes, sizeof t);
  EXPECT_TRUE(t.allocate != nullptr && t.allocate_zeroed != nullptr);
  EXPECT_TRUE(t.allocate_aligned != nullptr && t.reallocate != nullptr);
  EXPECT_TRUE(t.deallocate != nullptr && t.usable_size != nullptr);
}

TEST_P(Tables, AlignToSixteen) {
  for (std::size_t bytes = 0; bytes <= subject->bytes_max; bytes += bytes / 2 + 1) {
    auto* const p = calls.allocate(bytes);
    ASSERT_NE(p, nullptr) << bytes;
    EXPECT_TRUE(is_aligned(p, 16)) << bytes;
    EXPECT_GE(calls.usable(p), bytes);
    if (bytes != 0) std::memset(p, 0xa5, bytes);
    calls.deallocate(p);
  }
}

TEST_P(Tables, AlignAsAskedFor) {
  for (std::size_t alignment = 1; alignment <= subject->alignment_max; alignment *= 2) {
    auto* const p = calls.aligned(alignment, 24);
    ASSERT_NE(p, nullptr) << alignment;
    EXPECT_TRUE(is_aligned(p, alignment)) << alignment;
    EXPECT_GE(calls.usable(p), 24u);
    fill(p, 24, 3);
    auto* const q = calls.reallocate(p, 40);
    ASSERT_NE(q, nullptr);
    EXPECT_TRUE(is_aligned(q, 16));
    EXPECT_TRUE(is_filled(q, 24, 3));
    calls.deallocate(q);
  }
  for (const std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{24}, SIZE_MAX}) {
    errno = 0;
    EXPECT_EQ(calls.aligned(alignment, 8), nullptr) << alignment;
    EXPECT_EQ(errno, EINVAL) << alignment;
  }
}

TEST_P(Tables, Zero) {
  auto* const rubbish = calls.allocate(48);
  ASSERT_NE(rubbish, nullptr);
  std::memset(rubbish, 0xff, 48);
  calls.deallocate(rubbish);
  auto* const p = calls.zeroed(3, 16);
  ASSERT_NE(p, nullptr);
  for (int i = 0; i < 48; ++i) ASSERT_EQ(p[i], 0) << i;
  calls.deallocate(p);
  auto* const none = calls.zeroed(0, SIZE_MAX);
  EXPECT_NE(none, nullptr);
  calls.deallocate(none);
  auto* const nothing = calls.zeroed(SIZE_MAX, 0);
  EXPECT_NE(nothing, nullptr);
  calls.deallocate(nothing);
}

TEST_P(Tables, OfBlocksOfOneSizeRefuseWhatIsLarger) {
  auto* const p = calls.allocate(1);
  ASSERT_NE(p, nullptr);
  const std::size_t block_bytes = calls.usable(p);
  if (block_bytes != subject->bytes_max) return calls.deallocate(p);  // Of many sizes.
  errno = 0;
  EXPECT_EQ(calls.allocate(block_bytes + 1), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  errno = 0;
  EXPECT_EQ(calls.aligned(subject->alignment_max * 2, 8), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  errno = 0;
  fill(p, block_bytes, 5);
  EXPECT_EQ(calls.reallocate(p, block_bytes + 1), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_TRUE(is_filled(p, block_bytes, 5));
  calls.deallocate(p);
  EXPECT_TRUE(subject->is_sound());
}

TEST_P(Tables, RefuseWhatCannotBe) {
  auto* const p = calls.allocate(48);
  ASSERT_NE(p, nullptr);
  fill(p, 48, 9);
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 15, SIZE_MAX - 4096, SIZE_MAX / 2 + 1}) {
    errno = 0;
    EXPECT_EQ(calls.allocate(bytes), nullptr) << bytes;
    EXPECT_EQ(errno, ENOMEM) << bytes;
    errno = 0;
    EXPECT_EQ(calls.aligned(64, bytes), nullptr) << bytes;
    EXPECT_EQ(errno, ENOMEM) << bytes;
    errno = 0;
    EXPECT_EQ(calls.reallocate(p, bytes), nullptr) << bytes;
    EXPECT_EQ(errno, ENOMEM) << bytes;
  }
  errno = 0;
  EXPECT_EQ(calls.zeroed(SIZE_MAX / 4, 8), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_TRUE(is_filled(p, 48, 9)) << "a refusal changes nothing";
  calls.deallocate(p);
}

TEST_P(Tables, ReallocateAsReallocDoes) {
  auto* p = calls.reallocate(nullptr, 10);
  ASSERT_NE(p, nullptr);
  fill(p, 10, 1);
  std::size_t had = 10;
  for (std::size_t bytes = 11; bytes <= subject->bytes_max; bytes += bytes / 3 + 1) {
    p = calls.reallocate(p, bytes);
    ASSERT_NE(p, nullptr) << bytes;
    ASSERT_TRUE(is_aligned(p, 16));
    ASSERT_TRUE(is_filled(p, had, 1)) << bytes;
    ASSERT_GE(calls.usable(p), bytes);
    fill(p, bytes, 1);
    had = bytes;
  }
  p = calls.reallocate(p, 5);
  ASSERT_NE(p, nullptr);
  EXPECT_TRUE(is_filled(p, 5, 1));
  EXPECT_EQ(calls.reallocate(p, 0), nullptr);  // It is free: sanitizers see the leak otherwise.
}

TEST_P(Tables, TakeNullAndKeepErrno) {
  errno = 77;
  calls.deallocate(nullptr);
  EXPECT_EQ(calls.usable(nullptr), 0u);
  auto* const p = calls.allocate(8);
  ASSERT_NE(p, nullptr);
  errno = 77;
  calls.deallocate(p);
  EXPECT_EQ(errno, 77);
}

TEST_P(Tables, KeepBlocksApart) {
  struct Block {
    unsigned char* p;
    std::size_t bytes;
    unsigned seed;
  };
  std::mt19937 random(7);
  std::vector<Block> live;
  const std::size_t most = subject->bytes_max < 2000 ? subject->bytes_max : 2000;
  for (unsigned step = 0; step < 5000; ++step) {
    if (live.size() < subject->blocks && random() % 3 != 0) {
      Block block{nullptr, random() % (most + 1), step};
      block.p = calls.allocate(block.bytes);
      ASSERT_NE(block.p, nullptr) << step;
      fill(block.p, block.bytes, block.seed);
      live.push_back(block);
    } else if (!live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      Block& last = live.back();
      ASSERT_TRUE(is_filled(last.p, last.bytes, last.seed)) << step;
      if (random() % 2 == 0) {
        const std::size_t bytes = 1 + random() % most;
        last.p = calls.reallocate(last.p, bytes);
        ASSERT_NE(last.p, nullptr);
        ASSERT_TRUE(is_filled(last.p, std::min(bytes, last.bytes), last.seed));
        last.bytes = bytes;
        fill(last.p, bytes, last.seed);
      } else {
        calls.deallocate(last.p);
        live.pop_back();
      }
    }
  }
  for (const Block& block : live) {
    ASSERT_TRUE(is_filled(block.p, block.bytes, block.seed));
    calls.deallocate(block.p);
  }
}

TEST_P(Tables, UseMemoryAgain) {
  if (!subject->frees) return;  // Memory goes with the allocator.
  for (int i = 0; i < 2000; ++i) {
    auto* const p = calls.allocate(subject->bytes_max);
    ASSERT_NE(p, nullptr) << i;
    p[0] = p[subject->bytes_max - 1] = 1;
    calls.deallocate(p);
  }
}

TEST_P(Tables, ServeThreads) {
  if (!GetParam().is_for_threads) return;
  std::vector<int> failures(3);
  support::in_threads(3u, [&](unsigned t) {
    std::mt19937 random(t);
    const std::size_t most = subject->bytes_max < 500 ? subject->bytes_max : 500;
    for (int i = 0; i < 3000; ++i) {
      const std::size_t bytes = random() % (most + 1);
      auto* const p = calls.allocate(bytes);
      if (p == nullptr) {
        ++failures[t];
        continue;
      }
      fill(p, bytes, t);
      auto* const q = calls.reallocate(p, most);
      if (q == nullptr || !is_filled(q, bytes, t)) ++failures[t];
      calls.deallocate(q == nullptr ? p : q);
    }
  });
  for (const int failed : failures) EXPECT_EQ(failed, 0);
}

// For every n: from the n-th request for memory on all fail. Null comes with ENOMEM then, live
// blocks stay what they are, and can be given back.
TEST_P(Tables, SurviveTheRefusalOfMemory) {
  if (GetParam().make_failing == nullptr) return;
  int refused = 0;
  for (std::size_t n = 1; n <= 12; ++n) {
    const auto failing = GetParam().make_failing(n);
    if (failing->table.allocate == nullptr) continue;
    const Calls use{failing->table};
    std::vector<unsigned char*> live;
    const std::size_t bytes = failing->bytes_max < 40'000 ? failing->bytes_max : 40'000;
    for (unsigned i = 0; i < 40; ++i) {
      errno = 0;
      auto* p = i % 3 == 0 ? use.zeroed(1, bytes) : use.allocate(bytes / 2);
      if (p != nullptr && i % 3 == 1) {
        fill(p, bytes / 2, i);
        auto* const q = use.reallocate(p, bytes);
        if (q == nullptr) ++refused;
        ASSERT_TRUE(is_filled(q == nullptr ? p : q, bytes / 2, i));
        if (q != nullptr) p = q;
      } else if (p == nullptr) {
        EXPECT_EQ(errno, ENOMEM);
        ++refused;
        continue;
      }
      live.push_back(p);
    }
    for (auto* const p : live) use.deallocate(p);
  }
  EXPECT_GT(refused, 0) << "nothing was refused: the test is void";
}

INSTANTIATE_TEST_SUITE_P(All, Tables, testing::ValuesIn(tables::all_kinds()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
