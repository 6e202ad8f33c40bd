// owners: smart pointers to what lies in heaps, arenas and pools.
//
// SPDX-License-Identifier: MIT
#include "tarn/standard/owners.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <type_traits>

#include "tarn/arena/arena.hpp"
#include "tarn/pool/pool.hpp"
#include "tarn/source/adaptors.hpp"

namespace standard {
namespace {

using tarn::allocate_shared;
using tarn::allocate_unique;
using tarn::Deleter;
using tarn::Heap;
using tarn::HeapRef;
using tarn::Unique;

struct Shape {
  static inline int live = 0;
  Shape() { ++live; }
  Shape(const Shape&) = delete;
  virtual ~Shape() { --live; }
  virtual double area() const = 0;
};
struct Name {
  virtual ~Name() = default;
  std::string name = "a name that is too long to lie in the string itself";
};
struct Circle : Name, Shape {
  explicit Circle(double r) : radius(r) {
    if (r < 0) throw std::invalid_argument("a radius is not negative");
  }
  double area() const override { return 3 * radius * radius; }
  double radius;
};

static_assert(sizeof(Unique<int>) == sizeof(void*));
static_assert(std::is_convertible_v<Unique<Circle>, Unique<Shape>>);
static_assert(std::is_convertible_v<Unique<Circle>, Unique<const Circle>>);
static_assert(std::is_convertible_v<Unique<int[]>, Unique<const int[]>>);
static_assert(std::is_convertible_v<Unique<int[], tarn::Pool>, Unique<const int[], tarn::Pool>>);
static_assert(!std::is_convertible_v<Unique<const int[]>, Unique<int[]>>);
static_assert(!std::is_convertible_v<Unique<Circle[]>, Unique<Name[]>>, "of another size");
static_assert(!std::is_convertible_v<Unique<Shape>, Unique<Circle>>);
struct Plain {};
struct MorePlain : Plain {};
static_assert(!std::is_convertible_v<Unique<MorePlain>, Unique<Plain>>,
              "the base's destructor would be the wrong one");

// Neither is made in a heap that would end with the statement.
template <class T, class From>
concept UniqueIn = requires(From&& from) {
  allocate_unique<T>(std::forward<From>(from), 1u);
};
static_assert(UniqueIn<int, Heap&> && UniqueIn<int, HeapRef> && !UniqueIn<int, Heap>);
static_assert(UniqueIn<int[], Heap&> && UniqueIn<int[], HeapRef> && !UniqueIn<int[], Heap>);

struct Third {
  Third() {
    if (++count == 3) throw std::runtime_error("the third");
    ++live;
  }
  ~Third() { --live; }
  static inline int count = 0;
  static inline int live = 0;
};

TEST(Owners, UniqueInAHeap) {
  Heap heap("unique");
  {
    auto circle = allocate_unique<Circle>(heap, 2.0);
    EXPECT_TRUE(heap.owns(circle.get()));
    // The base that does not begin where the block does.
    Unique<Shape> shape = std::move(circle);
    EXPECT_EQ(shape->area(), 12.0);
    EXPECT_FALSE(heap.owns(shape.get()));
    EXPECT_EQ(heap.stats().live_blocks, 1u);
    const Unique<const int> number = allocate_unique<int>(heap, 7);
    EXPECT_EQ(*number, 7);
  }
  EXPECT_EQ(heap.stats().live_blocks, 0u);
  EXPECT_EQ(Shape::live, 0);
}

TEST(Owners, ConstObjects) {
  Heap heap("const");
  tarn::Pool pool(sizeof(Circle));
  {
    const Unique<const Shape> shape = allocate_unique<Circle>(heap, 2.0);
    EXPECT_EQ(shape->area(), 12.0);
    const auto circle = allocate_unique<const Circle>(pool, 1.0);
    EXPECT_EQ(circle->area(), 3.0);
  }
  EXPECT_EQ(heap.stats().live_blocks, 0u);
  EXPECT_EQ(pool.stats().live_blocks, 0u);
  EXPECT_EQ(Shape::live, 0);
}

TEST(Owners, ThrowingConstructorsLeakNothing) {
  Heap heap("throwing");
  EXPECT_THROW((void)allocate_unique<Circle>(heap, -1.0), std::invalid_argument);
  EXPECT_THROW((void)allocate_shared<Circle>(heap, -1.0), std::invalid_argument);
  EXPECT_THROW((void)allocate_unique<Third[]>(heap, 10), std::runtime_error);
  Third::count = -3;  // In the third row.
  EXPECT_THROW((void)allocate_unique<Third[][2]>(heap, 10), std::runtime_error);
  EXPECT_EQ(Third::live, 0);
  EXPECT_EQ(heap.stats().live_blocks, 0u);
  EXPECT_EQ(Shape::live, 0);
}

TEST(Owners, Arrays) {
  Heap heap("arrays");
  {
    auto names = allocate_unique<std::string[]>(heap, 20);
    EXPECT_EQ(names.get_deleter().size(), 20u);
    for (int i = 0; i < 20; ++i) names[static_cast<std::size_t>(i)] = std::string(100, 'x');
    const auto constant = allocate_unique<const std::string[]>(heap, 3);
    EXPECT_EQ(constant[2], "");
    const auto none = allocate_unique<int[]>(heap, 0);
    EXPECT_EQ(none.get_deleter().size(), 0u);
    auto rows = allocate_unique<std::string[][3]>(heap, 4);
    for (std::size_t i = 0; i < 12; ++i) rows[i / 3][i % 3].assign(100, 'r');
    EXPECT_EQ(rows.get_deleter().size(), 4u);
    Unique<const std::string[]> read_only;  // As a member that is filled in later.
    EXPECT_EQ(read_only, nullptr);
    read_only = std::move(names);
    EXPECT_EQ(read_only.get_deleter().size(), 20u);
    EXPECT_EQ(read_only[19].size(), 100u);
  }
  EXPECT_EQ(heap.stats().live_blocks, 0u);
  EXPECT_THROW((void)allocate_unique<int[]>(heap, SIZE_MAX / 2), std::bad_array_new_length);
}

TEST(Owners, PoolsAndArenas) {
  tarn::Counted<tarn::Arena> counted;
  {
    auto circle = allocate_unique<Circle>(counted, 1.0);
    tarn::Unique<Shape, tarn::Counted<tarn::Arena>> shape = std::move(circle);
    const tarn::Unique<const std::string[], tarn::Counted<tarn::Arena>> texts =
        allocate_unique<std::string[]>(counted, 3);
    EXPECT_EQ(counted.counts().live, 2u);
  }
  EXPECT_EQ(counted.counts().live, 0u);
  EXPECT_EQ(counted.counts().bytes, 0u);  // What goes back is of the derived object's size.

  tarn::Pool pool(sizeof(Circle));
  {
    const auto one = allocate_unique<Circle>(pool, 1.0);
    EXPECT_TRUE(pool.owns(one.get()));
  }
  EXPECT_EQ(pool.stats().live_blocks, 0u);

  tarn::Arena arena;
  {
    const auto one = allocate_unique<Circle>(arena, 1.0);
    static_assert(std::is_same_v<decltype(one), const Unique<Circle, tarn::ArenaRef>>);
    EXPECT_TRUE(arena.owns(one.get()));
  }
  EXPECT_EQ(Shape::live, 0);
}

TEST(Owners, Shared) {
  Heap heap("shared");
  {
    const std::shared_ptr<Circle> circle = allocate_shared<Circle>(heap, 2.0);
    EXPECT_EQ(heap.stats().live_blocks, 1u);  // With its counts.
    const std::shared_ptr<Shape> shape = circle;
    const std::weak_ptr<Shape> weak = shape;
    EXPECT_EQ(weak.lock()->area(), 12.0);
    // What is owned otherwise may have its counts there.
    const std::shared_ptr<int> number(new int(3), std::default_delete<int>(),
                                      tarn::Allocator<int>(heap));
    EXPECT_EQ(heap.stats().live_blocks, 2u);
  }
  EXPECT_EQ(heap.stats().live_blocks, 0u);
  EXPECT_EQ(Shape::live, 0);
}

TEST(Owners, OutOfMemory) {
  tarn::HeapOptions options;
  options.ceiling_bytes = 65536;
  Heap heap(options);
  EXPECT_THROW((void)allocate_unique<char[]>(heap, 1 << 20), std::bad_alloc);
  struct Large {
    char bytes[1 << 20];
  };
  EXPECT_THROW((void)allocate_unique<Large>(heap), std::bad_alloc);
  EXPECT_THROW((void)allocate_shared<Large>(heap), std::bad_alloc);
}

}  // namespace
}  // namespace standard
