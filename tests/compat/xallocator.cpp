// compat/xallocator.h in C++: XALLOCATOR in a class and in a base class, in all forms of new and
// delete; static objects; forks.
//
// SPDX-License-Identifier: MIT
#define AUTOMATIC_XALLOCATOR_INIT_DESTROY
#include "xallocator_early.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <random>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "../heap/malloc.h"
#include "../pool/xalloc.h"
#include "../support/child.hpp"

namespace {

volatile std::size_t too_much = SIZE_MAX / 4;

early::Holder second("second");

std::uint64_t in_use() {
  tarn_xalloc_class_stats stats = TARN_XALLOC_CLASS_STATS();
  std::uint64_t sum = 0;
  for (std::size_t i = 0; tarn_xalloc_get_class_stats(i, &stats) == 0; ++i) sum += stats.in_use;
  return sum;
}

bool is_ours(const void* p) { return tarn_xalloc_usable_bytes(p) != 0; }

class Message {
 public:
  XALLOCATOR_OPERATORS

 private:
  int secret = 5;

 public:
  explicit Message(int value = 0) : value_(value) {
    if (value < 0) throw std::runtime_error("negative");
  }
  ~Message() { secret = 0; }
  int value() const { return value_ + secret; }

 private:
  int value_;
};

struct alignas(256) Wide {  // More than any block is aligned to by itself.
  XALLOCATOR
  explicit Wide(bool throws = false) {
    if (throws) throw std::runtime_error("wide");
  }
  ~Wide() { bytes[0] = 0; }
  char bytes[256] = {1};
};

struct Payload {  // In the middle, as the article has it.
  int before = 1;
  XALLOCATOR int after = 2;
};

class Shape : public XallocatorBase {
 public:
  virtual ~Shape() = default;
};
class Circle : public Shape {
  [[maybe_unused]] double numbers_[20] = {};
};

// (XALLOCATOR makes what follows public; this form does not.)
template <class T, class = void>
struct ShowsSecret : std::false_type {};
template <class T>
struct ShowsSecret<T, std::void_t<decltype(std::declval<T&>().secret)>> : std::true_type {};
static_assert(!ShowsSecret<Message>::value);
static_assert(sizeof(Message) == 2 * sizeof(int) && sizeof(XallocatorBase) == 1);

TEST(Xallocator, StaticObjectsOfAnyOrder) {
  EXPECT_STREQ(second.text(), "second");
  EXPECT_STREQ(early::first_holder().text(), "first");
  EXPECT_STREQ(early::of_a_function().text(), "of a function");
  EXPECT_TRUE(is_ours(second.text()));
}

TEST(Xallocator, PlainForms) {
  const std::uint64_t before = in_use();
  auto* const one = new Message(1);
  EXPECT_TRUE(is_ours(one));
  EXPECT_EQ(one->value(), 6);
  auto* const two = new (std::nothrow) Message(2);
  EXPECT_TRUE(is_ours(two));
  auto* const many = new Message[10];
  auto* const more = new (std::nothrow) Message[10];
  EXPECT_EQ(in_use(), before + 4);
  delete one;
  delete two;
  delete[] many;
  delete[] more;
  EXPECT_EQ(in_use(), before);
  alignas(Message) char place[sizeof(Message)];
  auto* const placed = new (place) Message(3);
  EXPECT_EQ(static_cast<void*>(placed), place);
  placed->~Message();
  EXPECT_EQ(in_use(), before);
}

TEST(Xallocator, AnywhereInAClass) {
  auto* const payload = new Payload;
  EXPECT_TRUE(is_ours(payload));
  EXPECT_EQ(payload->before + payload->after, 3);
  delete payload;
}

TEST(Xallocator, AlignedForms) {
  const std::uint64_t before = in_use();
  auto* const one = new Wide;
  auto* const two = new (std::nothrow) Wide;
  auto* const many = new Wide[3];
  auto* const more = new (std::nothrow) Wide[3];
  for (const void* p : {static_cast<void*>(one), static_cast<void*>(two), static_cast<void*>(many),
                        static_cast<void*>(more)}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 256, 0u);
  }
  EXPECT_EQ(in_use(), before + 4);
  delete one;
  delete two;
  delete[] many;
  delete[] more;
  EXPECT_EQ(in_use(), before);
}

