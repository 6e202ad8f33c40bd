// array_pool: the pools whose free list lies apart from the blocks, each against a model that knows
// which block is live and whose it is.
//
// SPDX-License-Identifier: MIT
#include "tarn/pool/array_pool.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "input.hpp"
#include "tarn/pool/shared_array_pool.hpp"

namespace tarn::fuzz {

namespace {

// Blocks are marked while they are live; a pool that handed one out twice would spoil the mark.
class Marks {
 public:
  Marks(std::size_t block_bytes) : block_bytes_(block_bytes) {}

  void add(void* block, unsigned owner) {
    TARN_REQUIRE(block != nullptr);
    const auto mark = static_cast<unsigned char>(++last_);
    std::memset(block, mark, block_bytes_);
    live_.push_back({static_cast<unsigned char*>(block), mark, owner});
  }
  void* remove(std::size_t i) {
    unsigned char* const block = live_[i].block;
    for (std::size_t b = 0; b != block_bytes_; ++b) TARN_REQUIRE(block[b] == live_[i].mark);
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(i));
    return block;
  }
  std::size_t remove_all_of(unsigned owner) {
    const std::size_t before = live_.size();
    std::erase_if(live_, [&](const Mark& mark) { return mark.owner == owner; });
    return before - live_.size();
  }
  bool has(const void* block) const {
    return std::any_of(live_.begin(), live_.end(),
                       [&](const Mark& mark) { return mark.block == block; });
  }
  std::size_t count() const { return live_.size(); }
  void* block(std::size_t i) const { return live_[i].block; }
  unsigned owner(std::size_t i) const { return live_[i].owner; }
  void give(std::size_t i, unsigned owner) { live_[i].owner = owner; }

 private:
  struct Mark {
    unsigned char* block;
    unsigned char mark;
    unsigned owner;
  };
  std::size_t block_bytes_;
  std::vector<Mark> live_;
  unsigned last_ = 0;
};

// ArrayPool and RegionArrayPool: one user.
template <class Pool>
void run_alone(Pool& pool, std::size_t block_bytes, Input& input) {
  Marks marks(block_bytes);
  std::size_t carved = 0;  // Blocks handed out since all were free: the order of fresh ones.
  void* last_freed = nullptr;
  while (input.has_step()) {
    const unsigned choice = input.byte() % 8;
    if (choice < 4) {
      void* const block = pool.try_allocate();
      TARN_REQUIRE((block == nullptr) == (marks.count() == pool.capacity()));
      if (block == nullptr) continue;
      if (last_freed != nullptr) TARN_REQUIRE(block == last_freed);
      const bool is_fresh = pool.index_of(block) >= carved;
      TARN_REQUIRE(!is_fresh || (pool.index_of(block) == carved && marks.count() == carved));
      carved += is_fresh;
      last_freed = nullptr;
      TARN_REQUIRE(!marks.has(block));
      marks.add(block, 0);
    } else if (choice < 7 && marks.count() != 0) {
      void* const block = marks.remove(input.below(marks.count()));
      pool.deallocate(block);
      last_freed = block;
      if (marks.count() == 0) carved = 0, last_freed = nullptr;
    } else {
      std::size_t live = 0;
      pool.for_each([&](void* block) { TARN_REQUIRE(marks.has(block)), ++live; });
      TARN_REQUIRE(live == marks.count());
    }
    TARN_REQUIRE(pool.in_use() == marks.count() && pool.is_empty() == (marks.count() == 0));
    TARN_REQUIRE(pool.check());
  }
  while (marks.count() != 0) pool.deallocate(marks.remove(marks.count() - 1));
  TARN_REQUIRE(pool.is_empty() && pool.check());
}

template <std::size_t count, std::size_t bytes, ArrayChecks checks>
void run_fixed(Input& input) {
  using Pool = ArrayPool<count, bytes, natural_alignment(bytes), OverflowNull, checks>;
  const auto pool = std::make_unique<Pool>();
  run_alone(*pool, bytes, input);
}

void run_region(Input& input) {
  const std::size_t count = input.below(600) + 1;
  const std::size_t bytes = input.below(40) + 1;
  const bool is_exact = input.byte() % 2 != 0;
  const std::size_t notes_bytes = RegionArrayPool::bookkeeping_bytes(count, bytes, is_exact);
  std::vector<std::uint64_t> notes((notes_bytes + 7) / 8, 0xDBDBDBDBDBDBDBDB);
  std::vector<unsigned char> blocks(count * bytes);
  auto pool =
      RegionArrayPool::make({notes.data(), notes_bytes}, blocks.data(), count, bytes, is_exact);
  TARN_REQUIRE(pool);
  run_alone(pool, bytes, input);
}

class SharedRun {
 public:
  explicit SharedRun(Input& input)
      : count_(input.below(60) + 1), bytes_(input.below(20) + 1), marks_(bytes_) {
    notes_.resize(SharedArrayPool::bookkeeping_bytes(count_, bytes_, members) / 8, 77);
    blocks_.resize(count_ * bytes_);
    TARN_REQUIRE(SharedArrayPool::format(memory(), count_, bytes_, members) == TARN_ARRAY_OK);
    for (unsigned m = 0; m != members; ++m) join(m);
    while (input.has_step()) step(input);
    for (unsigned m = 0; m != members; ++m) {
      TARN_REQUIRE(pools_[m].leave() == marks_.remove_all_of(m));
    }
    join(0);
    TARN_REQUIRE(pools_[0].is_empty() && pools_[0].check());
  }

