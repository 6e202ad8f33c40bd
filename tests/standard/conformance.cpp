// conformance: heaps are BlockAllocators as all others are (tests/conformance): shared ones, those
// of one thread, in a region, with a class table, and those that check.
//
// SPDX-License-Identifier: MIT
#include "conformance/conformance.hpp"

#include <memory>

#include "tarn/heap/heap.hpp"

namespace conformance {
namespace {

struct AnyHeap {
  static constexpr std::size_t bytes_max = 20000;
  static constexpr std::size_t alignment_max = 4096;
  static constexpr std::size_t blocks = 300;
  static constexpr bool frees = true;
};

struct Shared : AnyHeap {
  tarn::Heap allocator{"shared"};
};

tarn::HeapOptions with(tarn::Threads threads, tarn::Mode mode) {
  tarn::HeapOptions options;
  options.threads = threads;
  options.mode = mode;
  return options;
}

struct Serialised : AnyHeap {
  tarn::Heap allocator{with(tarn::Threads::serialised, tarn::Mode::fast)};
};
struct Checked : AnyHeap {
  tarn::Heap allocator{with(tarn::Threads::shared, tarn::Mode::checked)};
};

struct OfTable : AnyHeap {
  static tarn::HeapOptions options() {
    static const tarn::ClassTable table = tarn::ClassTable::steps(2);
    tarn::HeapOptions options;
    options.use(table);
    return options;
  }
  tarn::Heap allocator{options()};
};

struct InARegion : AnyHeap {
  static constexpr std::size_t region_bytes = std::size_t{32} << 20;
  std::unique_ptr<char[]> region{new char[region_bytes]};
  tarn::HeapOptions options() const {
    tarn::HeapOptions options;
    options.region = region.get();
    options.region_bytes = region_bytes;
    return options;
  }
  tarn::Heap allocator{options()};
};

using Heaps = testing::Types<Shared, Serialised, Checked, OfTable, InARegion>;
INSTANTIATE_TYPED_TEST_SUITE_P(Heaps, BlockAllocators, Heaps);

}  // namespace
}  // namespace conformance
