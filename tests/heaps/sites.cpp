// What is reported of a block names the lines of this file, whatever inline functions of headers
// lie between (sites_test.sh). Each line with the word `site` is one that has to be named.
//
//   sites NAME      frees a block of that kind twice
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstring>

#include "tarn/compat/fixed_pool.h"
#include "tarn/compat/xallocator.h"
#include "tarn/heap/heap.hpp"
#include "tarn/pool/pool.hpp"
#include "tarn/standard/class_new.hpp"

namespace {

struct Item {
  XALLOCATOR
  long words[4];
};
struct Own : tarn::ClassNew<Own> {
  long words[4];
};

struct Kind {
  const char* name;
  void (*misuse)();
};

tarn::HeapOptions checked() {
  tarn::HeapOptions options;
  options.mode = tarn::Mode::checked;
  return options;
}
tarn::Heap& heap() {
  static tarn::Heap heap(checked());
  return heap;
}
tarn::PoolOptions checked_pool() {
  tarn::PoolOptions options;
  options.mode = tarn::Mode::checked;
  return options;
}

const Kind kinds[] = {
    {"heap",
     [] {
       void* const p = heap().allocate(24);  // site
       heap().deallocate(p);                 // site
       heap().deallocate(p);                 // site
     }},
    {"heap_aligned",
     [] {
       void* const p = heap().allocate(24, 64);  // site
       heap().deallocate(p, 24, 64);             // site
       heap().deallocate(p, 24, 64);             // site
     }},
    {"heap_resized",
     [] {
       void* const p = heap().reallocate(heap().allocate(24), 5000);  // site
       heap().deallocate(p);                                          // site
       heap().deallocate(p);                                          // site
     }},
    {"fixed",
     [] {
       const tarn::Fixed<long> fixed(heap());
       long* const p = fixed.create(1L);  // site
       fixed.destroy(p);                  // site
       fixed.destroy(p);                  // site
     }},
    {"pool",
     [] {
       tarn::Pool pool(24, checked_pool());
       void* const p = pool.allocate();  // site
       pool.deallocate(p);               // site
       pool.deallocate(p);               // site
     }},
    {"object_pool",
     [] {
       tarn::ObjectPool<long> pool(checked_pool());
       long* const p = pool.create(1L);  // site
       pool.destroy(p);                  // site
       pool.destroy(p);                  // site
     }},
    {"class_new",
     [] {
       tarn::ClassHeap<Own>::use(heap());
       Own* const p = new Own;  // site
       delete p;                // site
       delete p;                // site
     }},
    {"xmalloc",
     [] {
       void* const p = xmalloc(24);  // site
       xfree(p);                     // site
       xfree(p);                     // site
     }},
    {"xallocator",
     [] {
       Item* const p = new Item;  // site
       delete p;                  // site
       delete p;                  // site
     }},
    {"fixed_pool",
     [] {
       Pool* const pool = GetPool(24, 10);
       void* const p = PoolAlloc(pool);  // site
       PoolFree(pool, p);                // site
       PoolFree(pool, p);                // site
     }},
};

}  // namespace

int main(int, char** arguments) {
  for (const Kind& kind : kinds) {
    if (arguments[1] == nullptr)
      std::puts(kind.name);
    else if (std::strcmp(kind.name, arguments[1]) == 0)
      kind.misuse();
  }
  return 0;
}
