// What tarn_pressure_serve does when memory is short. The descriptor is a socket with urgent data:
// to poll() it is as ready as one of the kernel's that reports pressure.
//
// SPDX-License-Identifier: MIT
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "recover.hpp"

namespace recovering {
namespace {

// Ready for POLLPRI; -1 where there is no loopback.
class Urgent {
 public:
  Urgent() {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    sender_ = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, any, length) == 0 && listen(listener, 1) == 0 &&
        getsockname(listener, any, &length) == 0 && connect(sender_, any, length) == 0) {
      descriptor_ = accept(listener, nullptr, nullptr);
      if (send(sender_, "!", 1, MSG_OOB) != 1) descriptor_ = -1;
    }
    close(listener);
  }
  ~Urgent() {
    close(sender_);
    close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int sender_ = -1;
  int descriptor_ = -1;
};

TEST(PressureServed, AsksOwnersForAPartOfWhatIsCommitted) {
  const Urgent urgent;
  if (urgent.get() < 0) GTEST_SKIP() << std::strerror(errno);
  tarn_recover(SIZE_MAX, 0);
  Cache cache;
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(cache.add(mib));
  Marked used(tarn_heap{}, mib, 1);
  ASSERT_TRUE(used.fill());
  tarn::Reclaimer gives([&](std::size_t wanted) { return cache.give(wanted); });
  // Once for what was spare, perhaps; then owners give an eighth each time.
  ASSERT_EQ(tarn_pressure_serve(urgent.get(), 10'000), 1);
  const std::size_t first = cache.count();
  EXPECT_LT(first, 64u);
  EXPECT_GE(first, 48u);
  ASSERT_EQ(tarn_pressure_serve(urgent.get(), 10'000), 1);
  EXPECT_LT(cache.count(), first);
  EXPECT_GE(cache.count(), 32u);
  for (int i = 0; i < 60; ++i) ASSERT_EQ(tarn_pressure_serve(urgent.get(), 10'000), 1);
  EXPECT_LT(cache.count(), 10u) << "as long as it lasts";
}

TEST(PressureServed, SpareMemoryThatIsEnoughLeavesOwnersAlone) {
  const Urgent urgent;
  if (urgent.get() < 0) GTEST_SKIP() << std::strerror(errno);
  Cache cache;
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(cache.add(mib));
  tarn::Reclaimer gives([&](std::size_t wanted) { return cache.give(wanted); });
  tarn_free(std::memset(tarn_malloc(32 * mib), 1, 32 * mib));
  ASSERT_EQ(tarn_pressure_serve(urgent.get(), 10'000), 1);
  EXPECT_EQ(cache.count(), 8u);
}

}  // namespace
}  // namespace recovering
