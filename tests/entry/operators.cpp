// operators: every form of operator new and delete, the handler loop, and failure by exception.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <exception>
#include <new>
#include <vector>

#include "../support/threads.hpp"
#include "family.h"
#include "pattern.h"

namespace {

using std::align_val_t;
using std::nothrow;

constexpr std::size_t sizes[] = {0, 1, 7, 16, 40, 1000, 5000, 70000, 3000000};
constexpr std::size_t too_large[] = {std::size_t{PTRDIFF_MAX} + 1,
                                     SIZE_MAX - 8192,
                                     SIZE_MAX - 4096,
                                     SIZE_MAX - 64,
                                     SIZE_MAX - 15,
                                     SIZE_MAX - 1,
                                     SIZE_MAX};

class Handlers : public testing::Test {
 protected:
  void TearDown() override { std::set_new_handler(nullptr); }
};

void expect_block(void* block, std::size_t size, std::size_t alignment) {
  ASSERT_NE(block, nullptr);
  EXPECT_TRUE(is_aligned(block, alignment)) << size;
  EXPECT_GE(FAMILY(malloc_usable_size)(block), size);
  pattern_fill(block, size, 4);
  EXPECT_TRUE(pattern_holds(block, size, 4));
}

TEST(Operators, PlainFormsPairUp) {
  for (const std::size_t size : sizes) {
    void* block = ::operator new(size);
    expect_block(block, size, size >= 16 ? 16 : 1);
    ::operator delete(block);
    block = ::operator new(size);
    ::operator delete(block, size);
    block = ::operator new[](size);
    expect_block(block, size, size >= 16 ? 16 : 1);
    ::operator delete[](block);
    block = ::operator new[](size);
    ::operator delete[](block, size);
    block = ::operator new(size, nothrow);
    expect_block(block, size, size >= 16 ? 16 : 1);
    ::operator delete(block, nothrow);
    block = ::operator new[](size, nothrow);
    ::operator delete[](block, nothrow);
  }
}

TEST(Operators, AlignedFormsPairUp) {
  for (std::size_t alignment = 1; alignment <= (std::size_t{1} << 20); alignment *= 4) {
    const align_val_t aligned{alignment};
    for (const std::size_t size : sizes) {
      void* block = ::operator new(size, aligned);
      expect_block(block, size, alignment);
      ::operator delete(block, aligned);
      block = ::operator new(size, aligned);
      ::operator delete(block, size, aligned);
      block = ::operator new[](size, aligned);
      expect_block(block, size, alignment);
      ::operator delete[](block, aligned);
      block = ::operator new[](size, aligned);
      ::operator delete[](block, size, aligned);
      block = ::operator new(size, aligned, nothrow);
      expect_block(block, size, alignment);
      ::operator delete(block, aligned, nothrow);
      block = ::operator new[](size, aligned, nothrow);
      expect_block(block, size, alignment);
      ::operator delete[](block, aligned, nothrow);
    }
  }
}

TEST(Operators, DeleteOfNothingDoesNothing) {
  void* const nothing = nullptr;
  errno = EDOM;
  ::operator delete(nothing);
  ::operator delete[](nothing);
  ::operator delete(nothing, 10);
  ::operator delete[](nothing, 10);
  ::operator delete(nothing, nothrow);
  ::operator delete[](nothing, nothrow);
  ::operator delete (nothing, align_val_t{64});
  ::operator delete[](nothing, align_val_t{64});
  ::operator delete (nothing, 10, align_val_t{64});
  ::operator delete[](nothing, 10, align_val_t{64});
  ::operator delete (nothing, align_val_t{64}, nothrow);
  ::operator delete[](nothing, align_val_t{64}, nothrow);
  EXPECT_EQ(errno, EDOM);
}

TEST(Operators, BlocksOfNothingAreDistinct) {
  void* one = ::operator new(opaque(0));
  void* two = ::operator new(opaque(0));
  EXPECT_NE(one, nullptr);
  EXPECT_NE(one, two);
  ::operator delete(one);
  ::operator delete(two);
}

TEST(Operators, TooLargeThrows) {
  for (const std::size_t size : too_large) {
    const std::size_t request = opaque(size);
    EXPECT_THROW(opaque_block(::operator new(request)), std::bad_alloc) << size;
    EXPECT_THROW(opaque_block(::operator new[](request)), std::bad_alloc) << size;
  }
}

// size + alignment - 1 wraps for most of these: the sum must be seen, not its remainder.
TEST(Operators, TooLargeAndAlignedThrowsRatherThanWraps) {
  for (const std::size_t size : too_large) {
    for (std::size_t alignment = 32; alignment <= (std::size_t{1} << 24); alignment *= 8) {
      const align_val_t aligned{alignment};
      EXPECT_THROW(opaque_block(::operator new(opaque(size), aligned)), std::bad_alloc) << size;
      EXPECT_THROW(opaque_block(::operator new[](opaque(size), aligned)), std::bad_alloc) << size;
      EXPECT_EQ(::operator new(opaque(size), aligned, nothrow), nullptr);
      EXPECT_EQ(::operator new[](opaque(size), aligned, nothrow), nullptr);
    }
  }
}

TEST(Operators, TooLargeWithNothrowIsNull) {
  for (const std::size_t size : too_large) {
    EXPECT_EQ(::operator new(opaque(size), nothrow), nullptr);
    EXPECT_EQ(::operator new[](opaque(size), nothrow), nullptr);
  }
}

TEST(Operators, TheExceptionIsTheStandardOne) {
  std::exception_ptr kept;
  try {
    opaque_block(::operator new(opaque(SIZE_MAX)));
    FAIL() << "did not throw";
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), std::bad_alloc().what());
    EXPECT_NE(dynamic_cast<const std::bad_alloc*>(&error), nullptr);
    kept = std::current_exception();
  }
  EXPECT_THROW(std::rethrow_exception(kept), std::bad_alloc);
}

