// freestanding: a program of static pools and heaps for which there is no library at all;
// freestanding.sh looks at what it needs and where its objects lie.
//
// SPDX-License-Identifier: MIT
#include "tarn/heap/tlsf.h"
#include "tarn/heap/tlsf.hpp"
#include "tarn/pool/static_heap.hpp"
#include "tarn/pool/static_pool.h"

TARN_STATIC_POOL(c_pool, 24, 100)
#define SIZES(X) X(16, 3) X(64, 2)
TARN_STATIC_HEAP(c_heap, SIZES)
TARN_STATIC_TLSF(c_tlsf, 2000)

// Each name is looked for in .bss.
extern "C" {
struct c_pool bss_c_pool;
struct c_heap bss_c_heap;
struct c_tlsf bss_c_tlsf;
}

// All that is needed, by a reallocation that moves.
extern "C" void* memcpy(void* to, const void* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    static_cast<volatile char*>(to)[i] = static_cast<const char*>(from)[i];
  }
  return to;
}

struct Big {
  Big(int first) noexcept : value(first) {}
  ~Big() { value = 0; }
  int value;
  char rest[500];
};

tarn::StaticPool<24, 100> bss_pool;
tarn::StaticPool<1, 1000, 1, tarn::LockFree> bss_shared_pool;
tarn::StaticObjectPool<Big, 2000> bss_object_pool;
tarn::StaticHeap<tarn::Class<16, 3>, tarn::Class<64, 2>> bss_heap;
tarn::BasicStaticHeap<tarn::LockFree, tarn::Spill::larger, tarn::Class<8, 70>, tarn::Class<64, 2>>
    bss_shared_heap;
tarn::StaticTlsfHeap<4000> bss_tlsf;
tarn::TlsfHeap bss_region_tlsf;

extern "C" bool tlsf_entry(void* memory, std::size_t bytes) {
  if (!bss_region_tlsf.add_region(memory, bytes)) return false;
  void* const a = bss_tlsf.reallocate(bss_tlsf.allocate(bytes), 2 * bytes);
  void* const b = bss_region_tlsf.try_allocate(bytes, 64);
  void* const c = c_tlsf_reallocate(&bss_c_tlsf, c_tlsf_allocate(&bss_c_tlsf, bytes, 8), bytes, 8);
  const bool good = bss_tlsf.check() && bss_region_tlsf.check() && c_tlsf_check(&bss_c_tlsf);
  bss_tlsf.deallocate(a);
  bss_region_tlsf.deallocate(b);
  c_tlsf_deallocate(&bss_c_tlsf, c);
  return good && bss_tlsf.stats().blocks == 0;
}

extern "C" int entry(int n) {
  void* const a = bss_pool.allocate();
  void* const b = bss_shared_pool.try_allocate();
  Big* const c = bss_object_pool.create(n);
  void* const d = bss_heap.allocate(static_cast<std::size_t>(n), 8);
  void* const e = bss_shared_heap.try_allocate(static_cast<std::size_t>(n));
  void* const f = c_pool_allocate(&bss_c_pool);
  void* const g = c_heap_allocate(&bss_c_heap, 20, 1);
  bss_object_pool.for_each([&](Big& big) { n += big.value; });
  const bool good = bss_pool.check() && bss_shared_pool.check() && bss_heap.check() &&
                    bss_shared_heap.check() && c_pool_check(&bss_c_pool);
  bss_pool.deallocate(a);
  bss_shared_pool.deallocate(b);
  bss_object_pool.destroy(c);
  bss_object_pool.destroy_all();
  bss_heap.deallocate(d);
  bss_shared_heap.deallocate(e);
  c_pool_deallocate(&bss_c_pool, f);
  c_heap_deallocate(&bss_c_heap, g);
  return good ? n : -1;
}
