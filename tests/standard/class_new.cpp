// class_new: every form of new and delete of a class with memory of its own.
//
// SPDX-License-Identifier: MIT
#include "tarn/standard/class_new.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "tarn/arena/arena.hpp"
#include "tarn/pool/array_pool.hpp"
#include "tarn/pool/pool.hpp"
#include "tarn/pool/static_pool.hpp"

namespace standard {
namespace {

using tarn::ClassHeap;
using tarn::ClassNew;
using tarn::Heap;
using tarn::HeapRef;

class Node {
  int hidden_ = 1;  // What stands around the macro keeps its access.

 public:
  TARN_CLASS_NEW(ClassHeap<Node>)
  explicit Node(int value = 0) : value(value) {
    if (value < 0) throw std::invalid_argument("not negative");
  }
  virtual ~Node() { hidden_ = 0; }
  int value;
};
struct Larger : Node {
  using Node::Node;
  char more[200] = {};
};

struct alignas(128) Wide : ClassNew<Wide> {
  explicit Wide(int value = 0) {
    if (value < 0) throw std::invalid_argument("not negative");
  }
  char bytes[128] = {};
};

template <class T>
concept ShowsHidden = requires(T t) {
  t.hidden_;
};
static_assert(!ShowsHidden<Node>);
static_assert(sizeof(Wide) == 128, "the base takes no room");

// Has Node and Wide in a heap of the test's, as the classes' users do not see.
class ClassNewTest : public testing::Test {
 protected:
  ClassNewTest() {
    ClassHeap<Node>::use(heap_);
    ClassHeap<Wide>::use(heap_);
  }
  ~ClassNewTest() override {
    ClassHeap<Node>::use(HeapRef());
    ClassHeap<Wide>::use(HeapRef());
  }
  std::uint64_t live() const { return heap_.stats().live_blocks; }

  Heap heap_{"nodes"};
};

TEST_F(ClassNewTest, ObjectsAndArrays) {
  std::unique_ptr<Node> node(new Node(3));
  EXPECT_TRUE(heap_.owns(node.get()));
  node = std::make_unique<Larger>(4);  // Sized by the dynamic type.
  EXPECT_EQ(live(), 1u);
  EXPECT_GE(HeapRef::usable_bytes(node.get()), sizeof(Larger));
  node.reset();
  const std::unique_ptr<Node[]> nodes(new Node[10]);
  EXPECT_EQ(live(), 1u);
}

TEST_F(ClassNewTest, OverAligned) {
  for (int i = 0; i < 10; ++i) {
    const std::unique_ptr<Wide> one(new Wide);
    const std::unique_ptr<Wide[]> many(new Wide[3]);
    const std::unique_ptr<Wide> quiet(new (std::nothrow) Wide);
    for (const void* p : {static_cast<const void*>(one.get()), static_cast<const void*>(many.get()),
                          static_cast<const void*>(quiet.get())}) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 128, 0u);
    }
    EXPECT_EQ(live(), 3u);
  }
  EXPECT_EQ(live(), 0u);
}

TEST_F(ClassNewTest, ThrowingConstructorsLeakNothing) {
  EXPECT_THROW(new Node(-1), std::invalid_argument);
  EXPECT_THROW(new (std::nothrow) Node(-1), std::invalid_argument);
  EXPECT_THROW((new Node[3]{Node(1), Node(2), Node(-1)}), std::invalid_argument);
  EXPECT_THROW(new (heap_) Node(-1), std::invalid_argument);
  EXPECT_THROW(new Wide(-1), std::invalid_argument);
  EXPECT_THROW(new (std::nothrow) Wide(-1), std::invalid_argument);
  EXPECT_THROW((new Wide[2]{Wide(1), Wide(-1)}), std::invalid_argument);
  EXPECT_THROW(new (heap_) Wide(-1), std::invalid_argument);
  alignas(Node) unsigned char room[sizeof(Node)];
  EXPECT_THROW(new (room) Node(-1), std::invalid_argument);
  EXPECT_EQ(live(), 0u);
}

TEST_F(ClassNewTest, InMemoryThatIsGiven) {
  alignas(Node) unsigned char room[sizeof(Node)];
  Node* const here = new (room) Node(5);
  EXPECT_EQ(static_cast<void*>(here), static_cast<void*>(room));
  here->~Node();
  alignas(Wide) unsigned char wide_room[sizeof(Wide)];
  EXPECT_EQ(static_cast<void*>(new (wide_room) Wide), static_cast<void*>(wide_room));
  Heap other("other");
  const std::unique_ptr<Node> elsewhere(new (other) Node(6));
  const std::unique_ptr<Node> in_c(new (other.get()) Node(6));
  const std::unique_ptr<Node[]> array(new (other) Node[4]);
  const std::unique_ptr<Wide> wide(new (other) Wide);
  EXPECT_EQ(other.stats().live_blocks, 4u);
  EXPECT_EQ(live(), 0u);
}

