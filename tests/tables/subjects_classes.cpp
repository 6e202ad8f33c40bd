// subjects_classes: class pools, of one's own and the process's, in C and C++.
//
// SPDX-License-Identifier: MIT
#include <cstdlib>

#include "subjects.hpp"
#include "tarn/heap/malloc_table.hpp"
#include "tarn/pool/class_pools.hpp"
#include "tarn/pool/xalloc.h"

namespace tables {

namespace {

long long live_by(const tarn_class_pools_stats& stats) {
  return static_cast<long long>(stats.in_use);
}

struct ClassPoolsInC : Subject {
  explicit ClassPoolsInC(std::size_t n = 0) : failing(n) {
    tarn_class_pools_options options = TARN_CLASS_POOLS_OPTIONS();
    options.chunk_bytes = 4096;
    options.source = &failing.source;
    if (tarn_class_pools_init(&pools, &options) == 0) table = tarn_class_pools_malloc_table(&pools);
  }
  ~ClassPoolsInC() override {
    if (!ClassPoolsInC::is_sound()) std::abort();
    tarn_class_pools_destroy(&pools);
  }
  bool refuse(bool is_refused) override { return failing.refuse(is_refused); }
  long long live() const override {
    tarn_class_pools_stats stats = TARN_CLASS_POOLS_STATS();
    return tarn_class_pools_get_stats(&pools, &stats) == 0 ? live_by(stats) : -2;
  }
  bool is_sound() const override { return tarn_class_pools_check(&pools) == 1; }
  Failing failing;
  mutable tarn_class_pools pools;  // Questions take its lock.
};

struct ClassPoolsInCpp : Subject {
  ClassPoolsInCpp() { table = tarn::malloc_table(pools); }
  bool is_sound() const override { return pools.check(); }
  tarn::ClassPools pools;
};

struct Xalloc : Subject {
  Xalloc() { table = tarn_xalloc_malloc_table(); }
  ~Xalloc() override { tarn_xalloc_destroy(); }
  long long live() const override {
    tarn_xalloc_class_stats stats = TARN_XALLOC_CLASS_STATS();
    long long sum = 0;
    for (std::size_t i = 0; tarn_xalloc_get_class_stats(i, &stats) == 0; ++i) {
      sum += static_cast<long long>(stats.in_use);
    }
    return sum;
  }
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