TEST(Operators, EveryThreadMayThrow) {
  std::vector<int> caught(8, 0);
  support::each_in_threads(caught, [](int& count) {
    for (int round = 0; round < 200; ++round) {
      try {
        opaque_block(::operator new(opaque(SIZE_MAX - 100)));
      } catch (const std::bad_alloc&) {
        ++count;
      }
    }
  });
  for (const int count : caught) EXPECT_EQ(count, 200);
}

struct Thrower {
  explicit Thrower(bool thrown) {
    if (thrown) throw 5;
  }
  alignas(64) char content[192] = {};
};

// The matching delete runs when the constructor throws: it must take what that new gave.
TEST(Operators, ThrowingConstructorsGiveTheBlockBack) {
  for (int round = 0; round < 1000; ++round) {
    EXPECT_THROW(delete new Thrower(true), int);
    EXPECT_THROW(delete new (nothrow) Thrower(true), int);
  }
  Thrower* whole = new Thrower(false);
  EXPECT_TRUE(is_aligned(whole, 64));
  delete whole;
}

int handler_calls = 0;

void handler_that_gives_up() {
  if (++handler_calls == 5) std::set_new_handler(nullptr);
}

struct OutOfBudget : std::bad_alloc {};

void handler_that_throws() {
  ++handler_calls;
  throw OutOfBudget();
}

TEST_F(Handlers, RunUntilNoneIsLeft) {
  for (const bool is_array : {false, true}) {
    handler_calls = 0;
    std::set_new_handler(handler_that_gives_up);
    const std::size_t request = opaque(SIZE_MAX - 1000);
    EXPECT_THROW(opaque_block(is_array ? ::operator new[](request) : ::operator new(request)),
                 std::bad_alloc);
    EXPECT_EQ(handler_calls, 5);
    EXPECT_EQ(std::get_new_handler(), nullptr);
  }
}

TEST_F(Handlers, RunForAlignedForms) {
  handler_calls = 0;
  std::set_new_handler(handler_that_gives_up);
  EXPECT_THROW(opaque_block(::operator new (opaque(SIZE_MAX - 1000), align_val_t{128})),
               std::bad_alloc);
  EXPECT_EQ(handler_calls, 5);
}

TEST_F(Handlers, RunForNothrowForms) {
  handler_calls = 0;
  std::set_new_handler(handler_that_gives_up);
  EXPECT_EQ(::operator new(opaque(SIZE_MAX - 1000), nothrow), nullptr);
  EXPECT_EQ(handler_calls, 5);
  handler_calls = 0;
  std::set_new_handler(handler_that_gives_up);
  EXPECT_EQ(::operator new[](opaque(SIZE_MAX - 1000), align_val_t{64}, nothrow), nullptr);
  EXPECT_EQ(handler_calls, 5);
}

TEST_F(Handlers, MayThrowSomethingMoreTelling) {
  handler_calls = 0;
  std::set_new_handler(handler_that_throws);
  EXPECT_THROW(opaque_block(::operator new(opaque(SIZE_MAX - 1000))), OutOfBudget);
  EXPECT_THROW(opaque_block(::operator new[](opaque(SIZE_MAX - 1000))), OutOfBudget);
  EXPECT_THROW(opaque_block(::operator new (opaque(SIZE_MAX - 1000), align_val_t{64})),
               OutOfBudget);
  EXPECT_EQ(handler_calls, 3);
}

TEST_F(Handlers, ThatThrowMakeNothrowFormsReturnNull) {
  handler_calls = 0;
  std::set_new_handler(handler_that_throws);
  EXPECT_EQ(::operator new(opaque(SIZE_MAX - 1000), nothrow), nullptr);
  EXPECT_EQ(::operator new[](opaque(SIZE_MAX - 1000), nothrow), nullptr);
  EXPECT_EQ(::operator new (opaque(SIZE_MAX - 1000), align_val_t{64}, nothrow), nullptr);
  EXPECT_EQ(::operator new[](opaque(SIZE_MAX - 1000), align_val_t{64}, nothrow), nullptr);
  EXPECT_EQ(handler_calls, 4);
}

TEST_F(Handlers, AreNotAskedWhenThereIsMemory) {
  handler_calls = 0;
  std::set_new_handler(handler_that_throws);
  for (const std::size_t size : sizes) ::operator delete(::operator new(size));
  EXPECT_EQ(handler_calls, 0);
}

#if !defined(TARN_PREFIXED)
// malloc and new are one family: a block of either may go back through the other's free.
TEST(Operators, BlocksAreTheMallocFamilysOwn) {
  for (const std::size_t size : sizes) {
    free(::operator new(size));
    ::operator delete(malloc(size));
    free(::operator new (size, align_val_t{256}));
    ::operator delete(realloc(::operator new(size), 3 * size + 1));
  }
}
#endif

}  // namespace
