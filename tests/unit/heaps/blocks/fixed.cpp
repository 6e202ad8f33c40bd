// Heaps with a class table, from within: which entries hits find, that a share keeps none of them,
// and what is left when there is no memory for a table.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include <gtest/gtest.h>

#include "engine/records/thread_heaps.hpp"
#include "engine/threads/flush.hpp"
#include "engine/threads/thread_heap.hpp"
#include "heaps/blocks/allocate.hpp"
#include "heaps/blocks/fixed.hpp"
#include "heaps/operations/life.hpp"
#include "malloc/blocks/free.hpp"
#include "platform/os/fake/fake.hpp"

namespace tarn {
namespace {

using Sizes = std::vector<std::size_t>;

tarn_heap make(const Sizes& table, int threads = TARN_HEAP_SHARED) {
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.threads = threads;
  options.class_bytes = table.empty() ? nullptr : table.data();
  options.class_count = table.size();
  return heap_create(&options);
}
HeapRecord& record_at(tarn_heap heap) { return *static_cast<HeapRecord*>(heap.record); }
void* allocate_in(tarn_heap heap, std::size_t bytes) {
  return heap_allocate_slow(heap, {.bytes = bytes, .function = "test"});
}
ThreadHeap& thread_heap_of(tarn_heap heap) {
  ThreadHeap* const thread_heap = find_thread_heap(record_at(heap), *current_thread);
  EXPECT_NE(thread_heap, nullptr);
  return *thread_heap;
}

// Entries all of whose requests the table's class `at` serves hold the page, and all others another
// one.
void expect_served(const ThreadHeap& thread_heap, const Sizes& table, std::size_t at,
                   const Page* page) {
  const std::size_t below = at == 0 ? 0 : table[at - 1];
  for (std::size_t c = 0; c < class_count; ++c) {
    const std::size_t least = c <= 1 ? c : class_block_bytes[c - 1] + 1;
    const std::size_t most = c == 0 ? 0 : class_block_bytes[c];
    const bool fits = most <= table[at] && (at == 0 || least > below);
    EXPECT_EQ(thread_heap.current[c] == page, fits) << most;
  }
}

TEST(Tables, ThePageOfAClassStandsInAllItsEntries) {
  for (const Sizes& table : {Sizes{16},
                             {32, 64, 144},
                             {1024},
                             {1008, 1040},
                             {2048, 4096},
                             {1040, 1200, 1216, 2000, 131072},
                             {16, 32, 512, 1024, 65536}}) {
    const tarn_heap heap = make(table);
    ASSERT_NE(heap.record, nullptr);
    for (std::size_t at = 0; at < table.size(); ++at) {
      std::vector<void*> blocks;
      for (int i = 0; i < 300; ++i) {
        blocks.push_back(allocate_in(heap, table[at]));
        ThreadHeap& thread_heap = thread_heap_of(heap);
        const Page* const page = thread_heap.current_of(class_count + at);
        ASSERT_TRUE(page->is_block(blocks.back()));
        if (i < 2 || i % 60 == 0) expect_served(thread_heap, table, at, page);
      }
      ASSERT_TRUE(thread_heap_check(thread_heap_of(heap)));
      for (void* const p : blocks) deallocate(p);
      ASSERT_TRUE(thread_heap_check(thread_heap_of(heap)));
    }
    flush_current_pages(thread_heap_of(heap));
    EXPECT_TRUE(serves_nothing(thread_heap_of(heap)));
    EXPECT_TRUE(thread_heap_check(thread_heap_of(heap)));
    EXPECT_TRUE(heap_clear(heap, true, "test"));
  }
}

TEST(Tables, TheCheckSeesAnEntryThatIsWrong) {
  const tarn_heap heap = make({64, 256});
  ASSERT_NE(allocate_in(heap, 1), nullptr);
  ASSERT_NE(allocate_in(heap, 200), nullptr);
  ThreadHeap& thread_heap = thread_heap_of(heap);
  Page* const small = thread_heap.current[1];
  for (const std::size_t entry : {0u, 4u, 5u, 16u, 17u, 64u, 65u}) {
    Page* const before = thread_heap.current[entry];
    ASSERT_TRUE(thread_heap_check(thread_heap));
    thread_heap.current[entry] = before == small ? no_page() : small;
    EXPECT_FALSE(thread_heap_check(thread_heap)) << entry;
    thread_heap.current[entry] = before;
  }
  EXPECT_FALSE(serves_nothing(thread_heap));
  EXPECT_TRUE(heap_clear(heap, true, "test"));
}

TEST(Tables, ASharePassesFromHeapToHeapWithoutThem) {
  const ThreadHeap* first = nullptr;
  for (int turn = 0; turn < 6; ++turn) {
    const Sizes table = turn % 2 == 0 ? Sizes{512, 1024} : Sizes{};
    const tarn_heap heap = make(table);
    record_at(heap).young.store(false, std::memory_order_relaxed);
    void* const small = allocate_in(heap, 16);
    ThreadHeap& thread_heap = thread_heap_of(heap);
    if (first == nullptr) first = &thread_heap;
    EXPECT_EQ(&thread_heap, first) << "the test is about a share that is used again";
    const auto filled = [](const Page* page) { return page != no_page(); };
    EXPECT_EQ(std::count_if(thread_heap.current.begin(), thread_heap.current.end(), filled),
              table.empty() ? 1 : 33);
    if (turn < 3) {
      EXPECT_TRUE(heap_clear(heap, true, "test"));
    } else {
      deallocate(small);
      EXPECT_TRUE(heap_delete(heap));
    }
    EXPECT_TRUE(serves_nothing(*first));
  }
}

TEST(Tables, TheirClassesTakeAnIdOnlyWhenOneIsAskedFor) {
  Sizes table;
  for (std::size_t i = 1; i <= fixed_classes_max; ++i) table.push_back(block_align * i);
  const tarn_heap a = make(table);
  const tarn_heap b = make(table);
  EXPECT_EQ(b.id, a.id + 1) << "neighbours have different slots";
  const tarn_fixed fixed = heap_fixed(a, 512, 16);
  EXPECT_NE(fixed.id, 0u);
  EXPECT_EQ(heap_fixed(a, 512, 16).id, fixed.id);
  EXPECT_NE(heap_fixed(b, 512, 16).id, fixed.id);
  EXPECT_TRUE(heap_clear(a, true, "test"));
  EXPECT_TRUE(heap_clear(b, true, "test"));
  EXPECT_EQ(static_cast<FixedClass*>(fixed.record)->id, 0u) << "and it ends with the heap";
}

TEST(Tables, OutOfMemoryForOneLosesNothing) {
  Sizes table;
  for (std::size_t i = 1; i <= fixed_classes_max; ++i) table.push_back(block_align * i);
  os::fake::fail_at(1, true);
  std::vector<tarn_heap> heaps;
  for (tarn_heap heap = make({}); heap.record != nullptr; heap = make({})) heaps.push_back(heap);
  ASSERT_FALSE(heaps.empty());
  // There is one record to be had, and not all that the table needs.
  const tarn_heap last = heaps.back();
  heaps.pop_back();
  EXPECT_TRUE(heap_clear(last, true, "test"));
  for (int i = 0; i < 3; ++i) {
    errno = 0;
    EXPECT_EQ(make(table).record, nullptr);
    EXPECT_EQ(errno, ENOMEM);
  }
  const tarn_heap plain = make({});
  ASSERT_EQ(plain.record, last.record) << "the record was not lost";
  EXPECT_FALSE(record_at(plain).has_table());
  EXPECT_TRUE(record_at(plain).young);
  EXPECT_TRUE(heap_clear(plain, true, "test"));
  os::fake::fail_at(0, false);
  const tarn_heap heap = make(table);
  EXPECT_EQ(heap.record, last.record);
  EXPECT_EQ(record_at(heap).fixed_count, fixed_classes_max);
  EXPECT_NE(allocate_in(heap, 2048), nullptr);
  EXPECT_TRUE(heap_clear(heap, true, "test"));
  for (const tarn_heap h : heaps) EXPECT_TRUE(heap_clear(h, true, "test"));
}

}  // namespace
}  // namespace tarn
