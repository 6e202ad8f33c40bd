// Heaps with a class table: each request from the smallest class that holds it, whatever else is
// asked of the heap, and no trace of a table in the heaps that come after it.
//
// SPDX-License-Identifier: MIT

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "../support/child.hpp"
#include "../support/threads.hpp"
#include "heap.hpp"

namespace heaps {
namespace {

using Sizes = std::vector<std::size_t>;
const Sizes uneven{32, 64, 144, 400, 768, 1008, 1040, 4096, 20'000, 100'000};

tarn_heap_options with(const Sizes& table, int threads = TARN_HEAP_SHARED) {
  tarn_heap_options made = options(threads, "table");
  made.class_bytes = table.data();
  made.class_count = table.size();
  return made;
}

// What a block may be used for; 0: a large block.
std::size_t class_in(const Sizes& table, std::size_t bytes, std::size_t alignment = 16) {
  for (const std::size_t size : table) {
    if (size >= bytes && size % alignment == 0 && alignment <= slice) return size;
  }
  return 0;
}
std::size_t usable_in(const Sizes& table, std::size_t bytes, std::size_t alignment = 16) {
  const std::size_t size = class_in(table, bytes, alignment);
  return size != 0 ? size : in_slices(std::max<std::size_t>(bytes, 1));
}

class TableHeaps : public EachMode {
 protected:
  Heap heap_{with(uneven, GetParam())};
};
INSTANTIATE_TEST_SUITE_P(Modes, TableHeaps, every_mode);

TEST_P(TableHeaps, ServeTheSmallestClassThatHoldsARequest) {
  for (int round = 0; round < 3; ++round) {
    std::vector<void*> blocks;
    std::uint64_t bytes = 0;
    for (std::size_t size = 0; size < 300'000; size += size < 1'100 ? 1 : size / 16) {
      void* const p = tarn_heap_allocate(heap_, size);
      ASSERT_NE(p, nullptr);
      ASSERT_EQ(usable(p), usable_in(uneven, size)) << size;
      ASSERT_EQ(misaligned(p, 16), 0u);
      fill(p, size, static_cast<unsigned>(size));
      blocks.push_back(p);
      bytes += usable(p);
    }
    EXPECT_EQ(stats_of(heap_).live_blocks, blocks.size());
    EXPECT_EQ(stats_of(heap_).live_bytes, bytes);
    std::size_t size = 0;
    for (void* const p : blocks) {
      ASSERT_TRUE(is_filled(p, size, static_cast<unsigned>(size)));
      size += size < 1'100 ? 1 : size / 16;
      tarn_heap_deallocate(p);
    }
    expect_empty(heap_);
  }
}

TEST_P(TableHeaps, TheFirstBlockIsOfItsClassToo) {
  for (const std::size_t bytes : {0u, 1u, 33u, 100u, 401u, 1'024u, 1'041u}) {
    const Heap fresh(with(uneven, GetParam()));
    EXPECT_EQ(usable(tarn_heap_allocate(fresh, bytes)), class_in(uneven, bytes));
  }
}

TEST_P(TableHeaps, AlignedRequestsGetAClassThatIsAligned) {
  for (std::size_t alignment = 1; alignment <= 64 * kib; alignment *= 2) {
    for (const std::size_t bytes : {0u, 1u, 32u, 33u, 200u, 500u, 1'009u, 5'000u, 101'000u}) {
      void* const p = tarn_heap_allocate_aligned(heap_, alignment, bytes);
      ASSERT_NE(p, nullptr);
      EXPECT_EQ(misaligned(p, alignment), 0u);
      EXPECT_EQ(usable(p), usable_in(uneven, bytes, std::max<std::size_t>(alignment, 16)))
          << bytes << " aligned to " << alignment;
    }
  }
}

TEST_P(TableHeaps, OtherFormsOfRequests) {
  void* const used = tarn_heap_allocate(heap_, 768);
  fill(used, 768, 1);
  tarn_heap_deallocate(used);
  void* const zeroed = tarn_heap_allocate_zeroed(heap_, 7, 100);
  EXPECT_EQ(usable(zeroed), 768u);
  EXPECT_TRUE(is_zero(zeroed, 768));
  const tarn_heap before = tarn_heap_set_default(heap_);
  fill(zeroed, 768, 1);
  tarn_heap_deallocate(zeroed);
  void* const of_malloc = tarn_calloc(7, 100);
  EXPECT_EQ(usable(of_malloc), 768u);
  EXPECT_TRUE(is_zero(of_malloc, 768));
  EXPECT_EQ(usable(tarn_malloc(600)), 768u);
  EXPECT_EQ(usable(tarn_malloc(200'000)), in_slices(200'000));
  EXPECT_EQ(usable(tarn_aligned_alloc(64, 65)), 768u);
  tarn_heap_set_default(before);
  EXPECT_EQ(tarn_heap_allocate(heap_, opaque(SIZE_MAX)), nullptr);
}

int note_block_bytes(const tarn_heap_item* item, void* context) {
  if (item->kind == TARN_HEAP_PAGE) {
    static_cast<std::multiset<std::size_t>*>(context)->insert(item->block_bytes);
  }
  return 0;
}
std::multiset<std::size_t> pages_of(tarn_heap heap) {
  std::multiset<std::size_t> pages;
  EXPECT_EQ(tarn_heap_walk(heap, 0, note_block_bytes, &pages), 0);
  return pages;
}

TEST_P(TableHeaps, FixedBlocksAreOfTheTableOrOneClassMore) {
  const tarn_fixed in_table = tarn_heap_fixed(heap_, 64, 16);
  const tarn_fixed beside = tarn_heap_fixed(heap_, 48, 16);  // A common class elsewhere.
  const tarn_fixed odd = tarn_heap_fixed(heap_, 20, 4);
  ASSERT_NE(in_table.record, nullptr);
  ASSERT_NE(beside.record, nullptr);
  ASSERT_NE(odd.record, nullptr);
  EXPECT_EQ(tarn_heap_fixed(heap_, 64, 16).id, in_table.id);
  EXPECT_NE(in_table.id, beside.id);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(usable(tarn_fixed_allocate(in_table)), 64u);
    EXPECT_EQ(usable(tarn_fixed_allocate(beside)), 48u);
    EXPECT_EQ(usable(tarn_fixed_allocate(odd)), 20u);
    EXPECT_EQ(usable(tarn_heap_allocate(heap_, 48)), 64u);
    EXPECT_EQ(usable(tarn_heap_allocate(heap_, 20)), 32u);
  }
  const std::multiset<std::size_t> pages = pages_of(heap_);
  const std::set<std::size_t> sizes(pages.begin(), pages.end());
  EXPECT_EQ(sizes, (std::set<std::size_t>{20, 32, 48, 64}));
  EXPECT_EQ(pages.count(64),
            stats_of(heap_).pages - pages.count(20) - pages.count(32) - pages.count(48));
}

TEST_P(TableHeaps, TableAndFixedSizesAreAtMost128) {
  Sizes table;
  for (std::size_t i = 1; i <= 100; ++i) table.push_back(32 * i);
  const Heap heap(with(table, GetParam()));
  for (std::size_t bytes = 9; bytes <= 37; ++bytes) {  // 28 and that of 32 bytes.
    EXPECT_NE(tarn_heap_fixed(heap, bytes, 1).record, nullptr);
  }
  for (std::size_t i = 1; i <= 100; ++i) {
    EXPECT_NE(tarn_heap_fixed(heap, 32 * i, 1).record, nullptr);
  }
  errno = 0;
  EXPECT_EQ(tarn_heap_fixed(heap, 1001, 1).record, nullptr);
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_EQ(usable(tarn_fixed_allocate(tarn_heap_fixed(heap, 3200, 16))), 3200u);
  EXPECT_EQ(usable(tarn_fixed_allocate(tarn_heap_fixed(heap, 36, 1))), 36u);
}

TEST_P(TableHeaps, ABlockStaysWhileItsClassSuffices) {
  for (std::size_t from = 1; from <= 100'000; from += from < 1'100 ? 13 : from / 3) {
    void* const p = tarn_heap_allocate(heap_, from);
    fill(p, from, 3);
    const std::size_t size = usable(p);
    for (std::size_t to = 1; to <= size; to += to < 1'100 ? 17 : to / 5) {
      if (class_in(uneven, to) != size) continue;
      ASSERT_EQ(tarn_heap_reallocate(heap_, p, to), p) << from << " to " << to;
      ASSERT_EQ(tarn_realloc(p, to), p) << from << " to " << to;
      ASSERT_EQ(tarn_heap_try_expand(p, to), 1);
    }
    ASSERT_EQ(tarn_heap_reallocate(heap_, p, size), p);
    ASSERT_EQ(tarn_heap_try_expand(p, size + 1), 0);
    void* const larger = tarn_heap_reallocate(heap_, p, size + 1);
    ASSERT_NE(larger, p);
    ASSERT_TRUE(is_filled(larger, std::min<std::size_t>(from, 1), 3));
    ASSERT_EQ(usable(larger), usable_in(uneven, size + 1));
    ASSERT_EQ(stats_of(heap_).live_blocks, 1u);
    tarn_heap_deallocate(larger);
  }
  // A class far below its neighbour: elsewhere such a block would move to a smaller one.
  const Heap sparse(with({64, 64 * kib}, GetParam()));
  void* p = tarn_heap_allocate(sparse, 60'000);
  EXPECT_EQ(tarn_heap_reallocate(sparse, p, 65), p);
  fill(p, 64, 8);
  p = tarn_heap_reallocate(sparse, p, 64);
  EXPECT_EQ(usable(p), 64u);
  EXPECT_TRUE(is_filled(p, 64, 8));
}

TEST_P(TableHeaps, SmallTablesHaveLargeBlocksEarly) {
  const Heap heap(with({64}, GetParam()));
  void* p = tarn_heap_allocate(heap, 65);
  EXPECT_EQ(usable(p), slice);
  EXPECT_EQ(stats_of(heap).large_blocks, 1u);
  fill(p, 65, 1);
  EXPECT_EQ(tarn_heap_reallocate(heap, p, slice), p);
  p = tarn_heap_reallocate(heap, p, 3 * slice);
  EXPECT_EQ(usable(p), 3 * slice);
  EXPECT_EQ(tarn_heap_reallocate(heap, p, 70), p) << "its tail goes back";
  EXPECT_EQ(usable(p), slice);
  EXPECT_TRUE(is_filled(p, 65, 1));
  EXPECT_EQ(stats_of(heap).live_blocks, 1u);
  p = tarn_heap_reallocate(heap, p, 64);
  EXPECT_EQ(usable(p), 64u);
  EXPECT_TRUE(is_filled(p, 64, 1));
  EXPECT_EQ(stats_of(heap).large_blocks, 0u);
  EXPECT_EQ(stats_of(heap).live_bytes, 64u);
}

TEST_P(TableHeaps, StayBelowTheirCeiling) {
  const Sizes table{1024};
  tarn_heap_options wanted = with(table, GetParam());
  wanted.ceiling_bytes = 64 * kib;
  const Heap heap(wanted);
  std::vector<void*> blocks;
  while (void* const p = tarn_heap_allocate(heap, blocks.size() % 1024)) blocks.push_back(p);
  EXPECT_EQ(blocks.size(), 64u);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(committed(heap), 64 * kib);
  for (int round = 0; round < 100; ++round) {
    for (std::size_t i = 32; i < 64; ++i) tarn_heap_deallocate(blocks[i]);
    for (std::size_t i = 32; i < 64; ++i) {
      blocks[i] = tarn_heap_allocate(heap, i * 16);
      ASSERT_NE(blocks[i], nullptr);
    }
    ASSERT_EQ(tarn_heap_allocate(heap, 1), nullptr);
  }
  for (void* const p : blocks) tarn_heap_deallocate(p);
  EXPECT_NE(tarn_heap_allocate(heap, 30'000), nullptr) << "empty pages make room";
}

TEST_P(TableHeaps, ClearedTheyServeAsBefore) {
  for (int round = 0; round < 4; ++round) {
    for (std::size_t bytes = 0; bytes < 2'000; bytes += 7) {
      ASSERT_EQ(usable(tarn_heap_allocate(heap_, bytes)), class_in(uneven, bytes));
    }
    EXPECT_EQ(tarn_heap_clear(heap_), 0);
    expect_empty(heap_);
    EXPECT_EQ(committed(heap_), 0u);
  }
}

TEST_P(TableHeaps, WalksShowTheClasses) {
  std::set<std::size_t> expected;
  for (std::size_t bytes = 1; bytes < 5'000; bytes += 100) {
    ASSERT_NE(tarn_heap_allocate(heap_, bytes), nullptr);
    expected.insert(class_in(uneven, bytes));
  }
  const std::multiset<std::size_t> pages = pages_of(heap_);
  EXPECT_EQ(std::set<std::size_t>(pages.begin(), pages.end()), expected);
  EXPECT_EQ(pages.size(), stats_of(heap_).pages);
}

std::unique_ptr<tarn_account> account() {
  auto made = std::make_unique<tarn_account>();
  EXPECT_EQ(tarn_process_account(made.get(), sizeof *made), 0);
  return made;
}

TEST_P(TableHeaps, AccountsCountTheirBlocksInTheRowOfTheClass) {
  const auto before = account();
  std::vector<std::uint64_t> live(before->class_count);
  for (int i = 0; i < 100; ++i) {
    for (const std::size_t size : uneven) {
      ASSERT_EQ(usable(tarn_heap_allocate(heap_, size - 15)), size);
      std::size_t row = 1;
      while (before->classes[row].block_bytes < size) ++row;
      ++live[row];
    }
  }
  const auto after = account();
  for (std::size_t row = 0; row < after->class_count; ++row) {
    EXPECT_EQ(after->classes[row].live_blocks - before->classes[row].live_blocks, live[row]);
    const std::uint64_t made = after->classes[row].allocations - before->classes[row].allocations;
    // Under a lock it is nobody's page: what is ready there counts as handed out.
    EXPECT_GE(made, live[row]) << row;
    EXPECT_LE(made, live[row] == 0 ? 0 : live[row] + 4 * slice / 32) << row;
  }
  EXPECT_EQ(tarn_heap_clear(heap_), 0);
  const auto cleared = account();
  for (std::size_t row = 0; row < after->class_count; ++row) {
    EXPECT_EQ(cleared->classes[row].live_blocks, before->classes[row].live_blocks);
    EXPECT_GE(cleared->classes[row].allocations, after->classes[row].allocations);
  }
}

// One heap after the other, of whatever table, ended in every way: they get each other's thread
// heaps.
class Succession {
 public:
  Succession(int threads, unsigned seed) : threads_(threads), random_(seed) {}
  ~Succession() {
    for (void* const p : kept_) tarn_free(p);
  }

  void next() {
    const Sizes& table = tables_[below(tables_.size())];
    const tarn_heap_options wanted = table.empty() ? options(threads_) : with(table, threads_);
    heap_ = tarn_heap_create(&wanted);
    ASSERT_FALSE(is_none(heap_));
    if (table.empty()) make_grown_up(heap_);
    use(table, below(300));
    if (below(4) == 0) {
      ASSERT_EQ(tarn_heap_clear(heap_), 0);
      blocks_.clear();
      if (table.empty()) make_grown_up(heap_);
      use(table, below(100));
    }
    end();
    while (!kept_.empty() && below(3) != 0) free_one(kept_);
  }

 private:
  std::size_t below(std::size_t count) { return random_() % count; }
  void free_one(std::vector<void*>& blocks) {
    std::swap(blocks[below(blocks.size())], blocks.back());
    tarn_free(blocks.back());
    blocks.pop_back();
  }
  void use(const Sizes& table, std::size_t steps) {
    for (; steps != 0; --steps) {
      if (!blocks_.empty() && below(3) == 0) {
        free_one(blocks_);
        continue;
      }
      const std::size_t bytes = below(1'030);
      void* const p = tarn_heap_allocate(heap_, bytes);
      ASSERT_NE(p, nullptr);
      const std::size_t common = bytes <= 1'024 ? in_grains(bytes) : 1'152;
      ASSERT_EQ(usable(p), table.empty() ? common : usable_in(table, bytes)) << bytes;
      ASSERT_TRUE(same(tarn_heap_of(p), heap_));
      blocks_.push_back(p);
    }
  }
  void end() {
    const std::size_t how = below(3);
    while (how == 0 && !blocks_.empty()) free_one(blocks_);
    if (how == 1) {
      ASSERT_EQ(tarn_heap_delete(heap_), 0);
      kept_.insert(kept_.end(), blocks_.begin(), blocks_.end());
    } else {
      ASSERT_EQ(tarn_heap_destroy(heap_), 0);
    }
    blocks_.clear();
  }

  const std::vector<Sizes> tables_{{}, {}, uneven, {1024}, {16}, {16, 32, 48, 1008, 1024}, {2048}};
  int threads_;
  std::mt19937 random_;
  tarn_heap heap_{};
  std::vector<void*> blocks_;
  std::vector<void*> kept_;  // Of heaps that were deleted.
};

TEST_P(TableHeaps, LeaveNothingToTheHeapsAfterThem) {
  for (unsigned turn = 0; turn < 8; ++turn) {
    std::thread([&] {  // Its record, thread heaps and all, goes to the next one.
      Succession heaps(GetParam(), turn);
      for (int i = 0; i < scaled(500); ++i) heaps.next();
    })
        .join();
  }
}

TEST_P(TableHeaps, GoOnInTheChildOfAFork) {
  void* const inherited = tarn_heap_allocate(heap_, 500);
  for (std::size_t bytes = 0; bytes < 1'100; ++bytes) {
    ASSERT_NE(tarn_heap_allocate(heap_, bytes), nullptr);
  }
  const int status = support::status_of_child([&] {
    bool right = usable(inherited) == 768;
    tarn_heap_deallocate(inherited);
    for (std::size_t bytes = 0; bytes < 5'000; ++bytes) {
      right = right && usable(tarn_heap_allocate(heap_, bytes)) == usable_in(uneven, bytes);
    }
    right = right && tarn_heap_clear(heap_) == 0;
    right = right && usable(tarn_heap_allocate(heap_, 33)) == 64;
    return right ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(usable(tarn_heap_allocate(heap_, 500)), 768u);
}

// Several threads in two heaps of different tables: blocks change hands, heaps are walked, trimmed
// and cleared meanwhile.
TEST(TableHeapsOfThreads, ServeEachRequestFromItsClass) {
  const Sizes coarse{16, 256, 1024, 8192};
  const Heap shared(with(uneven));
  const Heap serialised(with(coarse, TARN_HEAP_SERIALISED));
  std::array<std::atomic<void*>, 256> places{};
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int step = 0; step < 100'000; ++step) {
      const std::size_t at = random() % places.size();
      const bool first = at % 2 == 0;
      const std::size_t bytes = random() % (step % 64 == 0 ? 30'000 : 1'100);
      void* const p = tarn_heap_allocate(first ? shared : serialised, bytes);
      if (p == nullptr || usable(p) != usable_in(first ? uneven : coarse, bytes)) std::abort();
      *static_cast<volatile unsigned char*>(p) = 1;
      tarn_heap_deallocate(places[at].exchange(p));
      if (step % 1'000 == 0) tarn_heap_trim(first ? shared : serialised, 0);
      if (step % 3'000 == 2'999 && pages_of(shared).empty()) std::abort();  // Others hold some.
    }
  };
  support::in_threads(4u, work);
  std::uint64_t held = 0;
  for (std::size_t at = 0; at < places.size(); at += 2) held += places[at] != nullptr;
  EXPECT_EQ(stats_of(shared).live_blocks, held);
  for (std::atomic<void*>& place : places) tarn_heap_deallocate(place);
  expect_empty(shared);
  expect_empty(serialised);
}

}  // namespace
}  // namespace heaps