TEST_F(ClassNewTest, AnotherHeapWhileObjectsLive) {
  Heap other("other");
  const std::unique_ptr<Node> before(new Node);
  ClassHeap<Node>::use(other);
  const std::unique_ptr<Node> after(new Node);
  EXPECT_TRUE(heap_.owns(before.get()));
  EXPECT_TRUE(other.owns(after.get()));
}

TEST_F(ClassNewTest, CallsOfTheOperators) {
  void* const p = Node::operator new(100);
  Node::operator delete(p, 100);
  void* const q = Wide::operator new[](100, std::align_val_t{4096}, std::nothrow);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(q) % 4096, 0u);
  Wide::operator delete[](q, 100, std::align_val_t{4096});
  Node::operator delete(nullptr);
  EXPECT_EQ(live(), 0u);
}

tarn::HeapOptions small() {
  tarn::HeapOptions options;
  options.ceiling_bytes = 65536;
  return options;
}
std::vector<Node*>* hoard = nullptr;

TEST_F(ClassNewTest, OutOfMemoryAsksTheNewHandler) {
  Heap limited(small());
  ClassHeap<Node>::use(limited);
  std::vector<Node*> nodes;
  hoard = &nodes;
  const auto fill = [&] {
    for (;;) nodes.push_back(new Larger);
  };
  EXPECT_THROW(fill(), std::bad_alloc);
  EXPECT_EQ(new (std::nothrow) Larger, nullptr);
  std::set_new_handler([] {
    std::set_new_handler(nullptr);
    for (Node* node : *hoard) delete node;
    hoard->clear();
  });
  const std::unique_ptr<Node> after(new Larger);
  EXPECT_TRUE(limited.owns(after.get()));
  EXPECT_TRUE(nodes.empty());
}

TEST_F(ClassNewTest, InAHeapThatIsNamedTheNewHandlerIsAsked) {
  static Heap* full = nullptr;
  Heap limited(small());
  full = &limited;
  EXPECT_NE(limited.try_allocate(65536), nullptr);
  EXPECT_THROW((void)new (limited) Larger, std::bad_alloc);
  std::set_new_handler([] {
    std::set_new_handler(nullptr);
    full->clear();
  });
  const std::unique_ptr<Node> node(new (limited) Larger);
  EXPECT_TRUE(limited.owns(node.get()));
  EXPECT_EQ(std::get_new_handler(), nullptr);
}

// Chosen when it is compiled.
struct Event;
tarn::StaticPool<24, 5, 8> events;
tarn::StaticPool<24, 2, 8> few;
struct Event : ClassNew<Event, tarn::ClassObject<events>> {
  std::uint64_t words[3] = {};
};
struct Larger_event : Event {
  std::uint64_t more = 0;
};
struct Strict {
  TARN_CLASS_NEW(tarn::ClassObject<few, true>)
  std::uint64_t words[3] = {};
};

TEST(ClassObjectTest, PoolThenHeap) {
  {
    std::vector<std::unique_ptr<Event>> all;
    for (int i = 0; i < 8; ++i) {
      all.push_back(std::make_unique<Event>());
      EXPECT_EQ(events.owns(all.back().get()), i < 5);
    }
    const std::unique_ptr<Event[]> array(new Event[2]);
    EXPECT_FALSE(events.owns(array.get()));
    const std::unique_ptr<Larger_event> larger(new Larger_event);
    EXPECT_FALSE(events.owns(larger.get()));
  }
  EXPECT_EQ(events.stats().in_use, 0u);
}

// With a base that is nothing to them aggregates are made as ever.
struct Point : ClassNew<Point> {
  int x = 1;
  int y = 2;
};

TEST_F(ClassNewTest, Aggregates) {
  ClassHeap<Point>::use(heap_);
  const std::unique_ptr<Point> plain(new Point{});
  const std::unique_ptr<Point> named(new Point{{}, 1, 5});
  EXPECT_EQ(plain->x + named->y, 6);
  EXPECT_EQ(live(), 2u);
  const Point here{};
  EXPECT_EQ(here.y, 2);
  ClassHeap<Point>::use(HeapRef());
}

