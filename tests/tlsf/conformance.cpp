// What every BlockAllocator must show, of TLSF heaps inside an object and over regions.
//
// SPDX-License-Identifier: MIT
#include "conformance/conformance.hpp"

#include "tarn/heap/tlsf.hpp"

namespace conformance {

static_assert(tarn::BlockAllocator<tarn::TlsfHeap>);
static_assert(tarn::BlockAllocator<tarn::StaticTlsfHeap<1000>>);

struct Inside {
  tarn::StaticTlsfHeap<200'000> allocator;
  static constexpr std::size_t bytes_max = 600, alignment_max = 64, blocks = 100;
  static constexpr bool frees = true;
};

struct Regions {
  Regions() {
    EXPECT_TRUE(allocator.add_region(memory.data(), 300'000));
    EXPECT_TRUE(allocator.add_region(memory.data() + 300'001, 299'990));
  }
  std::vector<unsigned char> memory = std::vector<unsigned char>(600'000);
  tarn::TlsfHeap allocator;
  static constexpr std::size_t bytes_max = 2000, alignment_max = 4096, blocks = 60;
  static constexpr bool frees = true;
};

INSTANTIATE_TYPED_TEST_SUITE_P(TlsfInside, BlockAllocators, Inside);
INSTANTIATE_TYPED_TEST_SUITE_P(TlsfRegions, BlockAllocators, Regions);

}  // namespace conformance
