// Heaps whose memory comes from functions of the test: what they are asked for, when they refuse,
// and that everything goes back.
//
// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <map>
#include <mutex>
#include <random>
#include <sys/mman.h>
#include <thread>
#include <utility>

#include "../support/threads.hpp"
#include "heap.hpp"

namespace heaps {
namespace {

// Gives memory full of rubbish, and remembers it.
class Source {
 public:
  tarn_source made(std::size_t chunk_bytes = 0) {
    tarn_source source = TARN_SOURCE();
    source.acquire = [](void* self, std::size_t bytes, std::size_t) {
      void* const start = static_cast<Source*>(self)->take(bytes);
      return tarn_chunk{start, start == nullptr ? 0 : bytes};
    };
    source.release = [](void* self, tarn_chunk chunk) {
      static_cast<Source*>(self)->give(chunk.data, chunk.bytes);
    };
    source.context = this;
    source.chunk_bytes = chunk_bytes;
    return source;
  }
  ~Source() {
    for (const auto& [start, chunk] : chunks_) std::free(chunk.block);
  }

  std::size_t bytes() {
    const std::lock_guard locked(mutex_);
    std::size_t sum = 0;
    for (const auto& [start, chunk] : chunks_) sum += chunk.bytes;
    return sum;
  }
  std::size_t chunks() {
    const std::lock_guard locked(mutex_);
    return chunks_.size();
  }
  bool has(const void* p, std::size_t bytes) {
    const std::lock_guard locked(mutex_);
    const auto* const at = static_cast<const std::byte*>(p);
    auto next = chunks_.upper_bound(const_cast<std::byte*>(at));
    if (next == chunks_.begin()) return false;
    --next;
    return at + bytes <= next->first + next->second.bytes;
  }

  std::size_t limit = SIZE_MAX;  // Of all chunks together.
  std::size_t offset = 0;        // From a slice's start.
  std::size_t asked = 0;
  bool zeroed = false;
  tarn_heap used{};  // A heap that the functions use.

 private:
  struct Chunk {
    void* block;
    std::size_t bytes;
  };

  void* take(std::size_t wanted) {
    const std::size_t has_now = bytes();
    if (used.record != nullptr) tarn_free(tarn_heap_allocate(used, 100));
    tarn_free(tarn_malloc(300));
    const std::lock_guard locked(mutex_);
    ++asked;
    EXPECT_EQ(wanted % slice, 0u);
    if (wanted > limit || has_now > limit - wanted) return nullptr;
    void* const block = std::aligned_alloc(slice, wanted + slice);
    std::memset(block, zeroed ? 0 : 0xa5, wanted + slice);
    auto* const start = static_cast<std::byte*>(block) + offset;
    chunks_[start] = {block, wanted};
    return start;
  }
  void give(void* start, std::size_t given) {
    if (used.record != nullptr) tarn_free(tarn_heap_allocate(used, 100));
    const std::lock_guard locked(mutex_);
    const auto found = chunks_.find(static_cast<std::byte*>(start));
    ASSERT_NE(found, chunks_.end());
    EXPECT_EQ(found->second.bytes, given);
    std::free(found->second.block);
    chunks_.erase(found);
  }

