// offset_allocator: containers in memory that is seen at two addresses at once, and by two
// processes.
//
// SPDX-License-Identifier: MIT
#include "tarn/standard/offset_allocator.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <new>
#include <numeric>
#include <vector>

#include "tarn/pool/static_heap.hpp"

#if __has_include(<boost/container/list.hpp>)
#include <boost/container/list.hpp>
#include <boost/container/map.hpp>
#include <boost/container/vector.hpp>

#include "../support/child.hpp"
#define TARN_TEST_BOOST 1
#endif

namespace standard {
namespace {

using tarn::OffsetPtr;
using Blocks = tarn::BasicStaticHeap<tarn::LockFree, tarn::Spill::larger, tarn::Class<64, 2000>,
                                     tarn::Class<4096, 10>>;
template <class T>
using Offset = tarn::OffsetAllocator<T, Blocks>;

// The same pages at two addresses.
class TwoViews {
 public:
  explicit TwoViews(std::size_t bytes) : bytes_(bytes) {
    const int file = ::memfd_create("offset_allocator", MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0) throw std::bad_alloc();
    for (void*& view : views_) {
      view = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (view == MAP_FAILED) throw std::bad_alloc();
    }
    ::close(file);
  }
  ~TwoViews() {
    for (void* view : views_) ::munmap(view, bytes_);
  }
  TwoViews(const TwoViews&) = delete;
  TwoViews& operator=(const TwoViews&) = delete;
  void* one() const { return views_[0]; }
  void* other() const { return views_[1]; }

 private:
  std::size_t bytes_;
  void* views_[2];
};

TEST(OffsetPtrTest, IsAPointer) {
  int numbers[10];
  std::iota(numbers, numbers + 10, 0);
  OffsetPtr<int> p = numbers;
  EXPECT_EQ(*p, 0);
  EXPECT_EQ(p[3], 3);
  EXPECT_EQ(*(p + 4), 4);
  EXPECT_EQ(*++p, 1);
  EXPECT_EQ(*p++, 1);
  EXPECT_EQ(*p--, 2);
  EXPECT_EQ(*(3 + p), 4);
  p += 5;
  EXPECT_EQ(p - OffsetPtr<int>(numbers), 6);
  p -= 2;
  EXPECT_EQ(*(p - 1), 3);
  EXPECT_TRUE(OffsetPtr<int>(numbers) < p && p > OffsetPtr<int>(numbers));
  EXPECT_TRUE(p <= p && p >= p);
  OffsetPtr<int> null;
  EXPECT_TRUE(null == nullptr && nullptr == null && !null && p != nullptr && p);
  EXPECT_EQ(null.get(), nullptr);
  p = nullptr;
  EXPECT_EQ(p, null);
  const OffsetPtr<const int> constant = OffsetPtr<int>(numbers);
  EXPECT_EQ(*constant, 0);
  const OffsetPtr<void> untyped = OffsetPtr<int>(numbers);
  EXPECT_EQ(*static_cast<OffsetPtr<int>>(untyped), 0);
  EXPECT_EQ(std::to_address(OffsetPtr<int>(numbers)), numbers);
  EXPECT_EQ(std::pointer_traits<OffsetPtr<int>>::pointer_to(numbers[2])[0], 2);

  // One that leads to itself, and one that leads to the byte behind its beginning.
  OffsetPtr<void> self;
  self = &self;
  EXPECT_EQ(self.get(), &self);
  OffsetPtr<int> copies[2] = {numbers, nullptr};
  copies[1] = copies[0];
  EXPECT_EQ(copies[1].get(), numbers);
  std::vector<OffsetPtr<int>> many(1, numbers);
  for (int i = 0; i < 100; ++i) many.push_back(many.front());  // Moves them.
  for (const auto& each : many) EXPECT_EQ(each.get(), numbers);
}

struct Shared {
  Blocks blocks;
  std::vector<int, Offset<int>> numbers{blocks};
#if defined(TARN_TEST_BOOST)
  boost::container::list<int, Offset<int>> list{Offset<int>(blocks)};
  boost::container::map<int, int, std::less<int>, Offset<std::pair<const int, int>>> map{
      Offset<std::pair<const int, int>>(blocks)};
  boost::container::vector<int, Offset<int>> vector{Offset<int>(blocks)};
#endif

  void add(int from, int to) {
    for (int i = from; i < to; ++i) {
      numbers.push_back(i);
#if defined(TARN_TEST_BOOST)
      list.push_back(i);
      map.emplace(i, 2 * i);
      vector.push_back(i);
#endif
    }
  }
  bool has(int count) const {
    bool all = static_cast<int>(numbers.size()) == count;
    for (int i = 0; i < count; ++i) all = all && numbers[static_cast<std::size_t>(i)] == i;
#if defined(TARN_TEST_BOOST)
    int i = 0;
    for (const int each : list) all = all && each == i++;
    for (int k = 0; k < count; ++k) all = all && map.find(k)->second == 2 * k;
    all = all && i == count && static_cast<int>(vector.size()) == count;
#endif
    return all;
  }
};

TEST(OffsetAllocatorTest, TwoAddresses) {
  TwoViews views(sizeof(Shared));
  auto* const one = new (views.one()) Shared;
  auto* const other = static_cast<Shared*>(views.other());
  one->add(0, 200);
  EXPECT_TRUE(one->has(200));
  EXPECT_TRUE(other->has(200));
  other->add(200, 400);
  EXPECT_TRUE(one->has(400));
  EXPECT_TRUE(other->has(400));
  EXPECT_TRUE(one->blocks.owns(&one->numbers.front()));
  EXPECT_FALSE(one->blocks.owns(&other->numbers.front()));

  Offset<int> here(one->blocks);
  EXPECT_EQ(here, Offset<char>(here));
  EXPECT_NE(here, Offset<int>(other->blocks));
  one->~Shared();
}

TEST(OffsetAllocatorTest, TwoProcesses) {
  TwoViews views(sizeof(Shared));
  auto* const one = new (views.one()) Shared;
  one->add(0, 100);
  const int status = support::status_of_child([&] {
    ::munmap(views.one(), sizeof(Shared));
    auto* const there = static_cast<Shared*>(views.other());
    if (!there->has(100)) ::_exit(1);
    there->add(100, 300);
    return there->has(300) ? 0 : 2;
  });
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(one->has(300));
  std::vector<int, Offset<int>> copy(one->numbers);
  EXPECT_EQ(copy, one->numbers);
  EXPECT_THROW(one->numbers.reserve(5000), std::bad_alloc);
  EXPECT_TRUE(one->has(300));
  one->~Shared();
}

}  // namespace
}  // namespace standard
