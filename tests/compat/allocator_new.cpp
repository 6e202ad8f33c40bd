// compat/Allocator.h: what its `new` and `delete` do besides: arrays and other blocks that are the
// global operators' are given back to them, and the new-handler is asked. In a program of its own,
// since it counts the calls of these operators.
//
// SPDX-License-Identifier: MIT
#include "Allocator.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>

namespace {

// Blocks of these operators that are live, and those of them that were asked for with an alignment.
int global_blocks = 0;
int aligned_blocks = 0;

void* take(std::size_t bytes) noexcept {
  ++global_blocks;
  return std::malloc(bytes);
}
void* take(std::size_t bytes, std::align_val_t alignment) noexcept {
  ++global_blocks;
  ++aligned_blocks;
  const std::size_t grain = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(grain, (bytes + grain - 1) / grain * grain);
}
void give(void* p) noexcept {
  if (p != nullptr) --global_blocks;
  std::free(p);
}
void give_aligned(void* p) noexcept {
  if (p != nullptr) --aligned_blocks;
  give(p);
}

}  // namespace

void* operator new(std::size_t n) { return take(n); }
void* operator new[](std::size_t n) { return take(n); }
void* operator new(std::size_t n, std::align_val_t a) { return take(n, a); }
void* operator new[](std::size_t n, std::align_val_t a) { return take(n, a); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return take(n); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return take(n); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return take(n, a);
}
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return take(n, a);
}
void operator delete(void* p) noexcept { give(p); }
void operator delete[](void* p) noexcept { give(p); }
void operator delete(void* p, std::size_t) noexcept { give(p); }
void operator delete[](void* p, std::size_t) noexcept { give(p); }
void operator delete(void* p, std::align_val_t) noexcept { give_aligned(p); }
void operator delete[](void* p, std::align_val_t) noexcept { give_aligned(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { give_aligned(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { give_aligned(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { give(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { give(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { give_aligned(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept {
  give_aligned(p);
}

namespace {

bool throws = false;
void throw_if_told() {
  if (throws) throw std::runtime_error("no object today");
}

class Plain {
  DECLARE_ALLOCATOR
 public:
  Plain() { throw_if_told(); }
  virtual ~Plain() = default;
  static Allocator& allocator() { return _allocator; }
  char text[24] = {};
};
class Larger : public Plain {
 public:
  char more[100] = {};
};
class alignas(64) Wide {
  DECLARE_ALLOCATOR
 public:
  Wide() { throw_if_told(); }
  virtual ~Wide() = default;
  static Allocator& allocator() { return _allocator; }
  char text[56] = {};
};
class WiderAndLarger : public Wide {
 public:
  char more[100] = {};
};

IMPLEMENT_ALLOCATOR(Plain, 2, nullptr)
IMPLEMENT_ALLOCATOR(Wide, 2, nullptr)
Allocator packets(64, 1);

struct Counts {
  int global = global_blocks;
  int aligned = aligned_blocks;
  std::size_t plain = Plain::allocator().GetBlocksInUse();
  std::size_t wide = Wide::allocator().GetBlocksInUse();
  bool operator==(const Counts& other) const {
    return global == other.global && aligned == other.aligned && plain == other.plain &&
           wide == other.wide;
  }
};

template <class T>
void each_form(bool served) {
  const Counts before;
  T* const one = new T;
  T* const two = new (std::nothrow) T;
  T* const many = new T[3];
  T* const more = new (std::nothrow) T[3];
  const Counts between;
  EXPECT_EQ(between.global - before.global, served ? 2 : 4);
  delete one;
  delete two;
  delete[] many;
  delete[] more;
  EXPECT_TRUE(Counts() == before);
}

TEST(CompatAllocatorNew, EachDeleteIsThatOfItsNew) {
  each_form<Plain>(true);
  each_form<Larger>(false);
  each_form<Wide>(true);
  each_form<WiderAndLarger>(false);
}

// Calls `make` with constructors that throw, and nothing may be left. (An exception that is alive
// is a block of its own.)
template <class Make>
void leaks_nothing(const char* what, Make make) {
  const Counts before;
  bool has_thrown = false;
  throws = true;
  try {
    make();
  } catch (const std::runtime_error&) {
    has_thrown = true;
  }
  throws = false;
  EXPECT_TRUE(has_thrown);
  EXPECT_TRUE(Counts() == before) << what;
}

template <class T>
void leaks_nothing_of() {
  leaks_nothing("new", [] { delete new T; });
  leaks_nothing("new, nothrow", [] { delete new (std::nothrow) T; });
  leaks_nothing("new[]", [] { delete[] new T[3]; });
  leaks_nothing("new[], nothrow", [] { delete[] new (std::nothrow) T[3]; });
}

TEST(CompatAllocatorNew, AConstructorThatThrowsLeaksNothing) {
  leaks_nothing_of<Plain>();
  leaks_nothing_of<Larger>();
  leaks_nothing_of<Wide>();
  leaks_nothing_of<WiderAndLarger>();
}

// Also of over-aligned objects, as long as none of them is the global operators'.
TEST(CompatAllocatorNewDeathTest, ASecondDeleteIsReported) {
  const auto dies = testing::KilledBySignal(SIGABRT);
  for (Allocator* const own : {&Plain::allocator(), &Wide::allocator()}) {
    EXPECT_EQ(own->GetBlocksInUse(), 0u);
  }
  auto* volatile plain = new Plain;  // Compilers know, too.
  auto* volatile wide = new Wide;
  Plain::operator delete(plain, sizeof(Plain));
  Wide::operator delete(wide, std::align_val_t(64));
  EXPECT_EXIT(Plain::operator delete(plain, sizeof(Plain)), dies, "tarn: double free.*\"Plain\"");
  EXPECT_EXIT(Wide::operator delete(wide, std::align_val_t(64)), dies,
              "tarn: double free.*\"Wide\"");
}

int asked = 0;

template <class T>
void asks() {
  const T* const one = new T;
  static const T* two;
  two = new T;
  asked = 0;
  std::set_new_handler([] {
    if (++asked == 2) delete two;
  });
  const T* const three = new (std::nothrow) T;
  EXPECT_NE(three, nullptr);
  EXPECT_EQ(asked, 2);
  // One that gives up, in both of its ways.
  std::set_new_handler([] { throw std::bad_alloc(); });
  EXPECT_EQ(new (std::nothrow) T, nullptr);
  std::set_new_handler([] { std::set_new_handler(nullptr); });
  EXPECT_EQ(new (std::nothrow) T, nullptr);
  EXPECT_EQ(std::get_new_handler(), nullptr);
  delete one;
  delete three;
}

TEST(CompatAllocatorNew, NothrowAsksTheNewHandler) {
  asks<Plain>();
  asks<Wide>();
}

TEST(CompatAllocatorNew, MoreThanABlockIsNotAskedFor) {
  std::set_new_handler([] { ADD_FAILURE() << "it cannot help"; });
  EXPECT_THROW(static_cast<void>(packets.Allocate(65)), std::bad_alloc);
  EXPECT_EQ(packets.Allocate(65, std::nothrow), nullptr);
  EXPECT_EQ(packets.TryAllocate(65), nullptr);
  void* const p = packets.TryAllocate(64);
  EXPECT_EQ(packets.TryAllocate(64), nullptr);  // Asks nobody.
  std::set_new_handler(nullptr);
  packets.Deallocate(p);
}

}  // namespace
