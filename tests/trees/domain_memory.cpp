// domain memory: what arenas and heaps of trees hold, touch and refuse, and their C++ faces.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tarn/source/buffer_source.hpp"
#include "tarn/tree/tree.hpp"

namespace {

std::string order;

void* add(void* parent, const char* text) { return tarn_tree_string(parent, text); }

bool is_fast(const void* node) { return tarn_tree_arena(node)->state % 4 == TARN_MODE_FAST; }

TEST(DomainsOfTwoKinds, NodesGoBothWays) {
  void* const a = tarn_tree_allocate_with_arena(nullptr, 0, nullptr);
  void* const h = tarn_tree_allocate_with_heap(a, 0, nullptr);
  void* const in_a = tarn_tree_string(a, "arena's");
  void* const in_h = tarn_tree_string(h, "heap's");
  EXPECT_EQ(tarn_tree_steal(in_h, in_a), 0);
  EXPECT_EQ(tarn_tree_steal(a, in_h), 0);
  EXPECT_EQ(tarn_tree_check(a), 1);
  EXPECT_EQ(tarn_tree_dispose(h), 0);
  EXPECT_STREQ(static_cast<char*>(in_h), "heap's");
  EXPECT_EQ(tarn_tree_check(a), 1);
  EXPECT_EQ(tarn_tree_dispose(a), 0);
}

TEST(ArenasOfTrees, NewestMemoryIsUsedAgain) {
  void* const root = tarn_tree_allocate_with_arena(nullptr, 0, nullptr);
  void* const first = tarn_tree_allocate(root, 40);
  EXPECT_EQ(tarn_tree_dispose(first), 0);
  tarn_arena_stats stats = TARN_ARENA_STATS();
  for (int i = 0; i < 10000; ++i) {
    void* const node = tarn_tree_allocate(root, 40);
    add(node, "something");
    EXPECT_EQ(tarn_tree_dispose(node), 0);
  }
  EXPECT_EQ(tarn_arena_get_stats(tarn_tree_arena(root), &stats), 0);
  EXPECT_LT(stats.held_bytes, 100000U);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
}

TEST(ArenasOfTrees, CompactNodesHave24BytesInFront) {
  tarn_arena_options options = TARN_ARENA_OPTIONS();
  void* const root = tarn_tree_allocate_with_arena(nullptr, 0, &options);
  void* const before = tarn_tree_allocate(root, 24);
  void* const node = tarn_tree_allocate(root, 24);
  const auto apart = static_cast<char*>(node) - static_cast<char*>(before);
  if (is_fast(root)) {
    EXPECT_EQ(apart, 48);
  }
  EXPECT_GE(apart, 48);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
}

TEST(ArenasOfTrees, CheckedGuardedAndPassedOn) {
  for (const int mode : {TARN_MODE_CHECKED, TARN_MODE_GUARDED, TARN_MODE_PASSTHROUGH}) {
    tarn_arena_options options = TARN_ARENA_OPTIONS();
    options.mode = mode;
    void* const root = tarn_tree_allocate_with_arena(nullptr, 0, &options);
    if (root == nullptr && errno == ENOTSUP) continue;
    ASSERT_NE(root, nullptr) << mode;
    std::vector<void*> nodes = {root};
    for (std::size_t i = 0; i < 200; ++i) {
      void* const node = tarn_tree_allocate(nodes[i * 31 % nodes.size()], i * 3);
      ASSERT_NE(node, nullptr);
      std::memset(node, 0xee, tarn_tree_size(node));
      nodes.push_back(node);
    }
    EXPECT_NE(nodes[5] = tarn_tree_reallocate(nodes[5], 5000), nullptr);
    EXPECT_EQ(tarn_tree_check(root), 1);
    EXPECT_EQ(tarn_tree_dispose(nodes[7]), 0);
    EXPECT_EQ(tarn_tree_dispose(root), 0);
  }
}

// Chunks of which all but the first page, which has the arena's own words, can be closed.
struct Chunks {
  std::vector<tarn_chunk> all;
  void close(bool closed) const {
    for (const tarn_chunk& c : all) {
      char* const from = static_cast<char*>(c.data) + 4096;
      ASSERT_EQ(mprotect(from, c.bytes - 4096, closed ? PROT_NONE : PROT_READ | PROT_WRITE), 0);
    }
  }
};

TEST(ArenasOfTrees, DisposalTouchesNoPageOfNodes) {
  Chunks chunks;
  tarn_source source = TARN_SOURCE();
  source.context = &chunks;
  source.acquire = [](void* context, std::size_t bytes, std::size_t) -> tarn_chunk {
    const std::size_t whole = (bytes + 4095) / 4096 * 4096;
    void* const p =
        mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static_cast<Chunks*>(context)->all.push_back({p, whole});
    return {p, whole};
  };
  source.release = [](void*, tarn_chunk chunk) { munmap(chunk.data, chunk.bytes); };
  tarn_arena_options options = TARN_ARENA_OPTIONS();
  options.source = &source;
  options.chunk_bytes = 65536;
  void* const root = tarn_tree_allocate_with_arena(nullptr, 0, &options);
  if (!is_fast(root)) {  // Under a tool that looks at blocks.
    EXPECT_EQ(tarn_tree_dispose(root), 0);
    GTEST_SKIP();
  }
  void* parent = root;
  for (int i = 0; i < 20000; ++i) parent = tarn_tree_allocate(i % 3 == 0 ? root : parent, 50);
  ASSERT_GT(chunks.all.size(), 3U);
  chunks.close(true);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
}

TEST(HeapsOfTrees, DisposalTouchesNoPageOfNodes) {
  void* const root = tarn_tree_allocate_with_heap(nullptr, 0, nullptr);
  void* parent = root;
  for (int i = 0; i < 20000; ++i) parent = tarn_tree_allocate(i % 3 == 0 ? root : parent, 50);
  static std::vector<tarn_chunk> pages;
  pages.clear();
  tarn_heap_walk(
      tarn_tree_heap(root), 0,
      [](const tarn_heap_item* item, void*) {
        if (item->kind == TARN_HEAP_PAGE) pages.push_back({item->start, item->bytes});
        return 0;
      },
      nullptr);
  ASSERT_GT(pages.size(), 3U);
  for (const tarn_chunk& p : pages) ASSERT_EQ(mprotect(p.data, p.bytes, PROT_NONE), 0);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
  for (const tarn_chunk& p : pages) mprotect(p.data, p.bytes, PROT_READ | PROT_WRITE);
}

TEST(HeapsOfTrees, FrozenOnesCanBeDisposedOf) {
  void* const root = tarn_tree_allocate_with_heap(nullptr, 0, nullptr);
  void* const node = tarn_tree_string(root, "constant");
  ASSERT_EQ(tarn_heap_freeze(tarn_tree_heap(root)), 0);
  EXPECT_STREQ(static_cast<char*>(node), "constant");
  EXPECT_EQ(tarn_tree_allocate(root, 10), nullptr);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
}

TEST(HeapsOfTrees, CeilingsHold) {
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.name = "a document";
  options.ceiling_bytes = 1 << 20;
  void* const root = tarn_tree_allocate_with_heap(nullptr, 0, &options);
  EXPECT_STREQ(tarn_heap_name(tarn_tree_heap(root)), "a document");
  std::size_t nodes = 0;
  while (tarn_tree_allocate(root, 1000) != nullptr) ++nodes;
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_GT(nodes, 500U);
  EXPECT_LT(nodes, 1100U);
  EXPECT_EQ(tarn_tree_check(root), 1);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
}

TEST(HeapsOfTrees, OptionsThatMakeNoSense) {
  tarn_heap_options options{};
  EXPECT_EQ(tarn_tree_allocate_with_heap(nullptr, 0, &options), nullptr);
  EXPECT_EQ(errno, EINVAL);
  tarn_arena_options arena{};
  EXPECT_EQ(tarn_tree_allocate_with_arena(nullptr, 0, &arena), nullptr);
  EXPECT_EQ(errno, EINVAL);
  void* const root = tarn_tree_allocate(nullptr, 8);
  EXPECT_EQ(tarn_tree_give_heap(root, &options), -1);
  EXPECT_EQ(tarn_tree_heap(root).record, nullptr);
  EXPECT_EQ(tarn_tree_arena(root), nullptr);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
  volatile std::size_t hidden = SIZE_MAX;  // Compilers warn of what they see.
  EXPECT_EQ(tarn_tree_allocate_with_arena(nullptr, hidden, nullptr), nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

struct Page {
  explicit Page(int n) : number(n) { title = tarn::tree::format(this, "page %d", n); }
  ~Page() { order += "page " + std::to_string(number); }
  int number;
  char* title;
};

TEST(DomainsInCpp, TreesOfTheirOwn) {
  order.clear();
  {
    tarn::Tree document = tarn::Tree::with_arena();
    auto* const page = document.create<Page>(7);
    EXPECT_NE(tarn_tree_arena(page), nullptr);
    EXPECT_EQ(tarn_arena_owns(tarn_tree_arena(page), page->title), 1);
    EXPECT_TRUE(document.clear());
    EXPECT_EQ(document.create<Page>(8)->number, 8);
  }
  {
    tarn::HeapOptions options;
    options.name = "pages";
    tarn::Tree document = tarn::Tree::with_heap(options);
    (void)document.create<Page>(9);
    EXPECT_STREQ(tarn_heap_name(tarn_tree_heap(document.root())), "pages");
  }
  EXPECT_EQ(order, "page 7page 8page 9");
}

TEST(DomainsInCpp, ObjectsWithMemoryOfTheirOwn) {
  order.clear();
  tarn::Tree shelf;
  auto* const book = tarn::tree::create_with_arena<Page>(shelf.root(), {}, 1);
  EXPECT_EQ(tarn_arena_owns(tarn_tree_arena(book), book->title), 1);
  auto* const other = tarn::tree::create_with_heap<Page>(shelf.root(), {}, 2);
  EXPECT_EQ(tarn_heap_owns(tarn_tree_heap(other), other->title - 16), 1);
  EXPECT_TRUE(tarn::tree::give_arena(shelf.root()));
  EXPECT_FALSE(tarn::tree::give_heap(shelf.root()));
  tarn::ArenaOptions wrong;
  wrong.chunk_bytes = 4096;
  wrong.chunk_bytes_max = 64;
  EXPECT_THROW((void)tarn::Tree::with_arena(wrong), tarn::InvalidOptions);
  EXPECT_THROW((void)tarn::tree::create_with_arena<Page>(shelf.root(), wrong, 3),
               tarn::InvalidOptions);
  EXPECT_TRUE(tarn::tree::dispose(book));
  EXPECT_TRUE(shelf.dispose());
}

TEST(DomainsInCpp, InABufferOfOnesOwn) {
  alignas(16) static unsigned char buffer[64 * 1024];
  tarn::BufferSource source(buffer, sizeof buffer);
  tarn::ArenaOptions options;
  options.chunk_bytes = 4096;
  tarn::Tree tree = tarn::Tree::with_arena(source, options);
  auto* const number = tree.create<int>(5);
  EXPECT_GE(reinterpret_cast<unsigned char*>(number), buffer);
  EXPECT_LT(reinterpret_cast<unsigned char*>(number), buffer + sizeof buffer);
  std::size_t nodes = 0;
  while (tree.try_create<long>(1) != nullptr) ++nodes;
  EXPECT_GT(nodes, 200U);
  EXPECT_TRUE(tree.dispose());
}

}  // namespace
