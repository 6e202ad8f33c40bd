// stepped: see stepped.hpp. Compiled with -O2 and no sanitizer whatever the build is.
//
// SPDX-License-Identifier: MIT
#include "stepped.hpp"

#include "tarn/pool/static_heap.hpp"
#include "tarn/pool/static_pool.h"

TARN_STATIC_POOL(c_pool, 24, 100)
static struct c_pool c_pool_object;

namespace {

using tarn::BasicStaticHeap;
using tarn::Class;
using tarn::LockFree;
using tarn::Spill;
using tarn::StaticHeap;
using tarn::StaticPool;

using SharedHeap =
    BasicStaticHeap<LockFree, Spill::none, Class<16, 50>, Class<48, 50>, Class<160, 50>>;

template <class Pool>
Pool object;

template <class Pool>
void* allocate() {
  return object<Pool>.try_allocate();
}
template <class Heap>
void* allocate_bytes() {
  return object<Heap>.try_allocate(stepped_bytes);
}
template <class Pool>
void deallocate(void* p) {
  object<Pool>.deallocate(p);
}

template <class Pool>
constexpr Stepped pool(const char* name) {
  return {name, Pool::blocks, allocate<Pool>, deallocate<Pool>};
}
template <class Heap>
constexpr Stepped heap(const char* name) {
  return {name, 50, allocate_bytes<Heap>, deallocate<Heap>};
}

void* allocate_c() { return c_pool_allocate(&c_pool_object); }
void deallocate_c(void* p) { c_pool_deallocate(&c_pool_object, p); }

}  // namespace

const Stepped stepped[] = {
    pool<StaticPool<64, 16>>("StaticPool<64, 16>"),
    pool<StaticPool<24, 64>>("StaticPool<24, 64>"),
    pool<StaticPool<1, 100>>("StaticPool<1, 100>"),
    pool<StaticPool<24, 256>>("StaticPool<24, 256>"),
    pool<StaticPool<40, 700>>("StaticPool<40, 700>"),
    {"TARN_STATIC_POOL(, 24, 100)", 100, allocate_c, deallocate_c},
    heap<StaticHeap<Class<16, 50>, Class<48, 50>, Class<160, 50>>>("StaticHeap, third class"),
    pool<StaticPool<64, 16, 16, LockFree>>("StaticPool<64, 16>, LockFree"),
    pool<StaticPool<24, 300, 8, LockFree>>("StaticPool<24, 300>, LockFree"),
    heap<SharedHeap>("StaticHeap, LockFree, third class"),
};
const std::size_t stepped_count = sizeof stepped / sizeof stepped[0];
