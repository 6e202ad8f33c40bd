// Records of heaps that have ended, which somebody late closes, or waits for: they are not reused
// meanwhile, and nobody keeps the gate of one that has been made.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "engine/records/gate.hpp"
#include "engine/threads/ending_threads.hpp"
#include "heaps/heap/exclusive.hpp"
#include "heaps/heap/registry.hpp"
#include "heaps/operations/life.hpp"

namespace tarn {
namespace {

alignas(64) std::array<std::byte, std::size_t{1} << 20> region;

tarn_heap make(bool in_region) {
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  if (in_region) {
    options.region = region.data();
    options.region_bytes = region.size();
  }
  return heap_create(&options);
}
HeapRecord& record_at(tarn_heap heap) { return *static_cast<HeapRecord*>(heap.record); }
void end(tarn_heap heap) { ASSERT_TRUE(heap_clear(heap, true, "test")); }

// How many heaps, one after the other, it takes to meet the record; `most` when none does.
int heaps_until(const HeapRecord& wanted, bool in_region, int most) {
  for (int i = 0; i < most; ++i) {
    const tarn_heap heap = make(in_region);
    EXPECT_NE(heap.record, nullptr);
    const bool found = heap.record == &wanted;
    EXPECT_FALSE(record_at(heap).gate.held_by_this_thread());
    EXPECT_TRUE(heap_clear(heap, true, "test"));
    if (found) return i;
  }
  return most;
}

int gates_held_by_this_thread() {
  int held = 0;
  registry.for_each_known([&](HeapRecord& r) { held += r.gate.held_by_this_thread(); });
  return held;
}

class Records : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(InRegions, Records, testing::Bool());

TEST_P(Records, OneWhoseGateIsHeldIsNotReused) {
  constexpr int more_than_there_are = 1000;
  const tarn_heap heap = make(GetParam());
  ASSERT_NE(heap.record, nullptr);
  HeapRecord& record = record_at(heap);
  end(heap);
  ASSERT_LT(heaps_until(record, GetParam(), more_than_there_are), more_than_there_are)
      << "it is reused at some time";
  enter_exclusive(record);  // Late.
  EXPECT_EQ(record.id, 0u);
  EXPECT_EQ(heaps_until(record, GetParam(), more_than_there_are), more_than_there_are);
  EXPECT_TRUE(exclusive_to_this_thread(record));
  leave_exclusive(record);
  EXPECT_EQ(heaps_until(record, GetParam(), more_than_there_are), 0) << "it was the next one";
  EXPECT_EQ(gates_held_by_this_thread(), 0);
}

TEST_P(Records, SeveralHeldAreAllLeftOut) {
  std::vector<HeapRecord*> held;
  for (int i = 0; i < 100; ++i) {  // More than there are for regions alone.
    const tarn_heap heap = make(GetParam());
    ASSERT_NE(heap.record, nullptr);
    EXPECT_EQ(std::count(held.begin(), held.end(), heap.record), 0);
    end(heap);
    held.push_back(&record_at(heap));
    held.back()->gate.lock();
  }
  for (HeapRecord* const record : held) record->gate.unlock();
  EXPECT_LT(heaps_until(*held.front(), GetParam(), 1000), 1000);
}

}  // namespace
}  // namespace tarn