  std::mutex mutex_;
  std::map<std::byte*, Chunk> chunks_;
};

tarn_heap_options from(const tarn_source& source, int threads = TARN_HEAP_SHARED) {
  tarn_heap_options made = options(threads, "source");
  made.source = &source;
  return made;
}

class Sources : public EachMode {};
INSTANTIATE_TEST_SUITE_P(Modes, Sources, every_mode);

TEST_P(Sources, GiveAllAndGetAllBack) {
  for (const std::size_t offset : {0u, 16u, 4080u}) {
    Source source;
    source.offset = offset;
    const tarn_source made = source.made(64 * kib);
    {
      const Heap heap(from(made, GetParam()));
      EXPECT_EQ(source.chunks(), 1u);
      std::mt19937 random(7);
      std::vector<void*> live;
      for (int i = 0; i < scaled(30000); ++i) {
        const std::size_t bytes = i % 500 == 0 ? random() % mib : random() % 900;
        void* const p = tarn_heap_allocate(heap, bytes);
        ASSERT_NE(p, nullptr);
        ASSERT_TRUE(source.has(p, bytes));
        live.push_back(p);
        if (live.size() > 300) {
          std::swap(live[random() % live.size()], live.back());
          tarn_free(live.back());
          live.pop_back();
        }
      }
      EXPECT_GE(source.bytes(), committed(heap));
      const std::size_t chunks = source.chunks();
      EXPECT_GT(chunks, 3u);
      EXPECT_EQ(tarn_heap_clear(heap), 0);
      tarn_heap_trim(heap, 0);
      EXPECT_EQ(source.chunks(), 1u);
      EXPECT_NE(tarn_heap_allocate(heap, mib), nullptr);
    }
    EXPECT_EQ(source.chunks(), 0u);
  }
}

TEST_P(Sources, ALargeChunkGoesBackWithItsBlock) {
  Source source;
  const tarn_source made = source.made();
  const Heap heap(from(made, GetParam()));
  void* const p = tarn_heap_allocate(heap, 8 * mib);
  ASSERT_NE(p, nullptr);
  EXPECT_GE(source.bytes(), 8 * mib);
  tarn_free(p);
  EXPECT_LT(source.bytes(), 4 * mib);
}

TEST_P(Sources, RubbishIsNoZero) {
  Source source;
  const tarn_source made = source.made();
  const Heap heap(from(made, GetParam()));
  for (const std::size_t bytes : {100u, 5000u, 300000u, 3000000u}) {
    void* const p = tarn_heap_allocate_zeroed(heap, 1, bytes);
    ASSERT_NE(p, nullptr);
    EXPECT_TRUE(is_zero(p, usable(p)));
  }
}

TEST_P(Sources, ZeroedMemoryIsWrittenOnlyWhereItWasUsed) {
  Source source;
  source.zeroed = true;
  tarn_source made = source.made();
  made.zeroed = 1;
  const Heap heap(from(made, GetParam()));
  for (int turn = 0; turn < 3; ++turn) {
    void* const p = tarn_heap_allocate_zeroed(heap, 1, 400000);
    ASSERT_NE(p, nullptr);
    EXPECT_TRUE(is_zero(p, 400000));
    fill(p, 400000, 1);
    tarn_free(p);
  }
}

TEST_P(Sources, AtTheirLimitTheHeapIsOutOfMemoryAndGoesOn) {
  Source source;
  source.limit = 3 * mib;
  const tarn_source made = source.made(256 * kib);
  const Heap heap(from(made, GetParam()));
  std::vector<void*> blocks;
  for (;;) {
    errno = 0;
    void* const p = tarn_heap_allocate(heap, 3000);
    if (p == nullptr) break;
    blocks.push_back(p);
  }
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_GT(blocks.size() * 3000, 2 * mib);
  const tarn_heap_stats full = stats_of(heap);
  EXPECT_EQ(tarn_heap_allocate(heap, 2 * mib), nullptr);
  EXPECT_EQ(stats_of(heap).committed_bytes, full.committed_bytes);
  for (void* const p : blocks) tarn_free(p);
  EXPECT_NE(tarn_heap_allocate(heap, 3000), nullptr);
}

TEST_P(Sources, ASmallerChunkWillDo) {
  Source source;
  source.limit = 1200 * kib;
  const tarn_source made = source.made(mib);
  const Heap heap(from(made, GetParam()));
  std::size_t served = 0;
  while (tarn_heap_allocate(heap, 20 * kib) != nullptr) served += 20 * kib;
  EXPECT_GT(source.bytes(), mib);  // Not a whole second one.
  EXPECT_GT(served, 1000 * kib);
}

TEST_P(Sources, MayUseOtherHeaps) {
  const Heap used;
  Source source;
  source.used = used;
  const tarn_source made = source.made(64 * kib);
  const Heap heap(from(made, GetParam()));
  const Heap scope(options(GetParam()));
  const tarn_heap before = tarn_heap_set_default(scope);
  for (int i = 0; i < scaled(3000); ++i) EXPECT_NE(tarn_heap_allocate(heap, 1000), nullptr);
  tarn_heap_set_default(before);
  EXPECT_EQ(tarn_heap_clear(heap), 0);
}

// Chunks of this size lie in pages of malloc's heap, where frees of malloc's blocks go another way.
TEST_P(Sources, KeepTheirBlocksApartFromMallocs) {
  constexpr std::size_t bytes = 48;
  tarn_source small = tarn_source_default();
  small.chunk_bytes = 64 * kib;
  std::vector<void*> own;  // So that malloc's class of 48 bytes is in use, too.
  for (int i = 0; i < 1000; ++i) own.push_back(tarn_malloc(bytes));
  while (!own.empty()) {
    tarn_free(own.back());
    own.pop_back();
  }
  {
    const Heap heap(from(small, GetParam()));
    std::vector<void*> live;
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 3000; ++i) live.push_back(tarn_heap_allocate(heap, bytes));
      for (void* const p : live) tarn_free(p);
      EXPECT_EQ(stats_of(heap).live_blocks, 0u);
      for (std::size_t i = 0; i < live.size(); ++i) {
        void* const p = tarn_malloc(bytes);
        ASSERT_FALSE(same(tarn_heap_of(p), heap));
        own.push_back(p);
      }
      live.clear();
    }
  }
  for (void* const p : own) tarn_free(p);
}

