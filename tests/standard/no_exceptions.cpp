// no_exceptions: class-level new where there are none gives null, and makes nothing there.
//
// SPDX-License-Identifier: MIT
#include "check.h"
#include "tarn/class_new.hpp"

namespace {

struct Large {
  TARN_CLASS_NEW(tarn::ClassHeap<Large>)
  Large() { bytes[0] = 1; }
  ~Large() { bytes[0] = 0; }
  char bytes[100000];
};
struct alignas(64) Wide : tarn::ClassNew<Wide> {
  Wide() { bytes[0] = 1; }
  char bytes[1 << 17];
};

}  // namespace

int main() {
  tarn::HeapOptions options;
  options.ceiling_bytes = 65536;
  tarn::Heap heap(options);
  tarn::ClassHeap<Large>::use(heap);
  tarn::ClassHeap<Wide>::use(heap);
  CHECK(new Large == nullptr);
  CHECK(new Large[2] == nullptr);
  CHECK(new (heap) Large == nullptr);
  CHECK(new (heap) Wide == nullptr);
  CHECK(new Wide == nullptr);
  CHECK(new Wide[2] == nullptr);
  CHECK(heap.set_ceiling(0));
  const Large* const large = new Large;
  CHECK(large != nullptr && large->bytes[0] == 1);
  delete large;
  return 0;
}
