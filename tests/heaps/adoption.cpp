// Threads that end while their blocks live: others free them, go on with their pages, and nothing
// of it is lost or counted twice.
//
// SPDX-License-Identifier: MIT
#include <atomic>
#include <latch>
#include <memory>
#include <random>
#include <thread>

#include "../support/threads.hpp"
#include "heap.hpp"

namespace heaps {
namespace {

class Threads : public EachMode {
 protected:
  Heap heap_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Modes, Threads, testing::Values(TARN_HEAP_SHARED, TARN_HEAP_SERIALISED));

struct Block {
  unsigned char* p = nullptr;
  std::size_t bytes = 0;
  unsigned seed = 0;
};

Block make(tarn_heap heap, std::size_t bytes, unsigned seed) {
  Block block{static_cast<unsigned char*>(tarn_heap_allocate(heap, bytes)), bytes, seed};
  EXPECT_NE(block.p, nullptr);
  fill(block.p, bytes, seed);
  return block;
}

void end(const Block& block) {
  EXPECT_TRUE(is_filled(block.p, block.bytes, block.seed));
  tarn_free(block.p);
}

std::size_t some_bytes(std::mt19937& random) {
  return random() % (random() % 200 == 0 ? 300'000 : 400);
}

void expect_nothing_left(tarn_heap heap) {
  expect_empty(heap);
  tarn_malloc_trim(0);
  EXPECT_EQ(committed(heap), 0u);
}

TEST_P(Threads, FreedAfterItsAllocatorHasEnded) {
  for (int round = 0; round < 5; ++round) {
    std::vector<Block> blocks;
    std::thread([&] {
      std::mt19937 random(static_cast<unsigned>(round));
      for (unsigned i = 0; i < 2'000; ++i) blocks.push_back(make(heap_, some_bytes(random), i));
    }).join();
    EXPECT_EQ(stats_of(heap_).live_blocks, 2'000u);
    std::thread([&] {
      for (const Block& block : blocks) end(block);
    }).join();
    expect_nothing_left(heap_);
  }
}

TEST_P(Threads, FreedByManyAfterManyHaveEnded) {
  constexpr std::size_t threads_count = 6;
  std::vector<std::vector<Block>> made(threads_count);
  support::in_threads(threads_count, [&](std::size_t id) {
    std::mt19937 random(static_cast<unsigned>(id));
    for (unsigned i = 0; i < 2'000; ++i) made[id].push_back(make(heap_, some_bytes(random), i));
  });
  EXPECT_EQ(stats_of(heap_).live_blocks, threads_count * 2'000u);
  support::in_threads(threads_count, [&](std::size_t id) {
    for (const std::vector<Block>& some : made) {
      for (std::size_t i = id; i < some.size(); i += threads_count) end(some[i]);
    }
  });
  expect_nothing_left(heap_);
}

TEST_P(Threads, PagesOfEndedThreadsAreUsedByOthers) {
  make_grown_up(heap_);
  std::vector<Block> kept;
  std::size_t after_first = 0;
  for (unsigned round = 0; round < 50; ++round) {
    // Each leaves one block in twenty: a page that nobody took over would stay nearly empty.
    std::thread([&] {
      for (unsigned i = 0; i < 400; ++i) {
        const Block block = make(heap_, 200, i);
        if (i % 20 == 0) {
          kept.push_back(block);
        } else {
          end(block);
        }
      }
    }).join();
    if (round == 0) after_first = committed(heap_);
  }
  EXPECT_EQ(stats_of(heap_).live_blocks, 1'000u);
  EXPECT_LE(committed(heap_), after_first + 1'000u * 208 * 3);
  // By the thread that is left, too.
  std::vector<Block> own;
  for (unsigned i = 0; i < 500; ++i) own.push_back(make(heap_, 200, i));
  for (const Block& block : kept) end(block);
  for (const Block& block : own) end(block);
  expect_nothing_left(heap_);
}

TEST_P(Threads, PagesOfManyEndedThreadsAreUsedByOne) {
  constexpr unsigned threads_count = 40;
  constexpr unsigned blocks_count = 2'000;
  make_grown_up(heap_);
  std::vector<std::vector<Block>> kept(threads_count);
  std::latch all(threads_count);
  support::in_threads(threads_count, [&](unsigned id) {
    std::vector<Block> blocks;
    for (unsigned i = 0; i < blocks_count; ++i) blocks.push_back(make(heap_, 200, i));
    all.arrive_and_wait();  // So that each has a record of its own.
    for (unsigned i = 0; i < blocks_count; ++i) {
      if (i % 20 == 0) {
        kept[id].push_back(blocks[i]);
      } else {
        end(blocks[i]);
      }
    }
  });
  const std::size_t before = committed(heap_);
  std::vector<Block> own;
  for (unsigned i = 0; i < threads_count * blocks_count * 8 / 10; ++i) {
    own.push_back(make(heap_, 200, i));
  }
  EXPECT_LE(committed(heap_), before + before / 10);
  for (const std::vector<Block>& blocks : kept) {
    for (const Block& block : blocks) end(block);
  }
  for (const Block& block : own) end(block);
  expect_nothing_left(heap_);
}

TEST_P(Threads, MoreThreadsThanStayWarm) {
  constexpr int threads_count = 12;
  std::vector<Block> blocks(threads_count * 100);
  std::latch all(threads_count);
  support::in_threads(threads_count, [&](std::size_t id) {
    for (unsigned i = 0; i < 100; ++i) blocks[id * 100 + i] = make(heap_, i, i);
    all.arrive_and_wait();  // So that each has a record of its own.
  });
  EXPECT_EQ(stats_of(heap_).live_blocks, blocks.size());
  for (const Block& block : blocks) end(block);
  expect_nothing_left(heap_);
}

TEST_P(Threads, ThreadsThatEndWhileOthersWork) {
  constexpr std::size_t slots_count = 256;
  std::vector<std::atomic<Block*>> slots(slots_count);
  std::atomic<bool> stop{false};
  const auto step = [&](std::mt19937& random) {
    auto* block = new Block(make(heap_, some_bytes(random), static_cast<unsigned>(random() % 99)));
    block = slots[random() % slots_count].exchange(block);
    if (block == nullptr) return;
    end(*block);
    delete block;
  };
  std::thread worker([&] {
    std::mt19937 random(1);
    while (!stop) step(random);
  });
  for (int i = 0; i < scaled(400); ++i) {
    std::thread([&, i] {
      std::mt19937 random(static_cast<unsigned>(i) + 2);
      for (int s = 0; s < 300; ++s) step(random);
    }).join();
  }
  stop = true;
  worker.join();
  std::uint64_t held = 0;
  for (const std::atomic<Block*>& slot : slots) held += slot != nullptr;
  EXPECT_EQ(stats_of(heap_).live_blocks, held);
  for (std::atomic<Block*>& slot : slots) {
    const std::unique_ptr<Block> block(slot.load());
    if (block != nullptr) end(*block);
  }
  expect_nothing_left(heap_);
}

TEST_P(Threads, AHeapDestroyedByAnotherThreadThanMadeIt) {
  for (int round = 0; round < scaled(300); ++round) {
    tarn_heap heap{};
    std::thread([&] {
      const tarn_heap_options wanted = options(GetParam());
      heap = tarn_heap_create(&wanted);
      for (unsigned i = 0; i < 300; ++i) make(heap, i, i);
    }).join();
    std::thread([&] {
      for (unsigned i = 0; i < 300; ++i) make(heap, i, i);
      EXPECT_EQ(stats_of(heap).live_blocks, 600u);
      EXPECT_EQ(tarn_heap_destroy(heap), 0);
    }).join();
  }
}

// Frees race with statistics: of a live block nothing is moved, and what is asked stays possible.
TEST_P(Threads, StatisticsWhileOthersWork) {
  make_grown_up(heap_);  // However little the others get to do: a young heap keeps its mixed page.
  std::atomic<bool> stop{false};
  support::Threads threads(3u, [&](unsigned id) {
    std::mt19937 random(id);
    std::vector<Block> blocks;
    while (!stop) {
      if (blocks.size() < 100) {
        blocks.push_back(make(heap_, some_bytes(random), id));
      } else {
        std::swap(blocks[random() % blocks.size()], blocks.back());
        end(blocks.back());
        blocks.pop_back();
      }
    }
    for (const Block& block : blocks) end(block);
  });
  for (int i = 0; i < scaled(2'000); ++i) {
    const tarn_heap_stats stats = stats_of(heap_);
    // Off by what the three are doing: a block each, and one free that is not seen yet.
    ASSERT_LE(stats.live_blocks, 3u * (100 + 2));
    ASSERT_GE(stats.committed_bytes, stats.pages * slice);
  }
  stop = true;
  threads.join();
  expect_nothing_left(heap_);
}

}  // namespace
}  // namespace heaps
