// class_pools: pools of any classes over a source that fails at times, against the blocks that are
// out and their contents. Sizes, alignments, growth, walks that free, trims, any pointer.
//
// SPDX-License-Identifier: MIT
#include "tarn/pool/class_pools.hpp"

#include <optional>
#include <set>

#include "failing_source.hpp"
#include "filled_blocks.hpp"
#include "input.hpp"
#include "tarn/detail/align.hpp"

namespace tarn::fuzz {

namespace {

class ClassPoolsModel {
 public:
  explicit ClassPoolsModel(Input& input) {
    source_.generous = input.byte() % 2 == 0;
    make(input);
  }
  ~ClassPoolsModel() {
    pools_.reset();
    TARN_REQUIRE(source_.chunks.empty());
  }

  void step(Input& input) {
    source_.fails = input.byte() % 16 == 0;
    switch (input.below(16)) {
      case 0: walk_and_free(input.byte()); break;
      case 1: trim(); break;
      case 2: ask(input); break;
      case 3: free_many(input, input.below(300)); break;
      case 4:
      case 5: free_many(input, 3); break;
      case 6:
      case 7: resize(input); break;
      case 8: allocate_many(input, input.below(300), 16); break;
      default: allocate(input, size(input), std::size_t{1} << input.below(11));
    }
    TARN_REQUIRE(pools_->check());
    const tarn_class_pools_stats stats = pools_->stats();
    const std::size_t others = pools_->get()->recents.data != nullptr ? 2 : 1;
    TARN_REQUIRE(stats.in_use == live_.size() && stats.chunks + others == source_.chunks.size());
    TARN_REQUIRE(stats.allocations - stats.deallocations == stats.in_use);
  }

 private:
  void make(Input& input) {
    std::size_t sizes[8];
    ClassPoolsOptions options;
    for (std::size_t count = input.below(9); count > 0; --count) {
      classes_.insert(static_cast<std::size_t>(input.magnitude(13)) + 1);
    }
    std::size_t count = 0;
    for (const std::size_t bytes : classes_) sizes[count++] = bytes;
    options.classes.data = sizes;
    options.classes.count = count;
    options.tuned_only = count != 0 && input.byte() % 3 == 0;
    options.block_bytes_max = std::size_t{16} << input.below(16);
    if (!options.tuned_only) {
      for (std::size_t power = 16; power <= options.block_bytes_max; power *= 2) {
        classes_.insert(power);
      }
    }
    options.chunk_bytes = input.below(30'000);
    options.chunk_bytes_max = input.byte() % 2 == 0 ? 0 : options.chunk_bytes + input.below(60'000);
    options.keep_chunks = input.byte() % 4 == 0;
    options.name = "fuzzed";
    pools_.emplace(source_, options);
    TARN_REQUIRE(pools_->class_count() == classes_.size());
  }

  std::size_t size(Input& input) { return static_cast<std::size_t>(input.magnitude(20)); }

  void put(void* p, std::size_t bytes, std::size_t alignment) {
    TARN_REQUIRE(is_aligned(p, alignment) && is_aligned(p, 16) && pools_->owns(p));
    const auto smallest = classes_.lower_bound(bytes);
    TARN_REQUIRE(smallest != classes_.end());
    const std::size_t usable = pools_->usable_bytes(p);
    TARN_REQUIRE(alignment > 16 ? usable >= bytes : usable == *smallest);
    live_.add(p, usable);
  }

  void allocate(Input& input, std::size_t bytes, std::size_t alignment) {
    const bool zeroed = alignment <= 16 && input.byte() % 4 == 0;
    void* const p =
        zeroed ? pools_->try_allocate_zeroed(1, bytes) : pools_->try_allocate(bytes, alignment);
    if (p == nullptr) return;
    for (std::size_t i = 0; zeroed && i < bytes; ++i) {
      TARN_REQUIRE(static_cast<unsigned char*>(p)[i] == 0);
    }
    put(p, bytes, alignment);
  }

  void allocate_many(Input& input, std::size_t count, std::size_t alignment) {
    const std::size_t bytes = input.below(2000);
    for (; count > 0; --count) {
      void* const p = pools_->try_allocate(bytes, alignment);
      if (p == nullptr) return;
      put(p, bytes, alignment);
    }
  }

  void free_block(FilledBlocks::Iterator block) {
    void* const p = block->first;
    live_.remove(block);
    pools_->deallocate(p);
    TARN_REQUIRE(pools_->usable_bytes(p) == 0);
  }

  void free_many(Input& input, std::size_t count) {
    for (; count > 0 && !live_.empty(); --count) free_block(live_.any(input));
  }

  void resize(Input& input) {
    if (live_.empty()) return;
    const auto block = live_.any(input);
    unsigned char* const start = block->first;
    const FilledBlock before = block->second;
    const std::size_t bytes = size(input) + 1;
    const std::size_t usable = pools_->usable_bytes(start);
    void* const moved = pools_->try_reallocate(start, bytes);
    if (moved == nullptr) return FilledBlocks::require_filled(start, before);
    TARN_REQUIRE((moved == start) == (bytes <= usable));
    FilledBlocks::require_filled(moved, before);
    if (moved == start) return;
    live_.forget(block);
    put(moved, bytes, 16);
  }

  void walk_and_free(unsigned char which) {
    const std::size_t live = live_.size();
    std::size_t seen = 0;
    const void* before = nullptr;
    pools_->walk([&](void* p, std::size_t bytes) {
      ++seen;
      TARN_REQUIRE(p > before && bytes == pools_->usable_bytes(p));
      before = p;
      const auto block = live_.around(p);
      TARN_REQUIRE(block != live_.end() && block->first == p);
      if ((block->second.value & which) == 0) free_block(block);
    });
    TARN_REQUIRE(seen == live);
  }

  void trim() {
    pools_->trim();
    if (live_.empty()) TARN_REQUIRE(pools_->stats().chunks == 0);
  }

  // What lies near the blocks is theirs if and only if the model says so.
  void ask(Input& input) {
    if (live_.empty()) return;
    unsigned char* const near = live_.any(input)->first + input.below(5000) - 2500;
    const auto block = live_.around(near);
    const bool inside = block != live_.end();
    TARN_REQUIRE(pools_->owns(near) == inside);
    TARN_REQUIRE((pools_->usable_bytes(near) != 0) == (inside && block->first == near));
  }

  FailingSource source_;
  std::set<std::size_t> classes_;
  std::optional<ClassPools> pools_;
  FilledBlocks live_;
};

}  // namespace

void run(const std::uint8_t* data, std::size_t size) { run_model<ClassPoolsModel>(data, size); }

}  // namespace tarn::fuzz
