// notes: a checking resource that finds no memory for its note of a block gives the block back. The
// program's operator new fails when it is told to.
//
// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdlib>
#include <memory_resource>
#include <new>

#include "check.h"
#include "tarn/heap/heap.hpp"
#include "tarn/standard/checking_resource.hpp"
#include "tarn/standard/pmr.hpp"

namespace {

long left = -1;  // Allocations until one fails; negative: none does.

}  // namespace

void* operator new(std::size_t bytes) {
  if (left >= 0 && left-- == 0) throw std::bad_alloc();
  void* const p = std::malloc(bytes);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

int main() {
  tarn::Heap heap("below");
  tarn::Resource<> below(heap);
  int refused = 0;
  for (int n = 0; n < 2; ++n) {
    tarn::CheckingResource checked(&below, "checked");
    void* blocks[100] = {};
    for (void*& block : blocks) {
      left = n;
      try {
        block = checked.allocate(24);
      } catch (const std::bad_alloc&) {
        ++refused;
      }
      left = -1;
    }
    std::size_t live = 0;
    for (void* const block : blocks) live += block != nullptr;
    CHECK(checked.live_blocks() == live && checked.live_bytes() == 24 * live);
    CHECK(heap.stats().live_blocks == live);
    for (void* const block : blocks) {
      if (block != nullptr) checked.deallocate(block, 24);
    }
    CHECK(heap.stats().live_blocks == 0);
  }
  CHECK(refused > 100);
  return 0;
}
