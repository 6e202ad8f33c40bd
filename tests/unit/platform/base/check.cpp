// Assertions: which are made in which build, and how often.
//
// SPDX-License-Identifier: MIT
#include "platform/base/check.hpp"

#include <gtest/gtest.h>

namespace tarn {
namespace {

TEST(CheckDeathTest, AFailedCheckSaysWhatDidNotHold) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const int one = 1;
  TARN_CHECK(one == 1);
  EXPECT_DEATH(TARN_CHECK(one == 2), "tarn: internal error: .*check.cpp:[0-9]+: one == 2 does not");
}

#ifdef TARN_DEBUG

TEST(CheckDeathTest, AnAssertionIsACheck) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const int one = 1;
  TARN_ASSERT(one == 1);
  EXPECT_DEATH(TARN_ASSERT(one == 2), "one == 2 does not hold");
}

TEST(CheckTest, AnAssertionOfEveryNthTimeIsMadeAtTheFirstAndThenEachNth) {
  int asked = 0;
  for (int i = 0; i < 9; ++i) {
    TARN_ASSERT_EVERY(4, (++asked, true));
    EXPECT_EQ(asked, i / 4 + 1);
  }
}

TEST(CheckDeathTest, AnAssertionOfEveryNthTimeFailsWhenItIsMade) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto fail_from = [](int first) {
    for (int i = 0; i < 5; ++i) TARN_ASSERT_EVERY(4, i < first);
  };
  EXPECT_DEATH(fail_from(4), "i < first does not hold");
  EXPECT_DEATH(fail_from(0), "i < first does not hold");
}

#else

TEST(CheckTest, AssertionsAreNotEvenAskedInOtherBuilds) {
  int asked = 0;
  TARN_ASSERT(++asked == 0);
  TARN_ASSERT_EVERY(1, ++asked == 0);
  EXPECT_EQ(asked, 0);
}

#endif

}  // namespace
}  // namespace tarn
