// What a program is told before it ends.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "platform/base/check.hpp"
#include "platform/report/report.hpp"
#include "tarn/tarn.h"

namespace tarn {
namespace {

// Volatile, so that no compiler warns of what is done on purpose.
volatile std::uintptr_t moved_by = 0;

void* moved(void* p, std::uintptr_t by) {
  moved_by = by;
  return static_cast<std::byte*>(p) + moved_by;
}

TEST(MisuseDeathTest, EachKindHasItsWords) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  void* const p = reinterpret_cast<void*>(0x1230);
  EXPECT_EXIT(report_misuse(Misuse::invalid_free, "free", p), testing::KilledBySignal(SIGABRT),
              "^tarn: invalid free: free\\(0x1230\\): ");
  EXPECT_EXIT(report_misuse(Misuse::double_free, "free", p), testing::KilledBySignal(SIGABRT),
              "^tarn: double free: free\\(0x1230\\): ");
  EXPECT_EXIT(report_misuse(Misuse::invalid_pointer, "realloc", p),
              testing::KilledBySignal(SIGABRT), "^tarn: invalid pointer: realloc\\(0x1230\\): ");
}

TEST(MisuseDeathTest, AFailedCheckNamesTheCondition) {
  EXPECT_EXIT(TARN_CHECK(1 + 1 == 3), testing::KilledBySignal(SIGABRT),
              "^tarn: internal error: .*misuse.cpp:[0-9]+: 1 \\+ 1 == 3 does not hold");
}

TEST(MisuseDeathTest, FreeOfWhatIsNoBlock) {
  static int object = 0;
  EXPECT_EXIT(tarn_free(moved(&object, 0)), testing::KilledBySignal(SIGABRT),
              "^tarn: invalid free: free");
  void* const large = tarn_malloc(1 << 20);
  EXPECT_EXIT(tarn_free(moved(large, 4096)), testing::KilledBySignal(SIGABRT),
              "^tarn: invalid free: free");
  EXPECT_EXIT(tarn_free(moved(large, 16)), testing::KilledBySignal(SIGABRT),
              "^tarn: invalid free: free");
  EXPECT_EXIT(tarn_realloc(moved(&object, 0), 10), testing::KilledBySignal(SIGABRT),
              "^tarn: invalid .*: realloc");
  EXPECT_EXIT(static_cast<void>(tarn_malloc_usable_size(moved(large, 64))),
              testing::KilledBySignal(SIGABRT), "^tarn: invalid .*: malloc_usable_size");
  tarn_free(large);
}

}  // namespace
}  // namespace tarn
