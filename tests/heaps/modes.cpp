// Checked, guarded and passthrough heaps used as they should be: each function does what it does in
// a fast one, blocks have exactly the bytes that were asked for, and the accounts are exact.
//
// SPDX-License-Identifier: MIT
#include <array>

#include "modes.hpp"
#include "tarn/heap/heap.hpp"

namespace heaps {
namespace {

INSTANTIATE_TEST_SUITE_P(All, Modes, testing::Combine(checking_modes, every_mode));

const std::array<std::size_t, 22> sizes{0,    1,    7,       8,       9,       15,     16,   17,
                                        24,   100,  1000,    1016,    1017,    1024,   4088, 4089,
                                        4096, 5000, 100'000, 131'064, 131'065, 300'000};

TEST_P(Modes, BlocksOfAllSizes) {
  const Heap heap(wanted());
  std::vector<void*> blocks;
  std::uint64_t bytes = 0;
  for (const std::size_t size : sizes) {
    for (int i = 0; i < 3; ++i) {
      void* const p = tarn_heap_allocate(heap, size);
      ASSERT_NE(p, nullptr);
      EXPECT_EQ(misaligned(p, 16), 0u);
      EXPECT_EQ(usable(p), size);
      EXPECT_EQ(tarn_heap_owns(heap, p), 1);
      EXPECT_TRUE(same(tarn_heap_of(p), heap));
      fill(p, size, static_cast<unsigned>(blocks.size()));
      blocks.push_back(p);
      bytes += size;
    }
  }
  expect_accounts(heap, blocks.size(), bytes);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_TRUE(is_filled(blocks[i], sizes[i / 3], static_cast<unsigned>(i)));
    if (i % 2 == 0) tarn_heap_deallocate(blocks[i]);
    if (i % 2 == 1) tarn_free_sized(blocks[i], sizes[i / 3]);
  }
  expect_empty(heap);
  expect_accounts(heap, 0, 0);
}

TEST_P(Modes, Aligned) {
  const Heap heap(wanted());
  std::vector<void*> blocks;
  for (std::size_t alignment = 1; alignment <= 64 * kib; alignment *= 2) {
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{40}, 3 * kib, 10 * kib, 200 * kib}) {
      void* const p = tarn_heap_allocate_aligned(heap, alignment, size);
      ASSERT_NE(p, nullptr) << alignment << " " << size;
      EXPECT_EQ(misaligned(p, alignment), 0u);
      EXPECT_EQ(usable(p), size);
      fill(p, size, 5);
      blocks.push_back(p);
    }
  }
  EXPECT_EQ(stats_of(heap).live_blocks, blocks.size());
  for (void* const p : blocks) tarn_heap_deallocate(p);
  expect_empty(heap);
  errno = 0;
  EXPECT_EQ(tarn_heap_allocate_aligned(heap, 24, 10), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_P(Modes, Zeroed) {
  const Heap heap(wanted());
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t size : sizes) {
      void* const p = tarn_heap_allocate_zeroed(heap, 1, size);
      ASSERT_NE(p, nullptr);
      EXPECT_TRUE(is_zero(p, usable(p)));
      fill(p, size, 3);
      tarn_heap_deallocate(p);
    }
  }
  errno = 0;
  EXPECT_EQ(tarn_heap_allocate_zeroed(heap, opaque(SIZE_MAX / 2), 3), nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

TEST_P(Modes, TooMuchIsOutOfMemory) {
  const Heap heap(wanted());
  void* const p = tarn_heap_allocate(heap, 10);
  for (const std::size_t size : {SIZE_MAX, SIZE_MAX - 16, SIZE_MAX / 2, SIZE_MAX / 2 - 1,
                                 SIZE_MAX / 4, std::size_t{1} << 50}) {
    errno = 0;
    EXPECT_EQ(tarn_heap_allocate(heap, opaque(size)), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(tarn_heap_reallocate(heap, p, opaque(size)), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_EQ(tarn_heap_try_expand(p, opaque(size)), 0);
  }
  expect_accounts(heap, 1, 10);
  tarn_heap_deallocate(p);
}

TEST_P(Modes, Resized) {
  const Heap heap(wanted());
  const std::size_t step = TARN_TEST_DIVISOR == 1 ? 1 : 3;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (std::size_t j = i % step; j < sizes.size(); j += step) {
      const std::size_t from = sizes[i];
      const std::size_t to = sizes[j];
      void* p = tarn_heap_allocate(heap, from);
      ASSERT_NE(p, nullptr);
      fill(p, from, 9);
      if (to == 0) continue;
      void* const moved = tarn_heap_reallocate(heap, p, to);
      ASSERT_NE(moved, nullptr);
      EXPECT_EQ(usable(moved), to);
      EXPECT_TRUE(is_filled(moved, from < to ? from : to, 9));
      fill(moved, to, 4);
      p = tarn_realloc(moved, from + 1);
      ASSERT_NE(p, nullptr);
      EXPECT_EQ(usable(p), from + 1);
      EXPECT_TRUE(is_filled(p, from + 1 < to ? from + 1 : to, 4));
      EXPECT_EQ(tarn_heap_owns(heap, p), 1);
      tarn_free_sized(p, from + 1);
    }
    EXPECT_EQ(tarn_heap_clear(heap), 0);
  }
  EXPECT_EQ(tarn_heap_reallocate(heap, tarn_heap_allocate(heap, 50), 0), nullptr);
  void* const fresh = tarn_heap_reallocate(heap, nullptr, 70);
  EXPECT_EQ(usable(fresh), 70u);
  tarn_heap_deallocate(fresh);
  expect_empty(heap);
}

TEST_P(Modes, ExpandedInPlace) {
  const Heap heap(wanted());
  for (const std::size_t from : sizes) {
    auto* const p = static_cast<unsigned char*>(tarn_heap_allocate(heap, from));
    EXPECT_EQ(tarn_heap_try_expand(p, from), 1);
    std::size_t size = from;
    while (tarn_heap_try_expand(p, size + 1) == 1) {
      ++size;
      ASSERT_EQ(usable(p), size);
      p[size - 1] = 77;
    }
    if (mode() == TARN_MODE_CHECKED) {
      EXPECT_LT(size, from + from / 8 + 2 * slice);
    }
    tarn_free_sized(p, size);
  }
  expect_empty(heap);
}

TEST_P(Modes, MovedBetweenHeaps) {
  const Heap heap(wanted());
  const Heap fast;
  for (const std::size_t size : sizes) {
    void* const p = tarn_heap_allocate(heap, size);
    fill(p, size, 1);
    void* const q = tarn_heap_reallocate(fast, p, size + 10);
    ASSERT_NE(q, nullptr);
    EXPECT_EQ(tarn_heap_owns(fast, q), 1);
    EXPECT_TRUE(is_filled(q, size, 1));
    void* const r = tarn_heap_reallocate(heap, q, size + 20);
    ASSERT_NE(r, nullptr);
    EXPECT_EQ(tarn_heap_owns(heap, r), 1);
    EXPECT_EQ(usable(r), size + 20);
    EXPECT_TRUE(is_filled(r, size, 1));
    void* const s = tarn_heap_reallocate(tarn_heap_main(), r, size + 30);
    ASSERT_NE(s, nullptr);
    EXPECT_EQ(tarn_heap_owns(tarn_heap_main(), s), 1);
    EXPECT_TRUE(is_filled(s, size, 1));
    tarn_free(s);
  }
  expect_empty(heap);
  expect_empty(fast);
}

TEST_P(Modes, OfOneSize) {
  const Heap heap(wanted());
  const tarn_fixed twenty = tarn_heap_fixed(heap, 20, 4);
  const tarn_fixed wide = tarn_heap_fixed(heap, 96, 32);
  ASSERT_NE(twenty.record, nullptr);
  ASSERT_NE(wide.record, nullptr);
  std::vector<void*> blocks;
  for (int i = 0; i < 300; ++i) {
    void* const p = tarn_fixed_allocate(twenty);
    void* const q = tarn_fixed_allocate(wide);
    ASSERT_NE(p, nullptr);
    ASSERT_NE(q, nullptr);
    EXPECT_EQ(usable(p), 20u);
    EXPECT_EQ(misaligned(q, 32), 0u);
    fill(p, 20, 2);
    blocks.push_back(p);
    blocks.push_back(q);
  }
  expect_accounts(heap, 600, 300 * (20 + 96));
  for (void* const p : blocks) tarn_heap_deallocate(p);
  // The size of an object may be less than that of its blocks.
  tarn_free_sized(tarn_fixed_allocate(tarn_heap_fixed(heap, 17, 8)), 17);
  tarn_free_sized(tarn_fixed_allocate(tarn_heap_fixed(heap, 4, 4)), 4);
  expect_empty(heap);
}

TEST_P(Modes, ClearedAndDestroyed) {
  Heap heap(wanted());
  for (int round = 0; round < 3; ++round) {
    std::vector<void*> blocks;
    for (const std::size_t size : sizes) blocks.push_back(tarn_heap_allocate(heap, size));
    for (std::size_t i = 0; i < blocks.size(); i += 3) tarn_free(blocks[i]);
    EXPECT_EQ(tarn_heap_clear(heap), 0);
    expect_accounts(heap, 0, 0);
    EXPECT_EQ(committed(heap), 0u);
    for (void* const p : blocks) EXPECT_EQ(tarn_heap_owns(heap, p), 0);
  }
  EXPECT_NE(tarn_heap_allocate(heap, 1), nullptr);
  heap.destroy();
}

// The record is used again by a fast heap, and the other way round.
TEST_P(Modes, AfterOneOfAnotherMode) {
  for (int round = 0; round < 6; ++round) {
    const Heap heap(round % 2 == 0 ? wanted() : options(threads()));
    std::vector<void*> blocks;
    for (int i = 0; i < 200; ++i) blocks.push_back(tarn_heap_allocate(heap, 40));
    EXPECT_EQ(usable(blocks[0]) == 40, round % 2 == 0);
    for (void* const p : blocks) tarn_free(p);
    expect_empty(heap);
  }
}

TEST_P(Modes, BlocksOutliveADeletedHeap) {
  const Heap parent;
  tarn_heap_options below = wanted();
  below.parent = parent;
  const tarn_heap heap = tarn_heap_create(&below);
  std::vector<void*> blocks;
  for (const std::size_t size : sizes) {
    blocks.push_back(tarn_heap_allocate(heap, size));
    fill(blocks.back(), size, 8);
    tarn_free(tarn_heap_allocate(heap, size));
  }
  EXPECT_GT(committed(parent), 0u);
  EXPECT_EQ(tarn_heap_delete(heap), 0);
  EXPECT_EQ(committed(parent), 0u);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    void* p = blocks[i];
    EXPECT_TRUE(same(tarn_heap_of(p), tarn_heap_main()));
    EXPECT_EQ(usable(p), sizes[i]);
    EXPECT_TRUE(is_filled(p, sizes[i], 8));
    if (i % 2 == 0) p = tarn_realloc(p, sizes[i] + 100);
    ASSERT_NE(p, nullptr);
    EXPECT_TRUE(is_filled(p, sizes[i], 8));
    tarn_free(p);
  }
  EXPECT_EQ(committed(parent), 0u);
  const tarn_heap empty = tarn_heap_create(&below);
  EXPECT_EQ(tarn_heap_delete(empty), 0);
}

TEST_P(Modes, LockedWalkedAndVisited) {
  const Heap heap(wanted());
  for (int i = 0; i < 100; ++i) ASSERT_NE(tarn_heap_allocate(heap, 60), nullptr);
  EXPECT_EQ(tarn_heap_lock(heap), 0);
  EXPECT_EQ(tarn_heap_lock(heap), 0);
  void* const p = tarn_heap_allocate(heap, 30);
  tarn_free(p);
  EXPECT_EQ(tarn_heap_unlock(heap), 0);
  EXPECT_EQ(tarn_heap_unlock(heap), 0);
  // A visitor may free what it is shown, and allocate.
  struct Visitor {
    tarn_heap heap;
    int freed = 0;
  } visitor{heap};
  const auto visit = [](const tarn_heap_item* item, void* context) {
    auto& to = *static_cast<Visitor*>(context);
    if (item->kind == TARN_HEAP_PAGE) return 0;
    if (to.freed == 50) return 7;
    tarn_free(item->start);
    if (++to.freed % 10 == 0) tarn_free(tarn_heap_allocate(to.heap, 5000));
    return 0;
  };
  EXPECT_EQ(tarn_heap_walk(heap, 0, visit, &visitor), 7);
  expect_accounts(heap, 50, 50 * 60);
  const auto is_busy = [](const tarn_heap_item*, void* context) {
    const tarn_heap walked_heap = *static_cast<tarn_heap*>(context);
    return tarn_heap_clear(walked_heap) == -1 && errno == EBUSY ? 1 : 2;
  };
  tarn_heap value = heap;
  EXPECT_EQ(tarn_heap_walk(heap, 0, is_busy, &value), 1);
}

// Freeing all of many blocks while they are walked: nothing that the walk needs goes.
TEST_P(Modes, AVisitorFreesAll) {
  const Heap heap(wanted());
  for (int i = 0; i < 1000; ++i) {
    ASSERT_NE(tarn_heap_allocate(heap, static_cast<std::size_t>(i % 50) * 40), nullptr);
  }
  const auto visit = [](const tarn_heap_item* item, void*) {
    if (item->kind != TARN_HEAP_PAGE) tarn_free(item->start);
    return 0;
  };
  EXPECT_EQ(tarn_heap_walk(heap, 0, visit, nullptr), 0);
  expect_accounts(heap, 0, 0);
  tarn_heap_trim(heap, 0);
  EXPECT_EQ(committed(heap), 0u);
}

TEST_P(Modes, TrimGivesWhatIsKeptBack) {
  tarn_heap_options floored = wanted();
  const Heap heap(floored);
  for (int i = 0; i < 100; ++i) tarn_free(tarn_heap_allocate(heap, 200));
  if (mode() != TARN_MODE_PASSTHROUGH) {
    EXPECT_GT(committed(heap), 0u);
    EXPECT_GT(walked(heap).free, 0u);
    EXPECT_GT(tarn_heap_trim(heap, 0), 0u);
  }
  EXPECT_EQ(committed(heap), 0u);
  floored.floor_bytes = 64 * kib;
  const Heap other(floored);
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(tarn_heap_allocate(other, 200));
  for (void* const p : blocks) tarn_free(p);
  tarn_heap_trim(other, 0);
  if (mode() == TARN_MODE_CHECKED) {
    EXPECT_GE(committed(other), 64 * kib);
  }
}

TEST_P(Modes, ServesMalloc) {
  const Heap heap(wanted());
  const tarn_heap before = tarn_heap_set_default(heap);
  void* const p = tarn_malloc(100);
  void* const q = tarn_calloc(20, 100);
  void* const r = tarn_aligned_alloc(256, 300);
  void* s = tarn_realloc(tarn_malloc(5), 5000);
  void* const t = tarn_malloc(400'000);
  EXPECT_TRUE(same(tarn_heap_set_default(before), heap));
  for (void* const block : {p, q, r, s, t}) EXPECT_EQ(tarn_heap_owns(heap, block), 1);
  EXPECT_TRUE(is_zero(q, 2000));
  expect_accounts(heap, 5, 100 + 2000 + 300 + 5000 + 400'000);
  for (void* const block : {p, q, r, s, t}) tarn_free(block);
  expect_empty(heap);
}

TEST_P(Modes, InCxx) {
  tarn::HeapOptions made;
  made.name = "in C++";
  made.mode = static_cast<tarn::Mode>(mode());
  made.threads = static_cast<tarn::Threads>(threads());
  const tarn::Heap heap(made);
  struct Node {
    Node* next;
    int value;
  };
  const tarn::Fixed<Node> nodes(heap);
  Node* const node = nodes.create(Node{nullptr, 4});
  EXPECT_EQ(tarn_malloc_usable_size(node), sizeof(Node));
  EXPECT_TRUE(heap.owns(node));
  EXPECT_EQ(heap.stats().requested_bytes, sizeof(Node));
  EXPECT_EQ(heap.stats().requested_is_exact, 1);
  tarn::Fixed<Node>::destroy(node);
  EXPECT_EQ(heap.stats().live_blocks, 0u);
  EXPECT_THROW(static_cast<void>(heap.allocate(opaque(SIZE_MAX))), std::bad_alloc);
}

TEST_P(Modes, CeilingsHold) {
  tarn_heap_options outer = options();
  outer.ceiling_bytes = 300 * kib;
  const Heap parent(outer);
  tarn_heap_options limited = wanted();
  limited.parent = parent;
  limited.ceiling_bytes = 200 * kib;
  const Heap first(limited);
  limited.ceiling_bytes = 0;
  const Heap second(limited);
  std::vector<void*> blocks;
  for (const std::size_t size : {100u, 5000u, 150'000u}) {
    for (const tarn_heap heap : {first.handle(), second.handle()}) {
      for (;;) {
        errno = 0;
        void* const p = tarn_heap_allocate(heap, size);
        if (p == nullptr) {
          EXPECT_EQ(errno, ENOMEM);
          break;
        }
        blocks.push_back(p);
      }
      EXPECT_LE(stats_of(first).committed_bytes_peak, 200 * kib);
      EXPECT_LE(stats_of(parent).committed_bytes_peak, 300 * kib);
    }
    EXPECT_GT(blocks.size(), 0u);
    for (void* const p : blocks) tarn_free(p);
    blocks.clear();
    // What is kept back goes before a ceiling refuses, also that of a sister.
  }
  void* const p = tarn_heap_allocate(second, 100 * kib);
  EXPECT_NE(p, nullptr);
  tarn_free(p);
}

TEST_P(Modes, ReclaimIsAsked) {
  struct Cache {
    std::vector<void*> blocks;
    int asked = 0;
  } cache;
  tarn_heap_options limited = wanted();
  limited.ceiling_bytes = 128 * kib;
  limited.context = &cache;
  limited.reclaim = [](tarn_heap, std::size_t, void* context) -> std::size_t {
    auto& from = *static_cast<Cache*>(context);
    ++from.asked;
    if (from.blocks.empty()) return 0;
    for (void* const p : from.blocks) tarn_free(p);
    const std::size_t given = from.blocks.size() * 1000;
    from.blocks.clear();
    return given;
  };
  const Heap heap(limited);
  for (int i = 0; i < 400; ++i) {
    void* const p = tarn_heap_allocate(heap, 1000);
    ASSERT_NE(p, nullptr);
    cache.blocks.push_back(p);
  }
  EXPECT_GE(cache.asked, 2);
}

TEST_P(Modes, ManyTimesTheQuarantine) {
  const Heap heap(wanted());
  for (int i = 0; i < scaled(20'000); ++i) {
    const auto size = static_cast<std::size_t>(i % 700);
    void* const p = tarn_heap_allocate(heap, size);
    ASSERT_NE(p, nullptr);
    fill(p, size, 1);
    tarn_free(p);
  }
  expect_accounts(heap, 0, 0);
  EXPECT_LE(committed(heap), 17 * mib);
}

TEST(ModeOptions, ThatMakeNoSense) {
  for (const int mode : {-1, 4, 255, 256, INT32_MAX, INT32_MIN}) {
    const tarn_heap_options wanted = in_mode(mode);
    errno = 0;
    EXPECT_TRUE(is_none(tarn_heap_create(&wanted)));
    EXPECT_EQ(errno, EINVAL);
  }
  std::array<char, 4096> memory{};
  tarn_source source = TARN_SOURCE();
  for (const int mode : {TARN_MODE_GUARDED, TARN_MODE_PASSTHROUGH}) {
    tarn_heap_options wanted = in_mode(mode);
    wanted.region = memory.data();
    wanted.region_bytes = memory.size();
    errno = 0;
    EXPECT_TRUE(is_none(tarn_heap_create(&wanted)));
    EXPECT_EQ(errno, EINVAL);
    wanted = in_mode(mode);
    wanted.source = &source;
    EXPECT_TRUE(is_none(tarn_heap_create(&wanted)));
    wanted = in_mode(mode);
    wanted.flags = TARN_HEAP_SECRET;
    EXPECT_TRUE(is_none(tarn_heap_create(&wanted)));
  }
}

// More guarded blocks than the mappings that the process may have: where guards take mappings, the
// others are served, and checked, all the same.
TEST(Guarded, BeyondTheMappings) {
  const Heap heap(in_mode(TARN_MODE_GUARDED));
  std::vector<void*> blocks;
  for (int i = 0; i < 20'000; ++i) {
    void* const p = tarn_heap_allocate(heap, 20);
    ASSERT_NE(p, nullptr);
    ASSERT_EQ(usable(p), 20u);
    fill(p, 20, static_cast<unsigned>(i));
    blocks.push_back(p);
  }
  const tarn_heap_stats stats = stats_of(heap);
  EXPECT_EQ(stats.live_blocks, 20'000u);
  if (stats.large_blocks != 20'000) {  // The kernel's guards take mappings (life.guards).
    EXPECT_LE(stats.large_blocks, 16'384u);
    EXPECT_GT(stats.large_blocks, 16'000u);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    ASSERT_TRUE(is_filled(blocks[i], 20, static_cast<unsigned>(i)));
    tarn_free(blocks[i]);
  }
  expect_accounts(heap, 0, 0);
  // The budget is free again.
  void* const p = tarn_heap_allocate(heap, 20);
  EXPECT_EQ(stats_of(heap).large_blocks, 1u);
  tarn_free(p);
}

}  // namespace
}  // namespace heaps
