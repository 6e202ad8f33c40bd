// static_pool: static pools of every kind, and a static heap, against sets of what is live: what
// comes out next, how many, and that every wrong free is told and changes nothing.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "input.hpp"
#include "tarn/pool/static_heap.hpp"

namespace {

const char* told_kind = nullptr;
const void* told_p = nullptr;

}  // namespace

extern "C" void tarn_static_misuse(const char* kind, const void*, const void* p) {
  TARN_REQUIRE(told_kind == nullptr);
  told_kind = kind;
  told_p = p;
}

namespace tarn::fuzz {

namespace {

// pre: the call before this made one misuse.
void require_told(const char* kind, const void* p) {
  TARN_REQUIRE(told_kind != nullptr && std::strcmp(told_kind, kind) == 0 && told_p == p);
  told_kind = nullptr;
}

template <class Pool>
class Model {
 public:
  void allocate() {
    const auto before = pool_->stats();
    auto* const p = static_cast<unsigned char*>(pool_->try_allocate());
    if (live_.size() == Pool::blocks) {
      TARN_REQUIRE(p == nullptr && pool_->stats().failures == before.failures + 1);
      return;
    }
    TARN_REQUIRE(p != nullptr && is_aligned(p, Pool::alignment));
    TARN_REQUIRE(std::find(live_.begin(), live_.end(), p) == live_.end());
    // Never used: only when all that were used are live, and then the lowest.
    const std::size_t i = pool_->index_of(p);
    TARN_REQUIRE(i <= before.peak && (i < before.peak || live_.size() == before.peak));
    live_.push_back(p);
    std::memset(p, static_cast<int>(i % 251), Pool::block_bytes);
  }

  // pre: some block is live
  void deallocate(std::size_t at) {
    unsigned char* const p = live_[at % live_.size()];
    require_whole(p);
    pool_->deallocate(p);
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(at % live_.size()));
    TARN_REQUIRE(told_kind == nullptr && !pool_->is_live(p));
  }

  // A pointer somewhere in or around the pool, if it is no live block.
  void deallocate_wrong(std::size_t offset) {
    auto* const p = reinterpret_cast<unsigned char*>(pool_.get()) + offset % (sizeof(Pool) + 64);
    if (std::find(live_.begin(), live_.end(), p) != live_.end()) return;
    pool_->deallocate(p);
    const bool block = pool_->owns(p) && pool_->index_of(p) < Pool::blocks;
    require_told(block ? "double free" : "invalid free", p);
  }

  void check() const {
    TARN_REQUIRE(pool_->check() && pool_->in_use() == live_.size());
    std::size_t seen = 0;
    pool_->for_each([&](void* p) {
      ++seen;
      TARN_REQUIRE(std::find(live_.begin(), live_.end(), p) != live_.end());
    });
    TARN_REQUIRE(seen == live_.size());
  }

  void end() {
    while (!live_.empty()) deallocate(live_.size() - 1);
    check();
  }
  bool empty() const { return live_.empty(); }

 private:
  void require_whole(const unsigned char* p) const {
    const std::size_t i = pool_->index_of(p);
    for (std::size_t at = 0; at < Pool::block_bytes; ++at) TARN_REQUIRE(p[at] == i % 251);
  }

  std::unique_ptr<Pool> pool_ = std::make_unique<Pool>();
  std::vector<unsigned char*> live_;
};

template <class Pool>
void run_pool(Input& input) {
  Model<Pool> model;
  while (input.has_step()) {
    const std::size_t many = input.below(4) == 0 ? input.below(80) : 1;
    switch (input.below(8)) {
      case 0:
      case 1:
      case 2:
      case 3:
        for (std::size_t i = 0; i < many; ++i) model.allocate();
        break;
      case 4: model.deallocate_wrong(input.number(2)); break;
      default:
        for (std::size_t i = 0; i < many && !model.empty(); ++i) model.deallocate(input.below(256));
    }
    model.check();
  }
  model.end();
}

// A heap finds the class of a block by its address: what was asked for must fit in it.
template <class Heap>
void run_heap(Input& input) {
  const auto heap = std::make_unique<Heap>();
  std::vector<unsigned char*> live;
  while (input.has_step()) {
    if (input.below(2) == 0) {
      const std::size_t bytes = input.below(140);
      auto* const p = static_cast<unsigned char*>(heap->try_allocate(bytes));
      TARN_REQUIRE(p == nullptr || heap->block_bytes_of(p) >= bytes);
      TARN_REQUIRE(bytes <= 128 || p == nullptr);
      if (p == nullptr) continue;
      std::memset(p, static_cast<int>(heap->block_bytes_of(p)), heap->block_bytes_of(p));
      live.push_back(p);
    } else if (!live.empty()) {
      std::swap(live[input.below(live.size())], live.back());
      unsigned char* const p = live.back();
      const std::size_t bytes = heap->block_bytes_of(p);
      for (std::size_t at = 0; at < bytes; ++at) TARN_REQUIRE(p[at] == bytes);
      heap->deallocate(p);
      heap->deallocate(p);
      require_told("double free", p);
      live.pop_back();
    }
    std::size_t in_use = 0;
    heap->for_each_class([&](const StaticStats& stats) { in_use += stats.in_use; });
    TARN_REQUIRE(heap->check() && in_use == live.size());
  }
}

}  // namespace

void run(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  switch (input.below(8)) {
    case 0: return run_pool<StaticPool<1, 40>>(input);
    case 1: return run_pool<StaticPool<24, 64>>(input);
    case 2: return run_pool<StaticPool<7, 150>>(input);
    case 3: return run_pool<StaticPool<40, 192, 64>>(input);
    case 4: return run_pool<StaticPool<24, 64, 8, LockFree>>(input);
    case 5: return run_pool<StaticPool<12, 150, 4, LockFree>>(input);
    case 6: return run_heap<StaticHeap<Class<16, 10>, Class<48, 70>, Class<128, 3>>>(input);
    default:
      using Spilling = BasicStaticHeap<LockFree, Spill::larger, Class<24, 70>, Class<128, 9>>;
      return run_heap<Spilling>(input);
  }
}

}  // namespace tarn::fuzz
