// stepped: see stepped.hpp. Compiled with -O2 and no sanitizer whatever the build is.
//
// SPDX-License-Identifier: MIT
#include "stepped.hpp"

#include "tarn/heap/tlsf.h"
#include "tarn/heap/tlsf.hpp"

TARN_STATIC_TLSF(c_heap, 60000)
static struct c_heap c_heap_object;

namespace {

template <std::size_t bytes>
tarn::StaticTlsfHeap<bytes> inside;

tarn::TlsfHeap over_region;
alignas(16) unsigned char memory[300'000];
const bool has_region = over_region.add_region(memory, sizeof memory);

template <auto& heap>
constexpr Stepped of(const char* name) {
  return {
      name, [](std::size_t bytes) { return heap.try_allocate(bytes); },
      [](std::size_t bytes, std::size_t alignment) { return heap.try_allocate(bytes, alignment); },
      [](void* p, std::size_t bytes) { return heap.try_reallocate(p, bytes); },
      [](void* p) { heap.deallocate(p); }};
}

void* allocate_c(std::size_t bytes) { return c_heap_allocate(&c_heap_object, bytes, 1); }
void* allocate_aligned_c(std::size_t bytes, std::size_t alignment) {
  return c_heap_allocate(&c_heap_object, bytes, alignment);
}
void* resize_c(void* p, std::size_t bytes) {
  return c_heap_reallocate(&c_heap_object, p, bytes, 1);
}
void deallocate_c(void* p) { c_heap_deallocate(&c_heap_object, p); }

}  // namespace

const Stepped stepped[] = {
    of<inside<60'000>>("StaticTlsfHeap<60000>"),
    of<over_region>("TlsfHeap, one region"),
    {"TARN_STATIC_TLSF(, 60000)", allocate_c, allocate_aligned_c, resize_c, deallocate_c},
};
const std::size_t stepped_count = sizeof stepped / sizeof stepped[0];
