// What is found and what is not, block by block: kinds of blocks, of roots, of heaps; direct and
// indirect ones; what visitors may do; errors.
//
// SPDX-License-Identifier: MIT
#include <csignal>
#include <unistd.h>

#include "hidden.hpp"

namespace tarn {
namespace {

void* volatile root;                                          // Zeroed data,
void* volatile initialised_root = const_cast<void**>(&root);  // and the other kind.
thread_local void* volatile thread_root;

class UnreachableTest : public CleanStack {
 protected:
  void TearDown() override {
    root = nullptr;
    initialised_root = nullptr;
    thread_root = nullptr;
    destroy(heap);
  }

  static tarn_heap make(int mode = TARN_MODE_FAST, unsigned flags = 0) {
    tarn_heap_options options = TARN_HEAP_OPTIONS();
    options.name = "subject";
    options.mode = mode;
    options.flags = flags;
    return tarn_heap_create(&options);
  }

  tarn_heap heap = make();
};

void store(void* volatile& place, Hidden p, std::size_t offset = 0) {
  apart([&place, p, offset] {
    place = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(p.get()) + offset);
  });
}

void point(Hidden from, std::size_t at, Hidden to, std::size_t offset = 0) {
  apart(
      [=] { *reinterpret_cast<void* volatile*>(from.get<char>() + at) = to.get<char>() + offset; });
}

std::size_t usable(Hidden p) {
  return apart([=] { return tarn_malloc_usable_size(p.get()); });
}

TEST_F(UnreachableTest, ABlockThatNothingLeadsToIsFoundWithItsSize) {
  const Hidden p = lose(heap, 100);
  const SeenAll seen = search_in({heap});
  ASSERT_EQ(seen.error, 0);
  ASSERT_EQ(seen.blocks.size(), 1u);
  EXPECT_TRUE(seen.has(p));
  EXPECT_EQ(seen.blocks[0].bytes, 112u);
  EXPECT_EQ(seen.blocks[0].heap, heap.id);
  EXPECT_TRUE(seen.blocks[0].is_direct);
  EXPECT_EQ(seen.result.blocks, 1u);
  EXPECT_EQ(seen.result.block_bytes, 112u);
  EXPECT_EQ(seen.result.direct_bytes, 112u);
  EXPECT_GE(seen.result.live_blocks, 1u);
  EXPECT_NE(seen.result.root_bytes, 0u);
  give(p);
  EXPECT_EQ(search_in({heap}).blocks.size(), 0u);
}

TEST_F(UnreachableTest, RootsOfAllKindsAreSeen) {
  const Hidden p = lose(heap, 64);
  ASSERT_TRUE(search_in({heap}).has(p));
  store(root, p);
  EXPECT_FALSE(search_in({heap}).has(p)) << "zeroed data";
  root = nullptr;
  store(initialised_root, p);
  EXPECT_FALSE(search_in({heap}).has(p)) << "data";
  initialised_root = nullptr;
  store(thread_root, p);
  EXPECT_FALSE(search_in({heap}).has(p)) << "thread-local data";
  thread_root = nullptr;
  {
    void* volatile local = nullptr;
    store(local, p);
    EXPECT_FALSE(search_in({heap}).has(p)) << "stack";
    local = nullptr;
  }
  EXPECT_TRUE(search_in({heap}).has(p));
}

TEST_F(UnreachableTest, EachByteOfABlockLeadsToItAndTheNextOneDoesNot) {
  for (const std::size_t bytes : {16u, 48u, 1000u, 5000u, 200'000u}) {
    const Hidden p = lose(heap, bytes);
    for (const std::size_t at : {std::size_t{0}, std::size_t{1}, bytes / 2, bytes - 1}) {
      store(root, p, at);
      EXPECT_FALSE(search_in({heap}).has(p)) << bytes << " at " << at;
    }
    store(root, p, usable(p));
    // 16 zeros may be an empty node of a tree, which is known by its end.
    EXPECT_EQ(search_in({heap}).has(p), bytes != 16) << bytes;
    store(root, p, SIZE_MAX);
    EXPECT_TRUE(search_in({heap}).has(p)) << bytes;
    root = nullptr;
  }
}

TEST_F(UnreachableTest, MemoryOfMmapIsARootUnlessTheSearchIsStrict) {
  const Hidden p = lose(heap, 64);
  Pages pages(1 << 20);
  store(pages.get<void* volatile>()[5000], p);
  if (!under_tsan()) {
    EXPECT_FALSE(search_in({heap}).has(p));
  }
  EXPECT_TRUE(search_in({heap}, UnreachableSearch().strict()).has(p));
  {
    Root registered(pages.get(), pages.bytes());
    ASSERT_TRUE(registered);
    EXPECT_FALSE(search_in({heap}, UnreachableSearch().strict()).has(p));
  }
  EXPECT_TRUE(search_in({heap}, UnreachableSearch().strict()).has(p));
}

TEST_F(UnreachableTest, PagesWithoutContentsAreLeftAlone) {
  Pages pages(256 << 20);
  pages.get<char>()[100 << 20] = 1;
  ASSERT_EQ(search_in({heap}).error, 0);
  std::vector<unsigned char> there(pages.bytes() / 4096);
  ASSERT_EQ(mincore(pages.get(), pages.bytes(), there.data()), 0);
  EXPECT_LE(std::count_if(there.begin(), there.end(), [](unsigned char c) { return c & 1; }), 512);
}

TEST_F(UnreachableTest, MemoryThatMayNotBeReadIsNotRead) {
  Pages pages(64 << 10);
  mprotect(pages.get<char>() + (16 << 10), 16 << 10, PROT_NONE);
  auto* const block = static_cast<char*>(tarn_heap_allocate_aligned(heap, 4096, 64 << 10));
  ASSERT_NE(block, nullptr);
  std::memset(block, 0, 64 << 10);
  root = block;
  const Hidden p = lose(heap, 64);
  point(Hidden(block), 48 << 10, p);
  ASSERT_EQ(mprotect(block + (16 << 10), 4096, PROT_NONE), 0);
  EXPECT_EQ(search_in({heap}).blocks.size(), 0u);
  mprotect(block + (16 << 10), 4096, PROT_READ | PROT_WRITE);
}

// Of the program's, or of a thread's stack. To the kernel's table of pages they look like swapped.
TEST_F(UnreachableTest, GuardMarkersAreNotRead) {
  constexpr int guard_install = 102;
  Pages pages(64 << 10);
  std::memset(pages.get(), 1, pages.bytes());
  if (madvise(pages.get<char>() + (16 << 10), 16 << 10, guard_install) != 0) {
    GTEST_SKIP() << "this kernel has no guard markers";
  }
  const Hidden p = lose(heap, 64);
  store(pages.get<void* volatile>()[6000], p);
  EXPECT_FALSE(search_in({heap}).has(p));
  store(pages.get<void* volatile>()[6000], Hidden(nullptr));
  EXPECT_TRUE(search_in({heap}).has(p));
}

TEST_F(UnreachableTest, DirectAndIndirectOnes) {
  const Hidden a = lose(heap, 32), b = lose(heap, 48), c = lose(heap, 64), d = lose(heap, 80);
  point(a, 8, b);
  point(b, 16, c, 33);
  point(c, 0, b);
  point(d, 8, d);  // Itself alone.
  const SeenAll seen = search_in({heap});
  ASSERT_EQ(seen.blocks.size(), 4u);
  EXPECT_TRUE(seen.find(a)->is_direct);
  EXPECT_FALSE(seen.find(b)->is_direct);
  EXPECT_FALSE(seen.find(c)->is_direct);
  EXPECT_TRUE(seen.find(d)->is_direct);
  EXPECT_EQ(seen.result.direct_blocks, 2u);
}

TEST_F(UnreachableTest, OfARingOneIsDirect) {
  std::vector<Hidden> ring;
  for (int i = 0; i < 100; ++i) ring.push_back(lose(heap, 32));
  const Hidden below = lose(heap, 160);
  for (std::size_t i = 0; i < ring.size(); ++i) point(ring[i], 8, ring[(i + 1) % ring.size()]);
  point(ring[50], 24, below);
  const SeenAll seen = search_in({heap});
  EXPECT_EQ(seen.blocks.size(), 101u);
  EXPECT_EQ(seen.result.direct_blocks, 1u);
  EXPECT_FALSE(seen.find(below)->is_direct);
}

TEST_F(UnreachableTest, HeapsThatAreNotAskedForLeadOn) {
  const tarn_heap other = make();
  const Hidden between = lose(other, 64);
  const Hidden p = lose(heap, 64);
  point(between, 32, p);
  store(root, between);
  EXPECT_EQ(search_in({heap}).blocks.size(), 0u);
  root = nullptr;
  const SeenAll seen = search_in({heap});
  ASSERT_EQ(seen.blocks.size(), 1u);
  EXPECT_FALSE(seen.find(p)->is_direct);
  EXPECT_EQ(search_in({heap, other}).blocks.size(), 2u);
  EXPECT_EQ(search_in({other}).blocks.size(), 1u);
  destroy(other);
}

TEST_F(UnreachableTest, AllHeapsMallocsToo) {
  const Hidden p = lose(tarn_heap_main(), 1234);
  const Hidden q = lose(heap, 64);
  const SeenAll all = search();
  EXPECT_TRUE(all.has(p));
  EXPECT_TRUE(all.has(q));
  EXPECT_TRUE(search_in({tarn_heap_main()}).has(p));
  EXPECT_FALSE(search_in({tarn_heap_main()}).has(q));
  give(p);
}

TEST_F(UnreachableTest, ModesTellWhereABlockWasAllocated) {
  for (const int mode : {TARN_MODE_CHECKED, TARN_MODE_GUARDED}) {
    const tarn_heap subject = make(mode);
    const Hidden p = lose(subject, 37), q = lose(subject, 300'000), kept = lose(subject, 64);
    store(root, kept, 63);
    const Hidden gone = lose(subject, 64);
    point(gone, 8, p);  // Kept back: leads nowhere.
    give(gone);
    const SeenAll seen = search_in({subject});
    EXPECT_EQ(seen.blocks.size(), 2u) << mode;
    ASSERT_TRUE(seen.has(p) && seen.has(q)) << mode;
    EXPECT_EQ(seen.find(p)->bytes, 37u);
    EXPECT_EQ(seen.find(q)->bytes, 300'000u);
    EXPECT_NE(seen.find(p)->site, nullptr);
    root = nullptr;
    destroy(subject);
  }
}

TEST_F(UnreachableTest, FreeBlocksAreNotFound) {
  std::vector<Hidden> blocks;
  for (std::size_t i = 0; i < 5000; ++i) blocks.push_back(lose(heap, 16 + i % 700));
  EXPECT_EQ(search_in({heap}).blocks.size(), blocks.size());
  for (std::size_t i = 0; i < blocks.size(); i += 2) give(blocks[i]);
  const SeenAll seen = search_in({heap});
  EXPECT_EQ(seen.blocks.size(), blocks.size() / 2);
}

TEST_F(UnreachableTest, VisitorsMayAllocateFreeAndSearch) {
  for (int i = 0; i < 100; ++i) lose(heap, 64);
  std::size_t shown = 0, found_inside = 0;
  scrub();
  const Unreachable found = find_unreachable({heap}, [&](const UnreachableBlock& b) {
    ++shown;
    tarn_free(tarn_malloc(100));
    if (shown == 50) found_inside = find_unreachable({heap})->blocks;
    tarn_free(b.start);
  });
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(shown, 100u);
  EXPECT_GE(found_inside, 49u);
  EXPECT_LE(found_inside, 51u);
  EXPECT_EQ(search_in({heap}).blocks.size(), 0u);
}

TEST_F(UnreachableTest, AVisitorEndsTheVisits) {
  for (int i = 0; i < 10; ++i) lose(heap, 64);
  int shown = 0;
  const tarn_unreachable_visit visit = [](const tarn_unreachable_block*, void* context) {
    return ++*static_cast<int*>(context) == 3 ? 7 : 0;
  };
  tarn_unreachable_options options = TARN_UNREACHABLE_OPTIONS();
  options.heaps = &heap;
  options.heap_count = 1;
  scrub();
  EXPECT_EQ(tarn_find_unreachable(&options, visit, &shown, nullptr), 7);
  EXPECT_EQ(shown, 3);
  EXPECT_THROW(find_unreachable({heap}, [](const UnreachableBlock&) { throw 1; }), int);
}

TEST_F(UnreachableTest, OptionsThatMakeNoSense) {
  const auto refused = [](tarn_unreachable_options options, int error) {
    EXPECT_EQ(tarn_find_unreachable(&options, nullptr, nullptr, nullptr), -1);
    EXPECT_EQ(errno, error);
    EXPECT_EQ(tarn_print_unreachable(2, &options, nullptr), -1);
    EXPECT_EQ(errno, error);
  };
  tarn_unreachable_options sound = TARN_UNREACHABLE_OPTIONS();
  tarn_unreachable_options options = sound;
  options.bytes = 8;
  refused(options, EINVAL);
  options = sound;
  options.flags = 1u << 20;
  refused(options, EINVAL);
  options = sound;
  options.heap_count = 1;
  refused(options, EINVAL);
  for (const int signal : {-1, 32, 33, 65, SIGKILL, SIGSTOP}) {
    options = sound;
    options.signal = signal;
    refused(options, EINVAL);
  }
  const tarn_heap none{};
  options = sound;
  options.heaps = &none;
  options.heap_count = 1;
  refused(options, EINVAL);
  const tarn_heap passed = make(TARN_MODE_PASSTHROUGH);
  options.heaps = &passed;
  refused(options, ENOTSUP);
  destroy(passed);
  tarn_unreachable_result result{};
  EXPECT_EQ(tarn_find_unreachable(nullptr, nullptr, nullptr, &result), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(tarn_find_unreachable(nullptr, nullptr, nullptr, nullptr), 0);
}

TEST_F(UnreachableTest, RootsThatMakeNoSense) {
  int object = 0;
  EXPECT_EQ(tarn_add_root(nullptr, 8), -1);
  EXPECT_EQ(tarn_add_root(&object, 0), -1);
  EXPECT_EQ(tarn_add_root(&object, SIZE_MAX), -1);
  EXPECT_EQ(tarn_remove_root(&object), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(tarn_add_root(&object, 4), 0);
  EXPECT_EQ(tarn_add_root(&object, 4), 0);
  EXPECT_EQ(tarn_remove_root(&object), 0);
  EXPECT_EQ(tarn_remove_root(&object), 0);
  EXPECT_EQ(tarn_remove_root(&object), -1);
  EXPECT_EQ(tarn_remove_root(nullptr), -1);
}

TEST(UnreachableDeathTest, AHeapThatHasEnded) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      {
        const tarn_heap heap = tarn_heap_create(nullptr);
        destroy(heap);
        find_unreachable({heap});
      },
      "use after destroy.*tarn_find_unreachable");
}

}  // namespace
}  // namespace tarn
