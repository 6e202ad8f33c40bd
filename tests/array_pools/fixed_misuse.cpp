// Frees of what is no live block of an ArrayPool: what the report says.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <signal.h>

#include "tarn/pool/array_pool.hpp"

namespace array_pools {
namespace {

using Cheap = tarn::ArrayPool<4, 24>;
using Exact = tarn::ArrayPool<4, 24, 8, tarn::OverflowThrow, tarn::ArrayChecks::exact>;
const testing::KilledBySignal aborted(SIGABRT);

TEST(ArrayPoolMisuseDeathTest, AnInteriorPointerIsAnInvalidFree) {
  static Cheap pool;
  auto* const p = static_cast<char*>(pool.allocate());
  EXPECT_EXIT(pool.deallocate(p + 8), aborted,
              "^tarn: invalid free: tarn::ArrayPool::deallocate\\(0x[0-9a-f]+\\): not the start");
}

TEST(ArrayPoolMisuseDeathTest, AForeignPointerIsAnInvalidFree) {
  static Cheap pool;
  static char elsewhere[64];
  EXPECT_EXIT(pool.deallocate(elsewhere), aborted, "tarn: invalid free: .*no block of this pool");
  auto* const p = static_cast<char*>(pool.allocate());
  EXPECT_EXIT(pool.deallocate(p + 4 * 24), aborted, "tarn: invalid free: .*no block of this pool");
  EXPECT_EXIT(pool.deallocate(p - 24), aborted, "tarn: invalid free: .*no block of this pool");
}

TEST(ArrayPoolMisuseDeathTest, ABlockThatWasNeverHandedOutIsFree) {
  static Cheap pool;
  auto* const p = static_cast<char*>(pool.allocate());
  EXPECT_EXIT(pool.deallocate(p + 24), aborted, "tarn: double free: .*the block is free");
  pool.deallocate(p);
  EXPECT_EXIT(pool.deallocate(p), aborted, "tarn: double free: .*the block is free");
}

TEST(ArrayPoolMisuseDeathTest, ExactPoolsSeeEveryDoubleFree) {
  static Exact pool;
  void* const p = pool.allocate();
  void* const q = pool.allocate();
  pool.deallocate(p);
  EXPECT_EXIT(pool.deallocate(p), aborted, "tarn: double free: .*was freed before");
  EXPECT_TRUE(pool.check());
  pool.deallocate(q);
  EXPECT_EXIT(pool.deallocate(q), aborted, "tarn: double free: ");
}

}  // namespace
}  // namespace array_pools
