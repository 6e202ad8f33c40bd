// no_exceptions: `new (pool)` where there are none gives null, and makes nothing there.
//
// SPDX-License-Identifier: MIT
#include "names.h"
#include "smrtheap.hpp"

namespace {

struct Large {
  Large() { bytes[0] = 1; }
  ~Large() { bytes[0] = 0; }
  char bytes[100000];
};

}  // namespace

int main() {
  const MEM_POOL pool = MemPoolInit(0);
  CHECK(MemPoolSetCeiling(pool, 65536));
  CHECK(new (pool) Large == nullptr);
  CHECK(new (pool) Large[2] == nullptr);
  CHECK(MemNew<Large>(pool) == nullptr);
  CHECK(MemPoolSetCeiling(pool, 0));
  const Large* const large = new (pool) Large;
  CHECK(large != nullptr && large->bytes[0] == 1);
  CHECK(MemPoolFree(pool));
  return 0;
}
