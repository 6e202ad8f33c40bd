// S2 in C++: the same names, from objects that live before main and after it, and from containers.
// Compiled with include/tarn/compat as its only path of the project's.
//
// SPDX-License-Identifier: MIT
#include "unalloc.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

extern "C" std::size_t tarn_malloc_usable_size(const void* p);

namespace {

template <class T>
struct Unalloc {
  using value_type = T;
  Unalloc() = default;
  template <class U>
  Unalloc(const Unalloc<U>&) {}
  T* allocate(std::size_t n) {
    void* const p = uncalloc(n, sizeof(T));
    if (p == nullptr) throw std::bad_alloc();
    return static_cast<T*>(p);
  }
  void deallocate(T* p, std::size_t) { unfree(p); }
  friend bool operator==(Unalloc, Unalloc) { return true; }
  friend bool operator!=(Unalloc, Unalloc) { return false; }
};

// Constructed before main in an order nobody knows, destroyed after it.
struct Early {
  Early() : text(static_cast<char*>(unalloc(6))) { std::memcpy(text, "early", 6); }
  ~Early() {
    if (std::strcmp(text, "early") != 0) std::abort();
    text = static_cast<char*>(unrealloc(text, 1000));
    unfree(text);
  }
  char* text;
};
Early early;
std::vector<Early*, Unalloc<Early*>> of_main;

struct FreeIt {
  void operator()(void* p) const { unfree(p); }
};

TEST(Unalloc, BlocksFromBeforeMainAreThere) {
  EXPECT_STREQ(early.text, "early");
  of_main.push_back(&early);  // Freed after main.
  thread_local std::vector<int, Unalloc<int>> of_thread;
  std::thread([] { of_thread.assign(100000, 1); }).join();
}

TEST(Unalloc, ServesContainers) {
  using String = std::basic_string<char, std::char_traits<char>, Unalloc<char>>;
  std::unordered_map<int, String, std::hash<int>, std::equal_to<int>,
                     Unalloc<std::pair<const int, String>>>
      map;
  for (int i = 0; i < 20000; ++i) map[i % 5000].append(static_cast<std::size_t>(i % 37), 'x');
  std::size_t sum = 0;
  for (const auto& [key, text] : map) sum += text.size();
  std::size_t expected = 0;
  for (int i = 0; i < 20000; ++i) expected += static_cast<std::size_t>(i % 37);
  EXPECT_EQ(sum, expected);
}

TEST(Unalloc, AProductThatWrapsIsBadAlloc) {
  std::allocator_traits<Unalloc<std::uint64_t>>::pointer p = nullptr;
  volatile std::size_t n = SIZE_MAX / 4;
  EXPECT_THROW(p = Unalloc<std::uint64_t>().allocate(n), std::bad_alloc);
  EXPECT_EQ(p, nullptr);
}

TEST(Unalloc, AGrowingBlockMovesOnceAClass) {
  // S2.10: how often depends on the table; here it is that of powers of two.
  std::unique_ptr<void, FreeIt> block(unalloc(16));
  int moves = 0;
  for (std::size_t bytes = 17; bytes <= 128 * 1024; bytes += 7) {
    void* const before = block.release();
    block.reset(unrealloc(before, bytes));
    ASSERT_NE(block.get(), nullptr);
    moves += block.get() != before;
  }
  EXPECT_EQ(moves, 13);
  EXPECT_EQ(tarn_malloc_usable_size(block.get()), 128u * 1024);
}

TEST(Unalloc, ABlockIsFreedByAnotherThread) {
  std::vector<void*> blocks(5000);
  std::thread([&] {
    for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = unalloc(i % 3000);
  }).join();
  for (void*& p : blocks) p = unrealloc(p, 3000);
  for (void* const p : blocks) unfree(p);
}

#if !defined(__SANITIZE_THREAD__)
TEST(UnallocDeathTest, WrongFreesAreReported) {
  GTEST_FLAG_SET(death_test_style, "fast");
  alignas(16) static char foreign[64];
  EXPECT_DEATH(unfree(foreign), "tarn: invalid free");
  EXPECT_DEATH(unfree(foreign + 1), "tarn: invalid free");
  void* const large = unalloc(1 << 20);
  EXPECT_DEATH(
      {
        unfree(large);
        unfree(large);
      },
      "tarn: (double|invalid) free");
  EXPECT_DEATH(static_cast<void>(unrealloc(static_cast<char*>(large) + 8, 10)),
               "tarn: invalid free");
  unfree(large);
}
#endif

}  // namespace