// Arrays of small objects have a larger number in front.
tarn::ArrayPool<9, 12, 4, tarn::OverflowNull> twelves;
struct Small {
  TARN_CLASS_NEW(tarn::ClassObject<twelves>)
  ~Small() { value = 0; }
  std::uint32_t value = 1;
};

TEST(ClassObjectTest, TheNumberOfAnArrayIsAligned) {
  std::vector<std::unique_ptr<Small[]>> arrays;
  for (int i = 0; i < 9; ++i) {
    arrays.emplace_back(new Small[1]);  // Of 12 bytes.
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arrays.back().get()) % alignof(std::size_t), 0u);
    arrays.emplace_back(new (std::nothrow) Small[1]);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arrays.back().get()) % alignof(std::size_t), 0u);
  }
  struct alignas(4) Three {
    TARN_CLASS_NEW(tarn::ClassObject<twelves>)
    char bytes[12];
  };
  const std::unique_ptr<Three> one(new Three);
  EXPECT_TRUE(twelves.owns(one.get()));  // Objects need no more than their own.
}

// Chosen while the program runs.
struct Token : ClassNew<Token, tarn::ClassHooks<Token>> {
  std::uint64_t words[2] = {};
};
struct alignas(64) Wide_token : Token {};

// Its delete would give the heap's block to the table.
template <class T>
concept InAHeap = requires(Heap& heap) {
  new (heap) T;
};
static_assert(InAHeap<Node> && InAHeap<Event> && InAHeap<Strict>);
static_assert(!InAHeap<Token> && !InAHeap<Wide_token>);

TEST(ClassHooksTest, AnyAllocatorsTable) {
  using Hooks = tarn::ClassHooks<Token>;
  {
    const std::unique_ptr<Token> of_malloc(new Token);
    EXPECT_TRUE(HeapRef::of(of_malloc.get()) == HeapRef::main());
  }
  tarn::Pool pool(sizeof(Token));
  const tarn_malloc_table table = tarn_pool_malloc_table(pool.get());
  ASSERT_TRUE(Hooks::use(&table));
  {
    const std::unique_ptr<Token> one(new Token);
    EXPECT_TRUE(pool.owns(one.get()));
    EXPECT_FALSE(Hooks::use(nullptr));  // It lives.
    EXPECT_EQ(Hooks::live_blocks(), 1u);
    EXPECT_THROW(new Token[2], std::bad_alloc);
    EXPECT_THROW(new Wide_token, std::bad_alloc);
  }
  EXPECT_EQ(pool.stats().live_blocks, 0u);
  tarn::Arena arena;
  tarn_malloc_table only_16 = tarn_arena_malloc_table(arena.get());
  only_16.allocate_aligned = nullptr;
  ASSERT_TRUE(Hooks::use(&only_16));
  EXPECT_THROW(new Wide_token, std::bad_alloc);
  const tarn_malloc_table in_arena = tarn_arena_malloc_table(arena.get());
  ASSERT_TRUE(Hooks::use(&in_arena));
  {
    const std::unique_ptr<Wide_token[]> wide(new Wide_token[3]);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(wide.get()) % 64, 0u);
    EXPECT_TRUE(arena.owns(wide.get()));
  }
  EXPECT_TRUE(Hooks::use(nullptr));
}

TEST(ClassHooksTest, ATableWithoutFunctionsIsNone) {
  using Hooks = tarn::ClassHooks<Token>;
  tarn::Pool pool(sizeof(Token));
  const tarn_malloc_table chosen = tarn_pool_malloc_table(pool.get());
  ASSERT_TRUE(Hooks::use(&chosen));
  tarn::Pool narrow(24);  // Of blocks that are aligned to 8.
  const tarn_malloc_table none = tarn_pool_malloc_table(narrow.get());
  EXPECT_FALSE(Hooks::use(&none));
  {
    const std::unique_ptr<Token> one(new Token);
    EXPECT_TRUE(pool.owns(one.get()));
  }
  EXPECT_TRUE(Hooks::use(nullptr));
}

TEST(ClassObjectTest, StrictIsOutOfMemory) {
  const std::unique_ptr<Strict> one(new Strict);
  const std::unique_ptr<Strict> two(new Strict);
  EXPECT_TRUE(few.owns(one.get()) && few.owns(two.get()));
  EXPECT_EQ(new (std::nothrow) Strict, nullptr);
  EXPECT_THROW(new Strict, std::bad_alloc);
  EXPECT_THROW(new Strict[2], std::bad_alloc);
  Heap heap("elsewhere");
  const std::unique_ptr<Strict> three(new (heap) Strict);
  EXPECT_TRUE(heap.owns(three.get()));
}

}  // namespace
}  // namespace standard
