// Forks while another thread is at a given instruction of an operation on heaps: it is stepped
// through, stops at every k-th one, and the child finds all heaps fit for use, whatever was half
// done. (tests/life/fork_step.c has the forks of the thread that is stepped through itself.) Not in
// builds with sanitizers, which take minutes for it.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "heap.hpp"

#if defined(__x86_64__) && TARN_TEST_DIVISOR == 1
#include <unistd.h>

#include <array>
#include <cstdio>
#include <functional>
#include <thread>

#include "../support/child.hpp"
#include "../support/trap_flag.hpp"

namespace heaps {
namespace {

constexpr int forks_wanted = 8 + TARN_PERCENT * 112 / 100;
constexpr std::size_t ceiling = 512 * kib;

using support::require;

// Heaps to work on, with blocks from this thread and from another one, which has ended.
class BlockRange {
 public:
  explicit BlockRange(int threads) {
    tarn_heap_options wanted = options(threads, "stepped");
    wanted.ceiling_bytes = ceiling;
    heap_ = tarn_heap_create(&wanted);
    std::thread([this] { fill(1); }).join();
    fill(2);
  }
  BlockRange(const BlockRange&) = delete;
  BlockRange& operator=(const BlockRange&) = delete;

  tarn_heap heap() const { return heap_; }
  void forget() { heap_ = {}; }

  void free_all() {
    for (void* const p : blocks_) tarn_free(p);
    blocks_.clear();
  }
  void free_some() {
    for (std::size_t i = 0; i < blocks_.size(); i += 2) tarn_free(blocks_[i]);
    blocks_.clear();
  }

 private:
  void fill(std::size_t seed) {
    for (std::size_t i = 0; i < 300; ++i) {
      void* const p = tarn_heap_allocate(heap_, 1 + (i * 37 + seed) % 700);
      if (p != nullptr) blocks_.push_back(p);
    }
    blocks_.push_back(tarn_heap_allocate(heap_, 150 * kib));
  }

  tarn_heap heap_{};
  std::vector<void*> blocks_;
};

struct Operation {
  const char* name;
  void (*prepare)(BlockRange&);
  void (*act)(BlockRange&);
};

// Nobody but the heap knows of it.
void leave_block(tarn_heap heap, std::size_t bytes) {
  void* const p = tarn_heap_allocate(heap, bytes);
  if (p != nullptr) *static_cast<char*>(p) = 1;
}

int count_item(const tarn_heap_item* item, void* context) {
  if (item->kind != TARN_HEAP_PAGE) ++*static_cast<std::size_t*>(context);
  return 0;
}

tarn_heap_stats stats_now(tarn_heap heap) {
  tarn_heap_stats stats = TARN_HEAP_STATS();
  require(tarn_heap_get_stats(heap, &stats) == 0, "no statistics");
  return stats;
}

std::size_t walked_blocks(tarn_heap heap) {
  std::size_t blocks = 0;
  require(tarn_heap_walk(heap, 0, count_item, &blocks) == 0, "not walked");
  return blocks;
}

const Operation operations[] = {
    {"Allocate", [](BlockRange&) {},
     [](BlockRange& g) {
       for (std::size_t i = 0; i < 12; ++i) leave_block(g.heap(), i * 211 % 900);
     }},
    {"Free", [](BlockRange&) {}, [](BlockRange& g) { g.free_all(); }},
    {"Collect", [](BlockRange& g) { g.free_some(); },
     [](BlockRange& g) {
       for (std::size_t i = 0; i < 8; ++i) leave_block(g.heap(), 40 * kib);
     }},
    {"Trim", [](BlockRange& g) { g.free_all(); },
     [](BlockRange& g) { tarn_heap_trim(g.heap(), 0); }},
    {"TrimAll", [](BlockRange& g) { g.free_all(); }, [](BlockRange&) { tarn_malloc_trim(0); }},
    {"Clear", [](BlockRange&) {}, [](BlockRange& g) { tarn_heap_clear(g.heap()); }},
    {"Destroy", [](BlockRange&) {},
     [](BlockRange& g) {
       tarn_heap_destroy(g.heap());
       g.forget();
     }},
    {"Delete", [](BlockRange& g) { g.free_some(); },
     [](BlockRange& g) {
       tarn_heap_delete(g.heap());
       g.forget();
     }},
    {"Freeze", [](BlockRange& g) { g.free_some(); },
     [](BlockRange& g) {
       tarn_heap_freeze(g.heap());
       tarn_heap_thaw(g.heap());
     }},
    {"Walk", [](BlockRange& g) { g.free_some(); },
     [](BlockRange& g) {
       stats_now(g.heap());
       walked_blocks(g.heap());
     }},
    {"Create", [](BlockRange& g) { g.free_all(); },
     [](BlockRange&) {
       const tarn_heap_options wanted = options(TARN_HEAP_SHARED, "made");
       const tarn_heap made = tarn_heap_create(&wanted);
       for (std::size_t i = 0; i < 20; ++i) leave_block(made, 100 * i);
       tarn_heap_destroy(made);
     }},
};

void use(tarn_heap heap) {
  walked_blocks(heap);
  require(stats_now(heap).committed_bytes <= ceiling, "more is charged than there may be");
  std::array<void*, 40> blocks{};
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i] = tarn_heap_allocate(heap, 1 + i * 53 % 800);
    if (blocks[i] != nullptr) std::memset(blocks[i], 1, 1 + i * 53 % 800);
  }
  for (void* const p : blocks) tarn_free(p);
  tarn_heap_trim(heap, 0);
  require(stats_now(heap).committed_bytes <= ceiling, "more is charged after all is given back");
}

