// subjects_classes: class pools, of one's own and the process's, in C and C++.
//
// SPDX-License-Identifier: MIT
#include <cstdlib>

#include "subjects.hpp"
#include "tarn/adaptors.h"
#include "tarn/class_pools.hpp"
#include "tarn/malloc_table.hpp"
#include "tarn/xalloc.h"

namespace tables {

namespace {

struct ClassPoolsInC : Subject {
  explicit ClassPoolsInC(std::size_t n = 0) {
    failing.inner = tarn_source_default();
    failing.failing = n;
    failing.onwards = 1;
    const tarn_source source = tarn_failing_source_get(&failing);
    tarn_class_pools_options options{};
    options.bytes = sizeof options;
    options.chunk_bytes = 4096;
    options.source = &source;
    if (tarn_class_pools_init(&pools, &options) == 0) table = tarn_class_pools_malloc_table(&pools);
  }
  ~ClassPoolsInC() override {
    if (tarn_class_pools_check(&pools) != 1) std::abort();
    tarn_class_pools_destroy(&pools);
  }
  tarn_failing_source failing{};
  tarn_class_pools pools;
};

struct ClassPoolsInCpp : Subject {
  ClassPoolsInCpp() { table = tarn::malloc_table(pools); }
  tarn::ClassPools pools;
};

struct Xalloc : Subject {
  Xalloc() { table = tarn_xalloc_malloc_table(); }
  ~Xalloc() override { tarn_xalloc_destroy(); }
};

template <class S>
std::unique_ptr<Subject> class_pools() {
  return std::make_unique<S>();
}
std::unique_ptr<Subject> failing_class_pools(std::size_t n) {
  return std::make_unique<ClassPoolsInC>(n);
}

}  // namespace

std::vector<Kind> kinds_of_class_pools() {
  return {{"class_pools", class_pools<ClassPoolsInC>, false, failing_class_pools},
          {"class_pools_class", class_pools<ClassPoolsInCpp>},
          {"xalloc", class_pools<Xalloc>, true}};
}

}  // namespace tables
