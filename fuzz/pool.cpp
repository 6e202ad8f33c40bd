// pool: a pool of any geometry and mode over a source that fails at times, against the blocks that
// are out and their contents. Sizes, growth, moves, walks that free, clears and trims.
//
// SPDX-License-Identifier: MIT
#include "tarn/pool/pool.hpp"

#include "failing_source.hpp"
#include "filled_blocks.hpp"
#include "input.hpp"
#include "tarn/detail/align.hpp"

namespace tarn::fuzz {

namespace {

class PoolModel {
 public:
  explicit PoolModel(Input& input) : pool_(make(input)) {
    source_.generous = input.byte() % 2 == 0;
  }
  ~PoolModel() {
    pool_ = Pool(8, source_);
    TARN_REQUIRE(source_.chunks.empty());
  }

  void step(Input& input) {
    source_.fails = input.byte() % 16 == 0;
    switch (input.below(16)) {
      case 0: clear(); break;
      case 1: walk_and_free(input.byte()); break;
      case 2: pool_.trim(); break;
      case 3: reserve(input.below(300)); break;
      case 4: move(); break;
      case 5: free_many(input, input.below(400)); break;
      case 6:
      case 7:
      case 8: free_many(input, 3); break;
      case 9: allocate_many(input.below(400)); break;
      default: allocate_many(4);
    }
    TARN_REQUIRE(pool_.check());
    TARN_REQUIRE(pool_.stats().live_blocks == live_.size());
    TARN_REQUIRE(pool_.stats().chunks == source_.chunks.size());
  }

 private:
  Pool make(Input& input) {
    PoolOptions options;
    block_bytes_ = static_cast<std::size_t>(input.magnitude(10)) + 1;
    alignment_ = std::size_t{1} << input.below(9);
    options.alignment = input.byte() % 2 == 0 ? alignment_ : 0;
    if (options.alignment == 0) alignment_ = 1;
    switch (input.below(4)) {
      case 0: options.chunk_blocks = input.below(100) + 1; break;
      case 1: options.chunk_bytes = input.below(20'000); break;
      case 2: options.reserve_blocks = input.below(1000); break;
      default: break;
    }
    if (input.byte() % 3 == 0) options.chunk_bytes_max = options.chunk_bytes + input.below(60'000);
    options.mode = input.byte() % 2 == 0 ? Mode::fast : Mode::checked;
    options.keep_chunks = input.byte() % 4 == 0;
    options.name = "fuzzed";
    return Pool(block_bytes_, source_, options);
  }

  void allocate_many(std::size_t count) {
    for (; count > 0; --count) {
      void* const p = pool_.try_allocate();
      if (p == nullptr) return;
      TARN_REQUIRE(is_aligned(p, alignment_) && pool_.owns(p));
      live_.add(p, block_bytes_);
    }
  }

  void free_block(FilledBlocks::Iterator block) {
    void* const p = block->first;
    live_.remove(block);
    pool_.deallocate(p);
  }

  void free_many(Input& input, std::size_t count) {
    for (; count > 0 && !live_.empty(); --count) free_block(live_.any(input));
  }

  void clear() {
    pool_.clear();
    live_.clear();
    if (source_.fails) return;
    pool_.trim();
    TARN_REQUIRE(source_.chunks.empty() && pool_.stats().held_bytes == 0);
  }

  void walk_and_free(unsigned char which) {
    const std::size_t live = live_.size();
    std::size_t seen = 0;
    pool_.walk([&](void* p) {
      ++seen;
      const auto block = live_.around(p);
      TARN_REQUIRE(block != live_.end() && block->first == p);
      if ((block->second.value & which) == 0) free_block(block);
    });
    TARN_REQUIRE(seen == live);
  }

  void reserve(std::size_t blocks) {
    if (!pool_.reserve(blocks)) return;
    source_.fails = true;
    const std::size_t before = live_.size();
    allocate_many(blocks);
    TARN_REQUIRE(live_.size() == before + blocks);
  }

  void move() {
    Pool other(std::move(pool_));
    TARN_REQUIRE(!pool_ && pool_.try_allocate() == nullptr);
    pool_ = std::move(other);
  }

  FailingSource source_;
  std::size_t block_bytes_ = 0;
  std::size_t alignment_ = 1;
  Pool pool_;
  FilledBlocks live_;
};

}  // namespace

void run(const std::uint8_t* data, std::size_t size) { run_model<PoolModel>(data, size); }

}  // namespace tarn::fuzz
