// ObjectPool: constructors, destructors, and what is left at the end.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <memory>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "conformance.hpp"
#include "sources.hpp"
#include "tarn/pool/pool.hpp"

namespace pools {
namespace {

using tarn::ObjectPool;

struct Counted {
  explicit Counted(int number, bool fails = false) : value(number) {
    if (fails) throw std::runtime_error("no");
    ++alive;
  }
  ~Counted() { --alive; }
  int value;
  std::string text = "a string that is too long to be kept in place";
  static inline int alive = 0;
};

TEST(ObjectPool, DestroysWhatIsLeft) {
  {
    CountingSource source;
    ObjectPool<Counted> pool(source);
    std::vector<Counted*> objects;
    for (int i = 0; i < 1000; ++i) objects.push_back(pool.create(i));
    EXPECT_EQ(objects[77]->value, 77);
    for (std::size_t i = 0; i < 1000; i += 3) pool.destroy(objects[i]);
    pool.destroy(nullptr);
    EXPECT_EQ(Counted::alive, 666);
    int sum = 0;
    EXPECT_TRUE(pool.for_each([&](const Counted& object) { sum += object.value; }));
    EXPECT_EQ(sum, 999 * 1000 / 2 - 333 * 334 / 2 * 3);
  }
  EXPECT_EQ(Counted::alive, 0);
}

TEST(ObjectPool, AThrowingConstructorLosesNothing) {
  CountingSource source;
  ObjectPool<Counted> pool(source);
  EXPECT_THROW(static_cast<void>(pool.create(1, true)), std::runtime_error);
  EXPECT_THROW(static_cast<void>(pool.try_create(1, true)), std::runtime_error);
  EXPECT_EQ(pool.pool().stats().live_blocks, 0u);
  EXPECT_EQ(Counted::alive, 0);
}

TEST(ObjectPool, OutOfMemory) {
  CountingSource source;
  source.allowed = 0;
  ObjectPool<Counted> pool(source);
  EXPECT_THROW(static_cast<void>(pool.create(1)), std::bad_alloc);
  EXPECT_EQ(pool.try_create(1), nullptr);
}

// An object that owns others of the same pool.
struct Node {
  explicit Node(ObjectPool<Node>& pool) : home(&pool) { ++alive; }
  ~Node() {
    --alive;
    home->destroy(child);
  }
  ObjectPool<Node>* home;
  Node* child = nullptr;
  static inline int alive = 0;
};

TEST(ObjectPool, DestructorsMayDestroyOthers) {
  CountingSource source;
  {
    tarn::PoolOptions options;
    options.chunk_blocks = 50;
    ObjectPool<Node> pool(source, options);
    std::vector<Node*> nodes;
    for (int i = 0; i < 1000; ++i) nodes.push_back(pool.create(pool));
    std::shuffle(nodes.begin(), nodes.end(), std::mt19937(9));
    for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
      if (i % 10 != 9) nodes[i]->child = nodes[i + 1];  // Chains of ten.
    }
    // A child that is destroyed first must be forgotten by its parent: only the heads are roots.
    pool.destroy(nodes[0]);
    EXPECT_EQ(Node::alive, 990);
    for (std::size_t i = 10; i < nodes.size(); ++i) nodes[i]->child = nullptr;
    pool.destroy_all();
    EXPECT_EQ(Node::alive, 0);
    EXPECT_TRUE(pool.pool().check());
    EXPECT_NE(pool.create(pool), nullptr);
  }
  EXPECT_EQ(Node::alive, 0);
  EXPECT_EQ(source.chunks.size(), 0u);
}

// Trees, whose roots come before or after what they own.
TEST(ObjectPool, OwnersMayComeAfterWhatTheyOwn) {
  for (const auto mode : {tarn::Mode::fast, tarn::Mode::checked, tarn::Mode::guarded}) {
    tarn::PoolOptions options;
    options.mode = mode;
    ObjectPool<Node> pool(options);
    std::vector<Node*> nodes;
    for (int i = 0; i < 300; ++i) nodes.push_back(pool.create(pool));
    std::shuffle(nodes.begin(), nodes.end(), std::mt19937(7));
    for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
      if (i % 10 != 9) nodes[i]->child = nodes[i + 1];
    }
    if (mode == tarn::Mode::checked) pool.for_each([&](Node& node) { pool.destroy(&node); });
    pool.destroy_all();
    EXPECT_EQ(Node::alive, 0);
    EXPECT_EQ(pool.pool().stats().live_blocks, 0u);
    EXPECT_TRUE(pool.pool().check());
  }
}

TEST(ObjectPool, AlignsItsObjects) {
  struct alignas(256) Wide {
    char bytes[256];
  };
  ObjectPool<Wide> pool;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(tarn::is_aligned(pool.create(), 256));
  struct Small {
    char c;
  };
  ObjectPool<Small> small;
  EXPECT_NE(small.create(), small.create());
}

TEST(ObjectPool, Moves) {
  ObjectPool<Counted> pool;
  Counted* const object = pool.create(5);
  ObjectPool<Counted> other(std::move(pool));
  EXPECT_EQ(object->value, 5);
  ObjectPool<Counted> third;
  static_cast<void>(third.create(1));
  static_cast<void>(third.create(2));
  third = std::move(other);
  EXPECT_EQ(Counted::alive, 1);
  third.destroy(object);
  EXPECT_EQ(Counted::alive, 0);
}

template <tarn::Mode mode>
struct OfPool {
  static tarn::PoolOptions options() {
    tarn::PoolOptions options;
    options.alignment = 64;
    options.chunk_blocks = 100;
    options.mode = mode;
    return options;
  }
  static constexpr std::size_t bytes_max = 200;
  static constexpr std::size_t alignment_max = 64;
  static constexpr std::size_t blocks = 700;
  static constexpr bool frees = true;
  tarn::Pool allocator{200, options()};
};

using Pools = testing::Types<OfPool<tarn::Mode::fast>, OfPool<tarn::Mode::checked>,
                             OfPool<tarn::Mode::guarded>, OfPool<tarn::Mode::passthrough>>;

}  // namespace
}  // namespace pools

namespace conformance {
INSTANTIATE_TYPED_TEST_SUITE_P(Pool, BlockAllocators, pools::Pools);
}
