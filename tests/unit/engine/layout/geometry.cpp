// The address space as the library divides it.
//
// SPDX-License-Identifier: MIT
#include "engine/layout/geometry.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace tarn {
namespace {

TEST(Geometry, SlicesForEveryEdge) {
  EXPECT_EQ(slices_for(0), 0u);
  for (std::size_t slices = 1; slices < 3000; ++slices) {
    EXPECT_EQ(slices_for(slices * slice_bytes), slices);
    EXPECT_EQ(slices_for(slices * slice_bytes - 1), slices);
    EXPECT_EQ(slices_for((slices - 1) * slice_bytes + 1), slices);
  }
  EXPECT_EQ(slices_for(SIZE_MAX), SIZE_MAX / slice_bytes + 1);
}

TEST(Geometry, LevelsOfTheMapCoverTheAddresses) {
  EXPECT_EQ(root_entries * leaf_entries * slice_bytes, std::size_t{1} << address_bits);
  const int local = 0;
  EXPECT_LT(reinterpret_cast<std::uintptr_t>(&local) >> leaf_shift, root_entries);
}

TEST(Geometry, ASliceHoldsWholeOsPages) {
  EXPECT_EQ(slice_bytes % static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), 0u);
}

}  // namespace
}  // namespace tarn
