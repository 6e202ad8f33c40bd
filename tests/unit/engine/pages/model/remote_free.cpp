// The remote-free protocol, and how pages and the records of threads are passed on
// (docs/design/pages.md): the library itself, in every order of its steps.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "support/explorer/expect.hpp"
#include "world.hpp"

namespace tarn {
namespace {

World one_wakes(8 * 1024);
World two_wake(512);

class RemoteFreeTest : public testing::TestWithParam<explorer::Scenario> {};

TEST_P(RemoteFreeTest, EveryOrderKeepsThePromises) { explorer::expect_kept(GetParam()); }

std::string name_of(const testing::TestParamInfo<explorer::Scenario>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(OneWakes, RemoteFreeTest, testing::ValuesIn(scenarios(one_wakes)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(TwoWake, RemoteFreeTest, testing::ValuesIn(scenarios(two_wake)), name_of);

}  // namespace
}  // namespace tarn
