// The word of a purgeable (watch/recover/ring.hpp): threads that lock and fill it, that have it
// vanish, and that clear its heap, in every order of their steps. What a thread has locked it
// reads, and what it fills it writes, so that a block which vanishes meanwhile is seen as a data
// race.
//
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/records/record.hpp"
#include "heaps/operations/life.hpp"
#include "heaps/operations/stats.hpp"
#include "support/explorer/expect.hpp"
#include "tarn/heap/recover.h"
#include "watch/recover/ring.hpp"

namespace tarn {
namespace {

using explorer::require;

constexpr std::size_t bytes = 2'000;
constexpr std::uint64_t written = 0x5eed;

class World {
 public:
  void begin() {
    heap_ = heap_create(nullptr);
    purgeable_ = {};
    require(tarn_purgeable_begin(&purgeable_, heap_, bytes) == 0, "it does not begin");
    look();
    is_cleared_ = false;
  }
  // Locks it, or fills it where it has vanished.
  void look() {
    auto* block = static_cast<std::uint64_t*>(tarn_purgeable_lock(&purgeable_));
    if (block != nullptr) {
      require(*block == written, "it has other contents");
      return tarn_purgeable_unlock(&purgeable_);
    }
    block = static_cast<std::uint64_t*>(tarn_purgeable_refill(&purgeable_));
    if (block == nullptr) return;  // Another thread fills it, or has.
    *block = written;
    tarn_purgeable_unlock(&purgeable_);
  }
  // Its heap may be cleared meanwhile, so its contents are nobody's.
  void lock() {
    if (tarn_purgeable_lock(&purgeable_) != nullptr) tarn_purgeable_unlock(&purgeable_);
  }
  void purge() { tarn_recover_heap(heap_, SIZE_MAX, TARN_RECOVER_PURGEABLES, nullptr); }
  void clear() {
    require(heap_clear(heap_, false, "tarn_heap_clear"), "not cleared");
    is_cleared_ = true;
  }
  void finish() {
    auto& record = *static_cast<HeapRecord*>(heap_.record);
    const std::uint64_t word = purgeable_.word;
    require(word / word_pin == 0, "a pin is left");
    require((word & (word_filling | word_asking)) == 0, "it is being filled for ever");
    const bool is_there = (word & word_there) != 0;
    require(!is_there || purgeable_.block != nullptr, "it is there, and has no block");
    require(!is_there || !is_cleared_, "it has outlived its heap's blocks");
    require(is_there == (record.purgeables.first == &purgeable_), "the ring has something else");
    require(ring_check(record), "the ring is unsound");
    require(tarn_purgeable_end(&purgeable_) == 0, "it does not end");
    tarn_heap_stats stats = TARN_HEAP_STATS();
    require(heap_stats(heap_, &stats) && stats.live_blocks == 0, "a block is lost");
    require(heap_clear(heap_, true, "test"), "a heap that cannot be ended");
  }

 private:
  tarn_heap heap_{};
  tarn_purgeable purgeable_{};
  bool is_cleared_ = false;
};
World w;

using Body = std::function<void()>;
const Body look = [] { w.look(); };
const Body lock = [] { w.lock(); };
const Body purge = [] { w.purge(); };
const Body clear = [] { w.clear(); };

Body twice(const Body& what) {
  return [what] { what(), what(); };
}

void expect_kept(const char* name, std::vector<Body> threads) {
  explorer::Scenario scenario;
  scenario.name = name;
  scenario.prepare = [] { w.begin(); };
  scenario.threads = std::move(threads);
  scenario.check = [] { w.finish(); };
  scenario.clear = [] { w.finish(); };
  EXPECT_GT(explorer::expect_kept(scenario).runs, 1u) << "nothing was explored";
}

TEST(Purgeables, TwoLook) { expect_kept("two_look", {twice(look), twice(look)}); }
TEST(Purgeables, OneLooksOnePurges) {
  expect_kept("one_looks_one_purges", {twice(look), twice(purge)});
}
TEST(Purgeables, TwoLookOnePurges) { expect_kept("two_look_one_purges", {look, look, purge}); }
TEST(Purgeables, TwoPurge) { expect_kept("two_purge", {look, purge, purge}); }
TEST(Purgeables, TheHeapIsCleared) { expect_kept("cleared", {twice(lock), clear}); }
TEST(Purgeables, TheHeapIsClearedBesideAPurge) {
  expect_kept("cleared_and_purged", {lock, clear, purge});
}

}  // namespace
}  // namespace tarn