TEST_P(Sources, CeilingsCountPagesNotChunks) {
  Source source;
  const tarn_source made = source.made();
  tarn_heap_options wanted = from(made, GetParam());
  wanted.ceiling_bytes = 500 * kib;
  const Heap heap(wanted);
  while (tarn_heap_allocate(heap, 900) != nullptr) {
  }
  EXPECT_LE(committed(heap), 500 * kib);
  EXPECT_GT(committed(heap), 400 * kib);
}

TEST(SourceOptions, RefusesWhatMakesNoSense) {
  Source source;
  const auto refused = [](const tarn_source& made, int error) {
    const tarn_heap_options wanted = from(made);
    errno = 0;
    return is_none(tarn_heap_create(&wanted)) && errno == error;
  };
  tarn_source made = source.made();
  made.bytes = 8;
  EXPECT_TRUE(refused(made, EINVAL));
  made = source.made();
  made.acquire = nullptr;
  EXPECT_TRUE(refused(made, EINVAL));
  made = source.made();
  made.chunk_bytes = SIZE_MAX;
  EXPECT_TRUE(refused(made, EINVAL));
  source.limit = 100;
  EXPECT_TRUE(refused(source.made(), ENOMEM));
  EXPECT_EQ(source.chunks(), 0u);
}

TEST(SourceOptions, WhatIsNotTakenBackStays) {
  Source source;
  tarn_source made = source.made();
  made.release = nullptr;
  {
    const Heap heap(from(made));
    EXPECT_NE(tarn_heap_allocate(heap, 4 * mib), nullptr);
  }
  EXPECT_EQ(source.chunks(), 2u);
}

// Its release has another thread do something, and waits for that: the first time.
struct Releasing {
  void (*meanwhile)(tarn_heap) = nullptr;
  tarn_heap heap{};
};

tarn_heap releasing_heap(Releasing* releasing) {
  tarn_source source = TARN_SOURCE();
  source.acquire = [](void*, std::size_t bytes, std::size_t) {
    void* const start =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return start == MAP_FAILED ? tarn_chunk{} : tarn_chunk{start, bytes};
  };
  source.release = [](void* context, tarn_chunk chunk) {
    auto* const in = static_cast<Releasing*>(context);
    if (auto* const act = std::exchange(in->meanwhile, nullptr)) std::thread(act, in->heap).join();
    munmap(chunk.data, chunk.bytes);  // What is read there now ends the process.
  };
  source.context = releasing;
  source.chunk_bytes = 64 * kib;
  const tarn_heap_options wanted = from(source);
  releasing->heap = tarn_heap_create(&wanted);
  for (int i = 0; i < 20; ++i) {  // A chunk each, and more than are kept.
    EXPECT_NE(tarn_heap_allocate(releasing->heap, 600 * kib), nullptr);
  }
  return releasing->heap;
}

void destroy_it(tarn_heap heap) { EXPECT_EQ(tarn_heap_destroy(heap), 0); }

TEST(SourceThreads, AHeapMayEndWhileItsChunksGoBackAfterAClear) {
  Releasing releasing;
  const tarn_heap heap = releasing_heap(&releasing);
  releasing.meanwhile = destroy_it;
  EXPECT_EQ(tarn_heap_clear(heap), 0);
}

TEST(SourceThreadsDeathTest, AHeapThatEndsWhileItIsTrimmedIsReported) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto trim_what_ends = [] {
    Releasing releasing;
    const tarn_heap heap = releasing_heap(&releasing);
    EXPECT_EQ(tarn_heap_clear(heap), 0);
    std::vector<void*> blocks;
    for (int i = 0; i < 5; ++i) blocks.push_back(tarn_heap_allocate(heap, 150 * kib));
    for (void* const p : blocks) tarn_heap_deallocate(p);  // Their empty chunks are kept.
    releasing.meanwhile = destroy_it;
    tarn_heap_trim(heap, 0);
  };
  EXPECT_DEATH(trim_what_ends(), "tarn_heap_trim");
}

TEST(SourceThreads, AskTogether) {
  Source source;
  const tarn_source made = source.made(64 * kib);
  {
    const Heap heap(from(made));
    support::in_threads(4u, [&heap](unsigned id) {
      std::mt19937 random(id);
      std::vector<void*> live;
      for (int i = 0; i < scaled(20000); ++i) {
        const std::size_t bytes = i % 100 == 0 ? random() % (400 * kib) : random() % 3000;
        live.push_back(tarn_heap_allocate(heap, bytes));
        ASSERT_NE(live.back(), nullptr);
        if (live.size() > 200) {
          for (void* const p : live) tarn_free(p);
          live.clear();
        }
      }
      for (void* const p : live) tarn_free(p);
    });
    expect_empty(heap);
  }
  EXPECT_EQ(source.chunks(), 0u);
}

}  // namespace
}  // namespace heaps
