// Array pools in a program without a C library, an OS, exceptions or RTTI: that it links is the
// test. (The misuse at its end stops at a trap.)
//
// SPDX-License-Identifier: MIT
#include "tarn/pool/array_pool.hpp"
#include "tarn/pool/shared_array_pool.hpp"

namespace {

tarn::ArrayPool<16, 3, 1, tarn::OverflowNull> fixed;
tarn::ArrayPool<16, 8, 8, tarn::OverflowThrow, tarn::ArrayChecks::exact> exact;
std::uint64_t notes[100];
unsigned char blocks[16 * 8];

template <class Pool>
void use(Pool& pool) {
  void* const p = pool.allocate();
  void* const q = pool.try_allocate(2, 1);
  pool.deallocate(p);
  pool.deallocate(q);
  if (!pool.check() || !pool.is_empty()) __builtin_trap();
}

}  // namespace

extern "C" [[noreturn]] void _start() {
  use(fixed);
  use(exact);
  auto region = tarn::RegionArrayPool::make({notes, sizeof notes}, blocks, 16, 8);
  use(region);
  if (tarn::SharedArrayPool::format({notes, sizeof notes}, 16, 8, 2) != TARN_ARRAY_OK) {
    __builtin_trap();
  }
  auto shared = tarn::SharedArrayPool::attach({notes, sizeof notes}, {blocks, sizeof blocks}, 1);
  use(shared);
  exact.deallocate(blocks);  // Misuse.
  for (;;) {
  }
}
