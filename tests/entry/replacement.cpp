// replacement: a program that replaces only operator new(size_t) and operator delete(void*).
//
// The standard has every other unaligned form call these two. A library form that went straight
// to its own heap would free what the program's own delete must free, with a header before it.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <new>
#include <string>
#include <vector>

// The pair itself lies in replaced_pair.cpp, so that the compiler cannot see through it.
extern long replaced_live;
extern long replaced_taken;

namespace {

template <class Make>
void expect_through_the_replacement(Make make) {
  const long live_before = replaced_live;
  const long taken_before = replaced_taken;
  make();
  EXPECT_GT(replaced_taken, taken_before);
  EXPECT_EQ(replaced_live, live_before);
}

TEST(Replacement, ServesArrays) {
  expect_through_the_replacement([] { ::operator delete[](::operator new[](100)); });
  expect_through_the_replacement([] { ::operator delete[](::operator new[](100), 100); });
}

TEST(Replacement, ServesSizedDelete) {
  expect_through_the_replacement([] { ::operator delete(::operator new(100), 100); });
}

TEST(Replacement, ServesNothrow) {
  expect_through_the_replacement(
      [] { ::operator delete(::operator new(100, std::nothrow), std::nothrow); });
  expect_through_the_replacement(
      [] { ::operator delete[](::operator new[](100, std::nothrow), std::nothrow); });
}

// Code inside libstdc++.so allocates and frees through the program's pair as well.
TEST(Replacement, ServesTheStandardLibrary) {
  expect_through_the_replacement([] {
    std::string text(1000, 'x');
    text += std::string(5000, 'y');
    std::vector<std::string> texts(20, text);
    EXPECT_EQ(texts.back().size(), 6000u);
  });
}

}  // namespace
