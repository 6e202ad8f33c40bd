// Class pools whose source fails, at each call once; options that make no sense; locks.
//
// SPDX-License-Identifier: MIT
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "sources.hpp"
#include "tarn/pool/class_pools.hpp"

namespace pools {
namespace {

using tarn::ClassPools;
using tarn::ClassPoolsOptions;

volatile std::size_t too_much = SIZE_MAX;  // Not known to the compiler, which would warn.

// Returns how many requests had no memory.
std::size_t use(ClassPools& pools) {
  std::size_t refused = 0;
  std::vector<void*> blocks;
  const auto note = [&](void* p) {
    if (p == nullptr) {
      EXPECT_EQ(errno, ENOMEM);
      ++refused;
    } else {
      blocks.push_back(p);
    }
    errno = 0;
  };
  errno = 0;
  for (std::size_t i = 0; i < 300; ++i) {
    note(pools.try_allocate(i * 13 % 3000));
    if (i % 50 == 0) note(pools.try_allocate(100, 256));
    if (i % 5 == 4 && !blocks.empty()) {
      void* const grown = pools.try_reallocate(blocks.back(), 3500);
      if (grown != nullptr) {
        blocks.back() = grown;
      } else {
        EXPECT_EQ(errno, ENOMEM);
        ++refused;
      }
    }
    if (i % 3 == 2 && !blocks.empty()) {
      pools.deallocate(blocks[i % blocks.size()]);
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(i % blocks.size()));
    }
  }
  EXPECT_TRUE(pools.check());
  EXPECT_EQ(pools.stats().failures, refused);
  for (void* const p : blocks) pools.deallocate(p);
  EXPECT_EQ(pools.stats().in_use, 0u);
  EXPECT_TRUE(pools.check());
  return refused;
}

TEST(ClassPoolsFailures, TheSourceRefusesFromEachCallOn) {
  CountingSource counter;
  ClassPoolsOptions options;
  options.chunk_bytes = options.chunk_bytes_max = 4096;
  {
    ClassPools pools(counter, options);
    ASSERT_EQ(use(pools), 0u);
  }
  ASSERT_TRUE(counter.chunks.empty());
  const std::size_t calls = counter.calls;
  ASSERT_GT(calls, 50u);
  for (std::size_t n = 0; n < calls; ++n) {
    CountingSource source;
    source.generous = n % 2 == 0;
    source.allowed = n;
    if (n == 0) {
      EXPECT_THROW(ClassPools pools(source, options), std::bad_alloc);
      continue;
    }
    ClassPools pools(source, options);
    const std::size_t refused = use(pools);
    EXPECT_GT(refused, 0u) << n;
    source.allowed = SIZE_MAX;  // There is memory again.
    void* const p = pools.allocate(2000);
    pools.deallocate(p);
    pools.trim();
    EXPECT_EQ(source.chunks.size(), 1u);
  }
}

TEST(ClassPoolsFailures, SmallerChunksAreAskedFor) {
  CountingSource source;
  source.bytes_max = 10'000;
  ClassPools pools(source);
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(pools.allocate(1000));
  EXPECT_EQ(pools.try_allocate(9000), nullptr);
  EXPECT_TRUE(pools.check());
  for (void* const p : blocks) pools.deallocate(p);
}

// (S4: xmalloc(SIZE_MAX - 3) succeeds; a 16th class aborts.)
TEST(ClassPoolsFailures, AnySizeWorksOrIsRefused) {
  ClassPools pools;
  for (std::size_t power = 1; power != 0; power *= 2) {
    for (const std::size_t bytes : {power - 1, power, power + 1, SIZE_MAX - power}) {
      errno = 0;
      void* const p = pools.try_allocate(bytes);
      if (p == nullptr) {
        EXPECT_EQ(errno, ENOMEM) << bytes;
        EXPECT_GT(bytes, std::size_t{1} << 30) << "there is so much";
      } else {
        EXPECT_GE(pools.usable_bytes(p), bytes);
        pools.deallocate(p);
      }
    }
  }
  EXPECT_THROW(static_cast<void>(pools.allocate(too_much - 3)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(pools.allocate(too_much, 64)), std::bad_alloc);
  EXPECT_TRUE(pools.check());
}

TEST(ClassPoolsFailures, OptionsThatMakeNoSense) {
  tarn_class_pools pools;
  const auto fails = [&](auto change) {
    static const std::size_t sizes[] = {100, 200};
    tarn_class_pools_options options = TARN_CLASS_POOLS_OPTIONS();
    options.class_bytes = sizes;
    options.class_count = 2;
    change(options);
    errno = 0;
    const int result = tarn_class_pools_init(&pools, &options);
    EXPECT_EQ(result == 0 ? 0 : errno, result == 0 ? 0 : EINVAL);
    if (result != 0) {
      EXPECT_EQ(tarn_class_pools_allocate(&pools, 1), nullptr);
      EXPECT_EQ(tarn_class_pools_owns(&pools, &pools), 0);
      EXPECT_EQ(tarn_class_pools_next(&pools, nullptr, nullptr), nullptr);
      EXPECT_EQ(tarn_class_pools_check(&pools), 1);
    }
    tarn_class_pools_destroy(&pools);
    return result != 0;
  };
  using Options = tarn_class_pools_options;
  static const std::size_t descending[] = {200, 100};
  static const std::size_t zero[] = {0, 1};
  static const std::size_t huge[] = {1, SIZE_MAX};
  EXPECT_FALSE(fails([](Options&) {}));
  EXPECT_TRUE(fails([](Options& o) { o.bytes = 1; }));
  EXPECT_TRUE(fails([](Options& o) { o.class_bytes = descending; }));
  EXPECT_TRUE(fails([](Options& o) { o.class_bytes = zero; }));
  EXPECT_TRUE(fails([](Options& o) { o.class_bytes = huge; }));
  EXPECT_TRUE(fails([](Options& o) { o.class_bytes = nullptr; }));
  EXPECT_TRUE(fails([](Options& o) { o.class_count = 1001; }));
  EXPECT_TRUE(fails([](Options& o) { o.flags = 64; }));
  EXPECT_TRUE(fails([](Options& o) { o.chunk_bytes = 2000, o.chunk_bytes_max = 1000; }));
  EXPECT_TRUE(fails([](Options& o) { o.lock.lock = [](void*) {}; }));
  EXPECT_TRUE(fails([](Options& o) { o.class_count = 0, o.block_bytes_max = 8; }));
  EXPECT_TRUE(fails([](Options& o) {
    o.class_count = 0;
    o.flags = TARN_CLASS_POOLS_TUNED_ONLY;
  }));
  EXPECT_EQ(tarn_class_pools_init(&pools, nullptr), -1);
  ClassPoolsOptions wrong;
  static constexpr std::size_t twice[] = {5, 5};
  wrong.classes = twice;
  EXPECT_THROW(ClassPools broken(wrong), tarn::InvalidOptions);
}

// Says whether it is held, and can be told to throw.
struct Watchful {
  void lock() {
    if (throws) throw std::runtime_error("no lock today");
    EXPECT_FALSE(is_held);
    is_held = true;
    ++locks;
  }
  void unlock() { is_held = false; }
  bool is_held = false;
  bool throws = false;
  int locks = 0;
};

// (S4: a throw leaves the lock held.)
TEST(ClassPoolsFailures, NothingLeavesTheLockHeld) {
  CountingSource source;
  tarn::LockedClassPools<Watchful> pools(source);
  void* const p = pools.allocate(100);
  EXPECT_EQ(pools.lock().locks, 1);
  EXPECT_THROW(static_cast<void>(pools.allocate(too_much - 3)), std::bad_alloc);
  EXPECT_FALSE(pools.lock().is_held);
  source.allowed = 0;
  EXPECT_THROW(static_cast<void>(pools.allocate(5000)), std::bad_alloc);
  EXPECT_FALSE(pools.lock().is_held);
  pools.lock().throws = true;
  EXPECT_THROW(static_cast<void>(pools.allocate(100)), std::runtime_error);
  pools.lock().throws = false;
  EXPECT_FALSE(pools.lock().is_held);
  EXPECT_EQ(pools.stats().in_use, 1u);
  EXPECT_THROW(pools.walk([](void*, std::size_t) { throw std::runtime_error("enough"); }),
               std::runtime_error);
  EXPECT_FALSE(pools.lock().is_held);
  pools.deallocate(p);
  EXPECT_TRUE(pools.check());
}

Watchful* watched = nullptr;
std::jmp_buf back;

// Whoever handles the report may go on with the pools: it has come without the lock.
TEST(ClassPoolsFailures, AReportLeavesTheLockFree) {
  tarn::LockedClassPools<Watchful> pools;
  watched = &pools.lock();
  void* const p = pools.allocate(100);
  void* const q = pools.allocate(100);
  pools.deallocate(p);
  const auto jump = [](int) { std::longjmp(back, watched->is_held ? 2 : 1); };
  const auto before = std::signal(SIGABRT, jump);
  testing::internal::CaptureStderr();
  const int came = setjmp(back);
  if (came == 0) pools.deallocate(p);
  EXPECT_EQ(came, 1);
  std::signal(SIGABRT, before);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("tarn: double free"), std::string::npos);
  EXPECT_TRUE(pools.check());
  pools.deallocate(q);
}

// As soon as it is free others come, and take all memory back.
struct Raced {
  void lock() {}
  void unlock() {
    if (pools == nullptr) return;
    tarn_class_pools* const own = pools;
    pools = nullptr;
    tarn_class_pools_deallocate(own, block);
    tarn_class_pools_trim(own);
  }
  tarn_class_pools* pools = nullptr;
  void* block = nullptr;
};

TEST(ClassPoolsFailures, AReportNeedsNoChunk) {
  CountingSource source;
  tarn::LockedClassPools<Raced> pools(source);
  void* const p = pools.allocate(100);
  pools.lock().block = p;
  pools.lock().pools = pools.get();
  const auto before = std::signal(SIGABRT, [](int) { std::longjmp(back, 1); });
  testing::internal::CaptureStderr();
  if (setjmp(back) == 0) pools.deallocate(static_cast<char*>(p) + 8);
  std::signal(SIGABRT, before);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("tarn: invalid free"), std::string::npos) << text;
  EXPECT_NE(text.find("8 bytes"), std::string::npos) << text;
  EXPECT_TRUE(source.chunks.size() == 1) << "its classes";
}

}  // namespace
}  // namespace pools
