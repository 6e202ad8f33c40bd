// kinds: the pools and heaps in C++, one of each.
//
// SPDX-License-Identifier: MIT
#include "kinds.h"

#include <mutex>

#include "tarn/heap/tlsf.hpp"
#include "tarn/pool/array_pool.hpp"
#include "tarn/pool/region_array_pool.hpp"
#include "tarn/pool/static_heap.hpp"

namespace {

tarn::StaticPool<20, 16, 8> static_pool;
tarn::StaticPool<20, 16, 8, std::mutex> locked_pool;
tarn::StaticPool<20, 16, 8, tarn::LockFree> lock_free_pool;
tarn::StaticHeap<tarn::Class<20, 16, 8>, tarn::Class<80, 4>> static_heap;
tarn::ArrayPool<16, 20, 8> array_pool;
tarn::ArrayPool<16, 20, 8, tarn::OverflowThrow, tarn::ArrayChecks::exact> exact_pool;
tarn::StaticTlsfHeap<4096> inside_heap;

alignas(8) unsigned char notes[1000];
alignas(8) unsigned char frames[24 * 16];
alignas(16) unsigned char region[4096];

tarn::RegionArrayPool& region_pool() {
  static tarn::RegionArrayPool pool = [] {
    auto made = tarn::RegionArrayPool::make({notes, sizeof notes}, frames, 16, 24, true);
    made.watch();
    return made;
  }();
  return pool;
}

tarn::TlsfHeap& region_heap() {
  static tarn::TlsfHeap heap(region, sizeof region);
  return heap;
}

template <auto& pool>
void give(void* p) {
  pool.deallocate(p);
}
template <auto& pool>
void* take() {
  return pool.try_allocate();
}
template <auto& heap>
void* take_20() {
  return heap.try_allocate(20);
}

}  // namespace

const kind cpp_kinds[] = {
    {"static_pool", take<static_pool>, give<static_pool>, 20},
    {"locked_pool", take<locked_pool>, give<locked_pool>, 20},
    {"lock_free_pool", take<lock_free_pool>, give<lock_free_pool>, 20},
    {"static_heap", take_20<static_heap>, give<static_heap>, 20},
    {"array_pool", take<array_pool>, give<array_pool>, 20},
    {"exact_pool", take<exact_pool>, give<exact_pool>, 20},
    {"frames", [] { return region_pool().try_allocate(); },
     [](void* p) { region_pool().deallocate(p); }, 24},
    {"inside_heap", take_20<inside_heap>, give<inside_heap>, 20},
    {"region", [] { return region_heap().try_allocate(20); },
     [](void* p) { region_heap().deallocate(p); }, 20},
};
const std::size_t cpp_kind_count = sizeof cpp_kinds / sizeof cpp_kinds[0];
