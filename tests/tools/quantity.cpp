// quantity: the spelling of numbers, at the places where units change.
// SPDX-License-Identifier: MIT
#include "quantity.hpp"

#include <gtest/gtest.h>

namespace tarn::test {

namespace {

TEST(Quantity, Bytes) {
  EXPECT_EQ(text_of_bytes(0), "0 B");
  EXPECT_EQ(text_of_bytes(999), "999 B");
  EXPECT_EQ(text_of_bytes(1024), "1.00 KiB");
  EXPECT_EQ(text_of_bytes(1536.0 * 1024), "1.50 MiB");
  EXPECT_EQ(text_of_bytes(1023.0 * 1024), "1.00 MiB");
  EXPECT_EQ(text_of_bytes(3.0 * 1024 * 1024 * 1024 * 1024 * 1024), "3072 TiB");
}

TEST(Quantity, Seconds) {
  EXPECT_EQ(text_of_seconds(0), "0 us");
  EXPECT_EQ(text_of_seconds(0.000999), "999 us");
  EXPECT_EQ(text_of_seconds(0.001), "1.00 ms");
  EXPECT_EQ(text_of_seconds(0.9999), "1.00 s");
  EXPECT_EQ(text_of_seconds(99.96), "100 s");
  EXPECT_EQ(text_of_seconds(125), "2 min 5 s");
}

TEST(Quantity, CountsAndParts) {
  EXPECT_EQ(text_of_count(0), "0");
  EXPECT_EQ(text_of_count(999), "999");
  EXPECT_EQ(text_of_count(1000), "1,000");
  EXPECT_EQ(text_of_count(UINT64_MAX), "18,446,744,073,709,551,615");
  EXPECT_EQ(text_of_percent(0.0312), "3.1 %");
  EXPECT_EQ(text_of_percent(0.12), "12 %");
  EXPECT_EQ(text_of_many(1, "thread"), "1 thread");
  EXPECT_EQ(text_of_many(0, "thread"), "0 threads");
}

TEST(Quantity, NamesCannotCommandTheTerminal) {
  EXPECT_EQ(text_of_name("a\x1b[31mb\n"), "a?[31mb?");
  EXPECT_EQ(text_of_name("größe"), "größe");
}

}  // namespace

}  // namespace tarn::test
