// alarm: from the moment in which it is the default resource an alarm serves other threads. The
// default is kept here, in place of the standard library's, so that one allocates in just that
// moment.
//
// SPDX-License-Identifier: MIT
#include <cstring>
#include <memory_resource>
#include <new>

#include "check.h"
#include "tarn/standard/pmr.hpp"

namespace {

std::pmr::memory_resource* now = nullptr;
int allocations = 0;

}  // namespace

namespace std::pmr {

memory_resource* get_default_resource() noexcept {
  return now != nullptr ? now : new_delete_resource();
}

memory_resource* set_default_resource(memory_resource* resource) noexcept {
  memory_resource* const before = get_default_resource();
  now = resource;
  if (now != nullptr) {
    now->deallocate(now->allocate(8), 8);
    ++allocations;
  }
  return before;
}

}  // namespace std::pmr

int main() {
  using Alarm = tarn::DefaultResourceAlarm;
  alignas(Alarm) static unsigned char room[sizeof(Alarm)];
  std::memset(room, 0x55, sizeof room);  // What is used before it is made shows.
  auto* const alarm = new (room) Alarm([](const tarn::DefaultUse& use) { CHECK(use.number == 1); });
  CHECK(allocations == 1 && alarm->uses() == 1);
  CHECK(std::pmr::get_default_resource() == alarm);
  alarm->~Alarm();
  CHECK(std::pmr::get_default_resource() == std::pmr::new_delete_resource());
  return 0;
}