// Malloc itself may serve a larger class than was asked for, where it has such blocks at hand.
TEST(Xallocator, CountsFollowBlocksFromClassToClass) {
  const std::uint64_t before = in_use();
  std::minstd_rand random(1);
  std::vector<void*> blocks(50);
  for (int step = 0; step < 20'000; ++step) {
    void*& p = blocks[random() % blocks.size()];
    p = tarn_xrealloc(p, random() % 1024);
    tarn_free(tarn_malloc(1025 + random() % 200));
    if (step % 100 != 0) continue;
    const auto none = std::count(blocks.begin(), blocks.end(), nullptr);
    ASSERT_EQ(in_use(), before + blocks.size() - static_cast<std::size_t>(none)) << step;
  }
  for (void* const p : blocks) tarn_xfree(p);
  EXPECT_EQ(in_use(), before);
}

TEST(Xallocator, AConstructorThatThrowsLeaksNothing) {
  const std::uint64_t before = in_use();
  EXPECT_THROW(delete new Message(-1), std::runtime_error);
  EXPECT_THROW(delete new (std::nothrow) Message(-1), std::runtime_error);
  EXPECT_THROW(delete new Wide(true), std::runtime_error);
  EXPECT_THROW(delete new (std::nothrow) Wide(true), std::runtime_error);
  EXPECT_THROW(delete[](new Message[2]{Message(1), Message(-1)}), std::runtime_error);
  char place[sizeof(Message)];
  EXPECT_THROW(static_cast<void>(new (place) Message(-1)), std::runtime_error);
  EXPECT_EQ(in_use(), before);
}

TEST(Xallocator, AHierarchy) {
  const std::uint64_t before = in_use();
  const std::unique_ptr<Shape> shape(new Circle);
  EXPECT_TRUE(is_ours(shape.get()));
  EXPECT_GE(tarn_xalloc_usable_bytes(shape.get()), sizeof(Circle));
  EXPECT_EQ(in_use(), before + 1);
}

int asked = 0;

// (S4: a throw leaves the lock held.)
TEST(Xallocator, OutOfMemoryThrowsAndTheFamilyGoesOn) {
  EXPECT_THROW(static_cast<void>(Message::operator new(too_much)), std::bad_alloc);
  EXPECT_EQ(Message::operator new[](too_much, std::nothrow), nullptr);
  std::set_new_handler([] {
    xfree(xmalloc(10));  // It may use the family.
    if (++asked == 3) std::set_new_handler(nullptr);
  });
  EXPECT_THROW(static_cast<void>(Message::operator new(too_much)), std::bad_alloc);
  EXPECT_EQ(asked, 3);
  delete new Message;
}

TEST(Xallocator, WhatIsDestroyedIsUsableAgain) {
  auto* const block = static_cast<char*>(xmalloc(2000));
  block[0] = 'x';
  xalloc_destroy();
  xalloc_destroy();
  EXPECT_EQ(block[0], 'x');
  tarn_xalloc_class_stats stats = TARN_XALLOC_CLASS_STATS();
  for (std::size_t i = 0; tarn_xalloc_get_class_stats(i, &stats) == 0; ++i) {
    EXPECT_EQ(stats.in_use_peak, stats.in_use);
  }
  void* const other = xmalloc(2000);
  EXPECT_NE(other, nullptr);
  xalloc_destroy();
  xfree(block);
  xfree(other);
  xalloc_init();
}

