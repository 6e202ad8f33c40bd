// A tree that finds no memory for what a node has besides: amid its change no owner is asked, whose
// callback may dispose of the node's neighbours.
//
// SPDX-License-Identifier: MIT
#include <cerrno>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "platform/os/fake/fake.hpp"
#include "tarn/heap/recover.hpp"
#include "tarn/tarn.h"
#include "tarn/tree/tree.h"

namespace tarn {
namespace {

TEST(TreeNeighbours, AreNotDisposedOfByOwnersThatAreAsked) {
  void* const parent = tarn_tree_allocate(nullptr, 100);
  void* newest = tarn_tree_allocate(parent, 100);
  int calls = 0;
  const Reclaimer owner([&](std::size_t) -> std::size_t {
    ++calls;
    if (newest != nullptr) tarn_tree_dispose(std::exchange(newest, nullptr));
    return 0;
  });
  const std::string name(std::size_t{64} << 20, 'n');  // No memory at hand will do.
  os::fake::fail_at(1, true);
  errno = 0;
  EXPECT_EQ(tarn_tree_set_name(newest, name.c_str()), -1);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(tarn_malloc(name.size()), nullptr);
  EXPECT_EQ(calls, 1) << "as for any other request";
  os::fake::fail_at(0, false);
  EXPECT_EQ(tarn_tree_check(parent), 1);
  EXPECT_EQ(tarn_tree_dispose(parent), 0);
}

}  // namespace
}  // namespace tarn
