// compat/xallocator.h with STATIC_POOLS, in C++: classes of one's own, spill, a lock of one's own;
// the pools are compiled as C++, in this file.
//
// SPDX-License-Identifier: MIT
#define MAX_BLOCKS 4
#define XALLOCATOR_CLASSES(X) X(24, 2) X(100, MAX_BLOCKS) X(1000, 1)
#define XALLOCATOR_SPILL 1
#define XALLOCATOR_OWN_LOCK
#define AUTOMATIC_XALLOCATOR_INIT_DESTROY
#include "xallocator_static.c"

#include <gtest/gtest.h>

#include <cstdint>

namespace {
int held = 0;
int gets = 0;
bool is_made = false;
}  // namespace

void lock_init(void) { is_made = true; }
void lock_get(void) {
  if (!is_made || held++ != 0) abort();
  ++gets;
}
void lock_release(void) { --held; }
void lock_destroy(void) { is_made = false; }

namespace {

class Message {
  XALLOCATOR
 public:
  int numbers[20] = {};
};

Message* early = new Message;

TEST(XallocatorStatic, SpillsAndThrows) {
  ASSERT_NE(early, nullptr);
  EXPECT_EQ(tarn_xstatic_usable_bytes(early), 100u);
  void* const a = xmalloc(10);
  void* const b = xmalloc(10);
  EXPECT_EQ(tarn_xstatic_usable_bytes(a), 24u);
  void* const c = xmalloc(10);  // Of the next class.
  EXPECT_EQ(tarn_xstatic_usable_bytes(c), 100u);
  auto* const d = new Message;
  auto* const e = new (std::nothrow) Message;
  auto* const f = new Message;  // The last one is the largest class's.
  EXPECT_EQ(tarn_xstatic_usable_bytes(f), 1000u);
  for (const void* const p : {a, b, c, static_cast<void*>(d), static_cast<void*>(e)}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 16, 0u);
  }
  EXPECT_EQ(new (std::nothrow) Message, nullptr);
  EXPECT_THROW(delete new Message, std::bad_alloc);
  EXPECT_EQ(held, 0);
  EXPECT_GT(gets, 8);
  for (void* const p : {a, b, c}) xfree(p);
  delete d;
  delete e;
  delete f;
  delete early;
  EXPECT_EQ(tarn_xstatic_malloc(32, 8), nullptr);
  EXPECT_EQ(tarn_xstatic_check(), 1);
}

TEST(XallocatorStatic, Statistics) {
  testing::internal::CaptureStdout();
  xalloc_stats();
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "xallocator Block Size: 24 Block Count: 2 Blocks In Use: 0\n"
            "xallocator Block Size: 100 Block Count: 4 Blocks In Use: 0\n"
            "xallocator Block Size: 1000 Block Count: 1 Blocks In Use: 0\n");
}

}  // namespace
