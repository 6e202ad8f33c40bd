// Being told that memory is short. Real pressure is not made here; tests/life would need a cgroup.
//
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <unistd.h>

#include "heap.hpp"

namespace heaps {
namespace {

TEST(Pressure, RefusesNumbersThatMakeNoSense) {
  for (const auto& [stall, window] : {std::pair{0u, 2'000u},
                                      {2'001u, 2'000u},
                                      {100u, 10'001u},
                                      {4'000'000'000u, 4'100'000'000u}}) {
    errno = 0;
    EXPECT_EQ(tarn_pressure_open(stall, window), -1);
    EXPECT_EQ(errno, EINVAL) << stall << " " << window;
  }
}

TEST(Pressure, ADescriptorCanBeWaitedForWhereTheSystemOffersIt) {
  errno = 0;
  const int descriptor = tarn_pressure_open(1'900, 2'000);
  if (descriptor < 0) {
    EXPECT_NE(errno, 0);
    GTEST_SKIP() << std::strerror(errno);
  }
  EXPECT_NE(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0);
  const int ready = tarn_pressure_serve(descriptor, 0);
  EXPECT_TRUE(ready == 0 || ready == 1) << ready << " " << errno;
  EXPECT_EQ(close(descriptor), 0);
}

TEST(Pressure, SaysWhatCannotBeWaitedFor) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  errno = 0;
  EXPECT_EQ(tarn_pressure_serve(ends[0], 0), -1);  // Closed.
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(tarn_pressure_serve(ends[1], 0), -1);  // A pipe without a reader.
  close(ends[1]);
}

}  // namespace
}  // namespace heaps
