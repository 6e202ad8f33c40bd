// pmr: memory resources over tarn's allocators, the allocator that goes along, and the alarm.
//
// SPDX-License-Identifier: MIT
#include "tarn/standard/pmr.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory_resource>
#include <stdexcept>
#include <string>
#include <vector>

#include "tarn/arena/arena.hpp"
#include "tarn/pool/pool.hpp"
#include "tarn/pool/static_heap.hpp"
#include "tarn/source/adaptors.hpp"

namespace standard {
namespace {

using tarn::Heap;
using tarn::PropagatingAllocator;
using tarn::Resource;

TEST(Resource, HeapServesNestedContainers) {
  Heap heap("nested");
  Resource<> resource(heap);
  {
    std::pmr::map<int, std::pmr::vector<std::pmr::string>> map(&resource);
    for (int i = 0; i < 100; ++i) {
      map[i % 10].emplace_back("a string that is too long to lie in the object itself");
    }
    EXPECT_TRUE(heap.owns(map[3].data()));
    EXPECT_TRUE(heap.owns(map[3][3].data()));
    EXPECT_GT(heap.stats().live_blocks, 110u);
  }
  EXPECT_EQ(heap.stats().live_blocks, 0u);
}

TEST(Resource, AlignmentsAndSizes) {
  Heap heap("sizes");
  Resource<> resource(heap);
  for (std::size_t alignment = 1; alignment <= 65536; alignment *= 2) {
    for (const std::size_t bytes : {0u, 1u, 100u, 5000u, 100000u}) {
      void* const p = resource.allocate(bytes, alignment);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % alignment, 0u);
      resource.deallocate(p, bytes, alignment);
    }
  }
  const volatile std::size_t most = SIZE_MAX;  // Compilers warn of sizes that they know.
  EXPECT_THROW((void)resource.allocate(most), std::bad_alloc);
  tarn::Pool pool(64);
  Resource<tarn::Pool> of_pool(pool);
  of_pool.deallocate(of_pool.allocate(64), 64);
  EXPECT_THROW((void)of_pool.allocate(65), std::bad_alloc);
}

TEST(Resource, EqualIsTheSamePlace) {
  Heap heap("one");
  Heap other("other");
  const Resource<> a(heap);
  const Resource<> b(heap);
  const Resource<> c(other);
  EXPECT_TRUE(a == b);
  EXPECT_FALSE(a == c);
  tarn::Arena arena;
  const Resource<tarn::ArenaRef> d(arena);
  EXPECT_FALSE(a == d);
  EXPECT_FALSE(a.is_equal(*std::pmr::new_delete_resource()));
}

TEST(Resource, OverObjects) {
  tarn::Counted<tarn::Arena> counted;
  Resource<tarn::Counted<tarn::Arena>> resource(counted);
  {
    std::pmr::vector<std::pmr::string> texts(&resource);
    for (int i = 0; i < 100; ++i) texts.emplace_back(100, 'x');
    EXPECT_GT(counted.counts().live, 100u);
  }
  EXPECT_EQ(counted.counts().live, 0u);
  EXPECT_EQ(counted.counts().bytes, 0u);
  static tarn::StaticHeap<tarn::Class<64, 100>, tarn::Class<1024, 4>> classes;
  Resource<decltype(classes)> of_classes(classes);
  std::pmr::monotonic_buffer_resource monotonic(512, &of_classes);
  std::pmr::vector<int> numbers(&monotonic);
  numbers.assign(100, 3);
  EXPECT_EQ(numbers.back(), 3);
}

template <class Propagation>
using Texts = std::vector<std::pmr::string, PropagatingAllocator<std::pmr::string, Propagation>>;

// One that is too long to lie in the object itself.
constexpr const char* text = "0123456789012345678901234567890123456789";

template <class Propagation>
void goes_along(bool copies, bool moves) {
  Heap heap("one");
  Heap far("far");
  Resource<> one(heap);
  Resource<> other(far);
  Texts<Propagation> a(3, text, &one);
  EXPECT_TRUE(heap.owns(a.data()) && heap.owns(a[0].data()));  // Elements, too.

  const Texts<Propagation> copy(a);
  EXPECT_EQ(copy.get_allocator().resource(), &one);  // std::pmr: the default one.
  EXPECT_TRUE(heap.owns(copy[0].data()));

  Texts<Propagation> assigned(1, text, &other);
  assigned = a;
  EXPECT_EQ(assigned.get_allocator().resource() == &one, copies);
  Texts<Propagation> moved(1, text, &other);
  const void* const data = a.data();
  moved = std::move(a);
  EXPECT_EQ(moved.get_allocator().resource() == &one, moves);
  EXPECT_EQ(moved.data() == data, moves);
  EXPECT_EQ(far.owns(moved[0].data()), !moves);
  const std::pmr::vector<int> polymorphic{PropagatingAllocator<int, Propagation>(&other)};
  EXPECT_EQ(polymorphic.get_allocator().resource(), &other);
}

TEST(PropagatingAllocator, Moves) { goes_along<tarn::PropagateMoves>(false, true); }
TEST(PropagatingAllocator, All) { goes_along<tarn::PropagateAll>(true, true); }
TEST(PropagatingAllocator, None) { goes_along<tarn::PropagateNone>(false, false); }

TEST(PropagatingAllocator, SwapsWithoutMovingElements) {
  Heap heap("one");
  Heap far("far");
  Resource<> one(heap);
  Resource<> other(far);
  Texts<tarn::PropagateMoves> a(3, text, &one);
  Texts<tarn::PropagateMoves> b(5, text, &other);
  const void* const data = a.data();
  a.swap(b);
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(a.size(), 5u);
  EXPECT_EQ(a.get_allocator().resource(), &other);
}

std::vector<tarn::DefaultUse>* seen = nullptr;

TEST(DefaultResourceAlarm, TellsOfEachUse) {
  std::vector<tarn::DefaultUse> uses;
  seen = &uses;
  Heap heap("named");
  Resource<> resource(heap);
  auto* const before = std::pmr::get_default_resource();
  {
    const tarn::DefaultResourceAlarm alarm(
        [](const tarn::DefaultUse& use) { seen->push_back(use); });
    std::pmr::vector<int> named(100, 1, &resource);
    EXPECT_EQ(alarm.uses(), 0u);
    const std::pmr::vector<int> copy(named);  // Has the default one: pmr's trap.
    EXPECT_EQ(copy.get_allocator().resource(), std::pmr::get_default_resource());
    ASSERT_EQ(uses.size(), 1u);
    EXPECT_EQ(uses[0].bytes, 400u);
    EXPECT_EQ(uses[0].alignment, alignof(int));
    EXPECT_EQ(uses[0].number, 1u);
    EXPECT_EQ(alarm.uses(), 1u);
  }
  EXPECT_EQ(std::pmr::get_default_resource(), before);
}

TEST(DefaultResourceAlarm, MayThrow) {
  const tarn::DefaultResourceAlarm alarm(
      [](const tarn::DefaultUse&) { throw std::logic_error("no default here"); });
  EXPECT_THROW(std::pmr::vector<int>(100), std::logic_error);
}

TEST(DefaultResourceAlarm, PrintsWhoAsked) {
  testing::internal::CaptureStderr();
  {
    const tarn::DefaultResourceAlarm alarm;
    const std::pmr::vector<char> forgotten(1234, 'x');
  }
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_EQ(printed.find("tarn: default resource: 1234 bytes, asked for at standard_functions+0x"),
            0u)
      << printed;
  EXPECT_DEATH(
      {
        const tarn::DefaultResourceAlarm alarm(tarn::abort_on_default_use);
        const std::pmr::vector<char> forgotten(1234, 'x');
      },
      "tarn: default resource: 1234 bytes");
}

}  // namespace
}  // namespace standard