TEST(Xallocator, OptionsComeFirst) {
  tarn_xalloc_options options = TARN_XALLOC_OPTIONS();
  xfree(xmalloc(1));
  EXPECT_EQ(tarn_xalloc_init(&options), -1);
  EXPECT_EQ(errno, EBUSY);
  EXPECT_EQ(tarn_xalloc_init(nullptr), 0);
  // Those of another version are not read further than they go.
  const auto shorter = std::make_unique<std::size_t>(sizeof(std::size_t));
  EXPECT_EQ(tarn_xalloc_init(reinterpret_cast<tarn_xalloc_options*>(shorter.get())), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST(Xallocator, TheOtherFunctions) {
  auto* const zeroed = static_cast<unsigned char*>(tarn_xcalloc(30, 30));
  for (int i = 0; i < 900; ++i) ASSERT_EQ(zeroed[i], 0);
  xfree(zeroed);
  EXPECT_EQ(tarn_xcalloc(too_much, 16), nullptr);
  EXPECT_EQ(tarn_xmalloc_aligned(48, 16), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

std::size_t resident_bytes() {
  std::size_t pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  EXPECT_TRUE(file != nullptr && std::fscanf(file, "%*s %zu", &pages) == 1);
  if (file != nullptr) std::fclose(file);
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// What the system gives is zero, and takes no memory until it is written to.
TEST(Xallocator, ZeroedMemoryIsNotWrittenWhereItIsFresh) {
  constexpr std::size_t bytes = std::size_t{1} << 28;
  [[maybe_unused]] const std::size_t before = resident_bytes();
  auto* const p = static_cast<unsigned char*>(tarn_xcalloc(bytes / 8, 8));
  ASSERT_NE(p, nullptr);
#if !defined(TARN_SANITIZED)
  EXPECT_LT(resident_bytes(), before + bytes / 4);
#endif
  for (std::size_t i = 0; i < bytes; i += 4096) ASSERT_EQ(p[i + i / 4096 % 4096], 0);
  xfree(p);
  // Of all sizes, after they were used.
  for (std::size_t size = 1; size < bytes / 16; size = size * 3 + 1) {
    for (int turn = 0; turn < 3; ++turn) {
      auto* const q = static_cast<unsigned char*>(tarn_xcalloc(size, 1));
      ASSERT_TRUE(std::all_of(q, q + size, [](unsigned char byte) { return byte == 0; })) << size;
      std::memset(q, 0xff, size);
      auto* const other = static_cast<unsigned char*>(xmalloc(size));
      std::memset(other, 0xff, size);
      if (turn % 2 == 0) xfree(other);
      xfree(q);
      if (turn % 2 != 0) xfree(other);
    }
  }
}

// A lock of one's own: called in pairs; and none.
TEST(Xallocator, OtherLocks) {
  static int depth = 0;
  static int calls = 0;
  tarn_xalloc_hooks lock{};
  lock.lock = [](void*) { ++depth, ++calls; };
  lock.unlock = [](void*) { --depth; };
  tarn_xalloc_set_lock(&lock);
  xfree(xmalloc(5));
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(depth, 0);
  EXPECT_THROW(static_cast<void>(Message::operator new(too_much)), std::bad_alloc);
  EXPECT_EQ(depth, 0);
  lock = {};
  tarn_xalloc_set_lock(&lock);
  xfree(xmalloc(5));
  EXPECT_EQ(calls, 3);
  tarn_xalloc_set_lock(nullptr);
  xfree(xmalloc(5));
}

// The child has the family as it was, and its own from then on.
TEST(Xallocator, Forks) {
  auto* const shared = static_cast<char*>(xmalloc(500));
  shared[0] = 'p';
  const std::uint64_t before = in_use();
  const int status = support::status_of_child([&] {
    bool good = in_use() == before && shared[0] == 'p';
    shared[0] = 'c';
    xfree(shared);
    for (int i = 0; i < 1000; ++i) good = good && xmalloc(900) != nullptr;
    return good && in_use() == before + 999 ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(shared[0], 'p');
  xfree(shared);
}

// Whoever holds the family and forks holds it on both sides.
TEST(Xallocator, ForksWhileItIsHeld) {
  lock_get();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    xfree(xmalloc(10));
    lock_release();
    xfree(xmalloc(10));
    _exit(0);
  }
  xfree(xmalloc(10));
  lock_release();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
