// The line that is built without allocating.
//
// SPDX-License-Identifier: MIT
#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "platform/report/report.hpp"

namespace tarn {
namespace {

template <class Build>
std::string printed(Build build) {
  testing::internal::CaptureStderr();
  Line line;
  build(line);
  line.print();
  return testing::internal::GetCapturedStderr();
}

TEST(Line, Text) {
  EXPECT_EQ(printed([](Line&) {}), "\n");
  EXPECT_EQ(printed([](Line& l) { l.text("a").text("").text("bcd", 2); }), "abc\n");
}

TEST(Line, Decimal) {
  EXPECT_EQ(printed([](Line& l) { l.decimal(0).text(" ").decimal(1230); }), "0 1230\n");
  EXPECT_EQ(printed([](Line& l) { l.decimal(UINT64_MAX); }), "18446744073709551615\n");
}

TEST(Line, Address) {
  EXPECT_EQ(printed([](Line& l) { l.address(nullptr); }), "0x0\n");
  EXPECT_EQ(printed([](Line& l) { l.address(reinterpret_cast<void*>(0x7f00aB1c0)); }),
            "0x7f00ab1c0\n");
  EXPECT_EQ(printed([](Line& l) { l.address(reinterpret_cast<void*>(UINTPTR_MAX)); }),
            "0xffffffffffffffff\n");
}

TEST(Line, WhatDoesNotFitIsCut) {
  for (std::size_t length = 505; length < 520; ++length) {
    const std::string text(length, 'x');
    const std::string line = printed([&](Line& l) { l.text(text.c_str()).decimal(77); });
    EXPECT_LE(line.size(), 512u);
    EXPECT_EQ(line.back(), '\n');
    EXPECT_EQ(line.substr(0, std::min<std::size_t>(length, 511)), text.substr(0, 511));
  }
  std::string cut(511, 'y');
  cut += '\n';
  EXPECT_EQ(printed([](Line& l) { l.text(std::string(5000, 'y').c_str()); }), cut);
}

TEST(Line, CanBeUsedAgainAndKeepsErrno) {
  testing::internal::CaptureStderr();
  errno = 99;
  Line line;
  line.text("one").print();
  line.text("two").print();
  EXPECT_EQ(errno, 99);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "one\ntwo\n");
}

}  // namespace
}  // namespace tarn