[[noreturn]] void live_as_child() {
  ::alarm(60);
  const tarn_heap first = tarn_heap_main();
  for (tarn_heap h = tarn_heap_next(first); !is_none(h); h = tarn_heap_next(h)) use(h);
  for (tarn_heap h = tarn_heap_next(first); !is_none(h); h = tarn_heap_next(first)) {
    require(tarn_heap_destroy(h) == 0, "not destroyed");
  }
  const tarn_heap_options wanted = options(TARN_HEAP_SHARED, "the child's");
  const tarn_heap heap = tarn_heap_create(&wanted);
  std::array<void*, 500> blocks{};
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::size_t bytes = i * 71 % 3000;
    blocks[i] = i % 2 == 0 ? tarn_malloc(bytes) : tarn_heap_allocate(heap, bytes);
    require(blocks[i] != nullptr, "out of memory");
    std::memset(blocks[i], static_cast<int>(i), bytes);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto* const bytes = static_cast<const unsigned char*>(blocks[i]);
    for (std::size_t b = 0; b < i * 71 % 3000; ++b) {
      require(bytes[b] == static_cast<unsigned char>(i), "contents");
    }
    tarn_free(blocks[i]);
  }
  require(tarn_heap_destroy(heap) == 0, "the child's heap is not destroyed");
  tarn_malloc_trim(0);
  ::_exit(0);
}

class ForkSteps : public testing::TestWithParam<std::tuple<Operation, int>> {
 protected:
  // The operation once, by a thread of its own; how many instructions it took.
  static long run(long wanted_stride, const std::function<void()>& at_stand) {
    const auto work = [] {
      const auto& [operation, threads] = GetParam();
      BlockRange ground(threads);
      operation.prepare(ground);
      support::in_steps([&op = operation, &ground] { op.act(ground); });
      support::end_steps();
      if (!is_none(ground.heap())) tarn_heap_destroy(ground.heap());
    };
    return support::steps_of(wanted_stride, work, at_stand);
  }
};

TEST_P(ForkSteps, TheChildFindsHeapsInOrder) {
  const long all = run(0, [] {});
  if (all == 0) GTEST_SKIP() << "no single steps here";
  long forks = 0;
  run(all / forks_wanted + 1, [&] {
    if (HasFailure()) return;
    ++forks;
    EXPECT_EQ(support::status_of_child(live_as_child), 0)
        << "after instruction " << support::steps << " of " << all;
  });
  EXPECT_GT(forks, 0);
}

// The span for a checked heap's first block is the heap's when its blocks can be found by it.
TEST(CheckedForkSteps, TheChildFindsItsBlocks) {
  static tarn_heap heap;
  const auto first_block = [] {
    tarn_heap_options wanted = options(TARN_HEAP_SHARED, "checked");
    wanted.mode = TARN_MODE_CHECKED;
    heap = tarn_heap_create(&wanted);
    support::in_steps([] { leave_block(heap, 3000); });
    support::end_steps();
    tarn_heap_destroy(heap);
  };
  const auto live = [] {
    void* const p = tarn_heap_allocate(heap, 3000);
    require(p != nullptr && tarn_heap_usable_bytes(p) >= 3000, "not found");
    tarn_heap_deallocate(p);
    require(tarn_heap_check(heap) == 1, "not in order");
    return 0;
  };
  const long all = support::steps_of(0, first_block, [] {});
  if (all == 0) GTEST_SKIP() << "no single steps here";
  support::steps_of(all / (5 * forks_wanted) + 1, first_block, [&] {
    if (HasFailure()) return;
    EXPECT_EQ(support::status_of_child(live), 0)
        << "after instruction " << support::steps << " of " << all;
  });
}

INSTANTIATE_TEST_SUITE_P(Operations, ForkSteps,
                         testing::Combine(testing::ValuesIn(operations),
                                          testing::Values(TARN_HEAP_SHARED, TARN_HEAP_SERIALISED)),
                         [](const testing::TestParamInfo<ForkSteps::ParamType>& tested) {
                           const bool shared = std::get<1>(tested.param) == TARN_HEAP_SHARED;
                           return std::string(std::get<0>(tested.param).name) +
                                  (shared ? "Shared" : "Serialised");
                         });

}  // namespace
}  // namespace heaps
#else
TEST(ForkSteps, NeedTheTrapFlagOfX86AndNoSanitizer) { GTEST_SKIP(); }
#endif