 private:
  static constexpr unsigned members = 3;

  ArrayMemory memory() { return {notes_.data(), notes_.size() * 8}; }
  void join(unsigned m) {
    pools_[m] = SharedArrayPool::attach(memory(), {blocks_.data(), blocks_.size()}, ++identity_);
    TARN_REQUIRE(pools_[m]);
    identities_[m] = identity_;
  }

  void step(Input& input) {
    const unsigned choice = input.byte() % 16;
    const unsigned m = input.byte() % members;
    SharedArrayPool& pool = pools_[m];
    if (choice < 7) {
      void* const block = pool.try_allocate();
      TARN_REQUIRE((block == nullptr) == (marks_.count() == count_));
      TARN_REQUIRE(block == nullptr || !marks_.has(block));
      if (block != nullptr) marks_.add(block, m);
    } else if (choice < 12 && marks_.count() != 0) {
      pool.deallocate(marks_.remove(input.below(marks_.count())));
    } else if (choice < 14 && marks_.count() != 0) {
      const std::size_t i = input.below(marks_.count());
      const std::uint64_t ticket = pool.ticket(marks_.block(i));
      TARN_REQUIRE(pool.adopt(ticket) == marks_.block(i) && pool.adopt(ticket) == nullptr);
      marks_.give(i, m);
    } else if (choice == 14) {
      TARN_REQUIRE(pools_[(m + 1) % members].reclaim(identities_[m]) == marks_.remove_all_of(m));
      join(m);
    } else if (choice == 15) {
      TARN_REQUIRE(pool.leave() == marks_.remove_all_of(m));
      join(m);
    }
    for (std::size_t i = 0; i != marks_.count(); ++i) {
      TARN_REQUIRE(pool.owner(marks_.block(i)) == identities_[marks_.owner(i)]);
    }
    TARN_REQUIRE(pools_[0].in_use() == marks_.count() && pools_[0].check());
  }

  std::size_t count_;
  std::size_t bytes_;
  Marks marks_;
  std::vector<std::uint64_t> notes_;
  std::vector<unsigned char> blocks_;
  SharedArrayPool pools_[members];
  std::uint64_t identities_[members] = {};
  std::uint64_t identity_ = 0;
};

}  // namespace

void run(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  switch (input.below(6)) {
    case 0: return run_fixed<37, 3, ArrayChecks::cheap>(input);
    case 1: return run_fixed<300, 24, ArrayChecks::exact>(input);
    case 2: return run_fixed<5000, 1, ArrayChecks::cheap>(input);
    case 3: return run_region(input);
    default: SharedRun{input};
  }
}

}  // namespace tarn::fuzz
