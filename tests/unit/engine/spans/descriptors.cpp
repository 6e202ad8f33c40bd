// Descriptors: they are taken and given back, and check() finds spare ones that are not.
//
// SPDX-License-Identifier: MIT
#include "engine/spans/descriptors.hpp"

#include <gtest/gtest.h>

namespace tarn {
namespace {

class DescriptorsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(descriptors_.provide(3));
    for (Span*& span : spans_) span = descriptors_.take();
    for (Span* const span : spans_) descriptors_.give(span);
    ASSERT_TRUE(descriptors_.check());
  }

  Descriptors descriptors_;
  Span* spans_[3];
};

TEST_F(DescriptorsTest, TheLastThatWasGivenIsTakenFirst) {
  EXPECT_EQ(descriptors_.take(), spans_[2]);
  EXPECT_EQ(descriptors_.take(), spans_[1]);
  EXPECT_TRUE(descriptors_.check());
}

TEST_F(DescriptorsTest, CheckFindsASpareOneThatIsInUse) {
  for (Span* const span : spans_) {
    span->set_kind(SpanKind::large);
    EXPECT_FALSE(descriptors_.check());
    span->set_kind(SpanKind::idle);
    EXPECT_TRUE(descriptors_.check());
  }
}

TEST_F(DescriptorsTest, CheckFindsAListThatIsTooShortAndOneThatIsACircle) {
  Span* const after = spans_[1]->next;
  spans_[1]->next = nullptr;
  EXPECT_FALSE(descriptors_.check());
  spans_[1]->next = spans_[2];
  EXPECT_FALSE(descriptors_.check());
  spans_[1]->next = after;
  EXPECT_TRUE(descriptors_.check());
}

}  // namespace
}  // namespace tarn
