// subjects_cpp: tarn::malloc_table over C++ classes.
//
// SPDX-License-Identifier: MIT
#include "subjects.hpp"
#include "tarn/arena/arena.hpp"
#include "tarn/heap/malloc_table.hpp"
#include "tarn/heap/tlsf.hpp"
#include "tarn/pool/array_pool.hpp"
#include "tarn/pool/pool.hpp"
#include "tarn/pool/static_heap.hpp"
#include "tarn/source/adaptors.hpp"

namespace tables {

namespace {

template <class A>
struct Over : Subject {
  template <class... Args>
  explicit Over(Args&&... args) : allocator(std::forward<Args>(args)...) {
    table = tarn::malloc_table(allocator);
  }
  bool refuse(bool is_refused) override {
    if constexpr (requires { allocator.fail_from(1); }) {
      allocator.fail_from(is_refused ? 1 : 0);
      return true;
    } else {
      return false;
    }
  }
  long long live() const override {
    if constexpr (requires { allocator.in_use(); }) {
      return static_cast<long long>(allocator.in_use());
    } else {
      return -1;
    }
  }
  bool is_sound() const override { return allocator.check(); }
  A allocator;
};

std::unique_ptr<Subject> pool_class() {
  return limited(std::make_unique<Over<tarn::Pool>>(std::size_t{96}), 96, 16);
}
std::unique_ptr<Subject> counted_pool() {  // Its numbers must be right, so they are kept in front.
  return limited(std::make_unique<Over<tarn::Counted<tarn::Pool>>>(std::size_t{96}), 80, 16);
}
std::unique_ptr<Subject> counted_arena() {
  auto made = std::make_unique<Over<tarn::Counted<tarn::Arena>>>();
  made->frees = false;
  return made;
}
std::unique_ptr<Subject> locked_arena() {
  auto made = std::make_unique<Over<tarn::Locked<tarn::Arena>>>();
  made->frees = false;
  return made;
}
std::unique_ptr<Subject> static_pool() {
  return limited(std::make_unique<Over<tarn::StaticPool<96, 128>>>(), 96, 16);
}
std::unique_ptr<Subject> static_heap() {
  using Heap = tarn::StaticHeap<tarn::Class<48, 200>, tarn::Class<160, 200>>;
  return limited(std::make_unique<Over<Heap>>(), 160, 16);
}
std::unique_ptr<Subject> tlsf_heap() {
  return limited(std::make_unique<Over<tarn::StaticTlsfHeap<4 << 20>>>(), 20'000, 4096);
}
std::unique_ptr<Subject> array_pool() {
  return limited(std::make_unique<Over<tarn::ArrayPool<128, 64>>>(), 48, 16);
}

std::unique_ptr<Subject> failing_pool(std::size_t n) {
  auto made = std::make_unique<Over<tarn::Failing<tarn::Counted<tarn::Pool>>>>(std::size_t{96});
  made->allocator.fail_from(n);
  return limited(std::move(made), 80, 16);
}
std::unique_ptr<Subject> failing_arena(std::size_t n) {
  auto made = std::make_unique<Over<tarn::Failing<tarn::Arena>>>();
  made->allocator.fail_from(n);
  made->frees = false;
  return made;
}

}  // namespace

std::vector<Kind> kinds_in_cpp() {
  return {{"pool_class", pool_class},
          {"counted_pool", counted_pool, false, failing_pool},
          {"counted_arena", counted_arena, false, failing_arena},
          {"locked_arena", locked_arena, true},
          {"static_pool", static_pool},
          {"static_heap", static_heap},
          {"tlsf_heap", tlsf_heap},
          {"array_pool_class", array_pool}};
}

}  // namespace tables
