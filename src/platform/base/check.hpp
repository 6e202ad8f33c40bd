// check: how a room states what must hold. TARN_CHECK is always on and stands where going on would
// corrupt memory. TARN_ASSERT is for debug builds. TARN_ASSERT_EVERY is, too: it is for conditions
// that walk all that an owner has, such as its check(). None of them allocates.
//
// SPDX-License-Identifier: MIT
#pragma once

#ifdef TARN_DEBUG
#include <atomic>
#endif

namespace tarn {

// Written by the report room: prints "tarn: internal error: ..." and aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace tarn

#define TARN_CHECK(condition)                                                               \
  (__builtin_expect(!(condition), 0) ? ::tarn::check_failed(#condition, __FILE__, __LINE__) \
                                     : (void)0)

#ifdef TARN_DEBUG
#define TARN_ASSERT(condition) TARN_CHECK(condition)
#else
#define TARN_ASSERT(condition) ((void)sizeof(!(condition)))
#endif

// Asserts at the first and then at every n-th time that this line is reached, by all threads
// together, so that tests of large heaps stay fast.
#ifdef TARN_DEBUG
#define TARN_ASSERT_EVERY(n, condition)                                     \
  do {                                                                      \
    static constinit std::atomic<unsigned> times_reached{0};                \
    if (times_reached.fetch_add(1, std::memory_order_relaxed) % (n) == 0) { \
      TARN_CHECK(condition);                                                \
    }                                                                       \
  } while (false)
#else
#define TARN_ASSERT_EVERY(n, condition) TARN_ASSERT(condition)
#endif
