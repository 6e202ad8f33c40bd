// Misuse of purgeables: one crime for each process, and what is said of it.
//
// SPDX-License-Identifier: MIT
#include <csignal>
#include <cstdlib>

#include "recover.hpp"

namespace recovering {
namespace {

tarn_purgeable filled(tarn_heap heap, tarn_purgeable* p) {
  EXPECT_EQ(tarn_purgeable_begin(p, heap, 100), 0);
  EXPECT_NE(tarn_purgeable_refill(p), nullptr);
  tarn_purgeable_unlock(p);
  return *p;
}

class RecoverMisuse : public testing::Test {
 protected:
  void SetUp() override { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }
};
using RecoverMisuseDeathTest = RecoverMisuse;

TEST_F(RecoverMisuseDeathTest, UnlockWithoutLock) {
  EXPECT_EXIT(
      {
        tarn_purgeable p{};
        filled({}, &p);
        tarn_purgeable_unlock(&p);
      },
      testing::KilledBySignal(SIGABRT),
      "tarn: unlock without lock: tarn_purgeable_unlock\\(0x[0-9a-f]+\\)");
}

TEST_F(RecoverMisuseDeathTest, UnlockOfWhatVanishedOrIsNotRegistered) {
  EXPECT_EXIT(
      {
        tarn_purgeable p{};
        filled({}, &p);
        tarn_purgeable_discard(&p);
        tarn_purgeable_unlock(&p);
      },
      testing::KilledBySignal(SIGABRT), "tarn: unlock without lock");
  EXPECT_EXIT(
      {
        tarn_purgeable p{};
        tarn_purgeable_unlock(&p);
      },
      testing::KilledBySignal(SIGABRT), "tarn: unlock without lock");
}

// By a callback, of what the thread has asked for and not got yet.
TEST_F(RecoverMisuseDeathTest, UnlockBeforeTheRefillReturns) {
  EXPECT_EXIT(
      {
        tarn_purgeable p{};
        const Heap heap(options(mib));
        Cache cache(heap);
        cache.add(900 * kib);
        tarn_purgeable_begin(&p, heap, 500 * kib);
        const tarn::ReclaimerOptions bound = bound_to(heap);
        tarn::Reclaimer asked(
            [&](std::size_t wanted) {
              tarn_purgeable_unlock(&p);
              return cache.give(wanted);
            },
            bound);
        (void)!tarn_purgeable_refill(&p);
        std::_Exit(0);
      },
      testing::KilledBySignal(SIGABRT), "tarn: unlock without lock");
}

TEST_F(RecoverMisuseDeathTest, RefillAfterTheHeapsEnd) {
  EXPECT_EXIT(
      {
        tarn_heap_options named = options();
        named.name = "images";
        const tarn_heap heap = tarn_heap_create(&named);
        tarn_purgeable p{};
        filled(heap, &p);
        tarn_heap_destroy(heap);
        (void)!tarn_purgeable_refill(&p);
      },
      testing::KilledBySignal(SIGABRT), "tarn: use after destroy: .*images");
}

TEST_F(RecoverMisuseDeathTest, BeginInAHeapThatHasEnded) {
  EXPECT_EXIT(
      {
        const tarn_heap_options plain = options();
        const tarn_heap heap = tarn_heap_create(&plain);
        tarn_heap_destroy(heap);
        tarn_purgeable p{};
        tarn_purgeable_begin(&p, heap, 10);
      },
      testing::KilledBySignal(SIGABRT), "tarn: use after destroy");
}

TEST_F(RecoverMisuseDeathTest, AnObjectThatEndsWhileItIsLocked) {
  EXPECT_EXIT(
      {
        tarn::Purgeable<int>::Lock lock;
        tarn::Purgeable<int> number;
        lock = number.lock_or_fill([](int* to, std::size_t) { *to = 1; });
      },
      testing::KilledBySignal(SIGABRT), "");
}

TEST_F(RecoverMisuseDeathTest, ABlockThatTheProgramFreedItself) {
  EXPECT_EXIT(
      {
        tarn_heap_options checks = options();
        checks.mode = TARN_MODE_CHECKED;
        const tarn_heap heap = tarn_heap_create(&checks);
        tarn_purgeable p{};
        void* const block = tarn_heap_allocate(heap, 10);
        tarn_purgeable_adopt(&p, block);
        tarn_free(block);
        tarn_recover(SIZE_MAX, TARN_RECOVER_PURGEABLES);
      },
      testing::KilledBySignal(SIGABRT), "tarn: (double free|invalid pointer|invalid free)");
}

}  // namespace
}  // namespace recovering
