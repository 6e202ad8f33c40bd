// Class tables as such: the ready-made ones and what they fill, tables with sizes of one's own,
// what a heap takes and what it refuses, and the figures that docs/class_tables.md quotes.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "heap.hpp"
#include "tarn/heap/heap.hpp"

namespace heaps {
namespace {

using Sizes = std::vector<std::size_t>;

Sizes ready_made(unsigned steps, std::size_t least, std::size_t most, std::size_t grain) {
  Sizes sizes(tarn_class_table(steps, least, most, grain, nullptr, 0));
  EXPECT_EQ(tarn_class_table(steps, least, most, grain, sizes.data(), sizes.size()), sizes.size());
  return sizes;
}
double fill_of(const Sizes& sizes, std::size_t least, std::size_t most) {
  return tarn_class_fill(sizes.data(), sizes.size(), least, most);
}
// One request of each size.
double fill_counted(const Sizes& sizes, std::size_t least, std::size_t most) {
  std::uint64_t asked = 0;
  std::uint64_t reserved = 0;
  for (std::size_t bytes = least; bytes <= most; ++bytes) {
    asked += bytes;
    reserved += *std::lower_bound(sizes.begin(), sizes.end(), bytes);
  }
  return static_cast<double>(asked) / static_cast<double>(reserved);
}
void expect_invalid_fill(const Sizes& sizes, std::size_t least, std::size_t most) {
  errno = 0;
  EXPECT_EQ(fill_of(sizes, least, most), 0.0);
  EXPECT_EQ(errno, EINVAL);
}

TEST(ReadyMadeTables, FromThirtyTwoBytesToEightMebibytes) {
  EXPECT_EQ(ready_made(1, 32, 8 * mib, 1).size(), 19u);
  EXPECT_EQ(ready_made(2, 32, 8 * mib, 1).size(), 37u);
  EXPECT_EQ(ready_made(4, 32, 8 * mib, 1).size(), 73u);
  EXPECT_EQ(ready_made(8, 32, 8 * mib, 1).size(), 145u);
}

TEST(ReadyMadeTables, StepsDivideEachDoublingEvenly) {
  EXPECT_EQ(ready_made(1, 16, 256, 16), (Sizes{16, 32, 64, 128, 256}));
  EXPECT_EQ(ready_made(2, 32, 256, 1), (Sizes{32, 48, 64, 96, 128, 192, 256}));
  EXPECT_EQ(ready_made(4, 32, 128, 1), (Sizes{32, 40, 48, 56, 64, 80, 96, 112, 128}));
  EXPECT_EQ(ready_made(4, 32, 128, 16), (Sizes{32, 48, 64, 80, 96, 112, 128}));
  EXPECT_EQ(ready_made(8, 1, 4, 1), (Sizes{1, 2, 3, 4}));
  EXPECT_EQ(ready_made(1, 100, 1000, 1), (Sizes{100, 200, 400, 800, 1000}));
  EXPECT_EQ(ready_made(1, 100, 1000, 16), (Sizes{112, 208, 400, 800, 1008}));
  EXPECT_EQ(ready_made(3, 30, 60, 1), (Sizes{30, 40, 50, 60}));
  EXPECT_EQ(ready_made(2, 500, 500, 1), (Sizes{500}));
  EXPECT_EQ(ready_made(2, 500, 501, 16), (Sizes{512}));
}

TEST(ReadyMadeTables, AtTheEndsOfTheNumbers) {
  const std::size_t most = PTRDIFF_MAX;
  EXPECT_EQ(ready_made(1, 1, most, 1).back(), most);
  EXPECT_EQ(ready_made(1, most, most, 1), (Sizes{most}));
  EXPECT_EQ(ready_made(64, most - 2, most, 1).back(), most);
  EXPECT_EQ(ready_made(1, most - 1, most, 4096), (Sizes{most + 1}));
  EXPECT_EQ(ready_made(1, 1, 4097, 4096), (Sizes{4096, 8192}));
  for (const unsigned steps : {1u, 2u, 3u, 5u, 8u, 13u, 64u}) {
    for (const std::size_t least : {1u, 7u, 16u, 1000u}) {
      const Sizes sizes = ready_made(steps, least, most, least == 16 ? 16 : 1);
      for (std::size_t i = 1; i < sizes.size(); ++i) {
        ASSERT_LT(sizes[i - 1], sizes[i]);
        ASSERT_LE(sizes[i] / 2, sizes[i - 1]);
      }
    }
  }
}

TEST(ReadyMadeTables, WriteNoMoreThanThereIsRoomFor) {
  for (std::size_t room = 0; room < 9; ++room) {
    Sizes sizes(9, 77);
    EXPECT_EQ(tarn_class_table(4, 32, 96, 1, sizes.data(), room), 7u);
    for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(sizes[i] == 77, i >= room || i >= 7) << i;
  }
}

TEST(ReadyMadeTables, NumbersThatMakeNone) {
  struct Wrong {
    unsigned steps;
    std::size_t least, most, grain;
  };
  for (const Wrong w : {Wrong{0, 16, 64, 16},
                        {65, 16, 64, 16},
                        {UINT32_MAX, 16, 64, 16},
                        {1, 0, 64, 16},
                        {1, 65, 64, 1},
                        {1, 1, SIZE_MAX, 1},
                        {1, 1, std::size_t{PTRDIFF_MAX} + 1, 1},
                        {1, 16, 64, 0},
                        {1, 16, 64, 24},
                        {1, 16, 64, 8192},
                        {1, 16, 64, std::size_t{1} << 63}}) {
    errno = 0;
    EXPECT_EQ(tarn_class_table(w.steps, w.least, w.most, w.grain, nullptr, 0), 0u);
    EXPECT_EQ(errno, EINVAL);
  }
  errno = 0;
  EXPECT_EQ(tarn_class_table(1, 16, 64, 16, nullptr, 3), 0u);
  EXPECT_EQ(errno, EINVAL);
}

// 3k / (3k + 1); what is above that comes from sizes being whole bytes.
TEST(Fill, OfTheReadyMadeTablesIsKnown) {
  struct Known {
    unsigned steps;
    double fill;
  };
  for (const Known known : {Known{1, 0.750}, {2, 0.857}, {4, 0.923}, {8, 0.960}}) {
    const double k = known.steps;
    const double fill = fill_of(ready_made(known.steps, 32, 8 * mib, 1), 32, 8 * mib);
    EXPECT_NEAR(fill, known.fill, 0.0005) << k;
    EXPECT_NEAR(fill, 3 * k / (3 * k + 1), 0.0001) << k;
    EXPECT_GT(fill, 3 * k / (3 * k + 1)) << k;
  }
}

TEST(Fill, IsWhatCountingGives) {
  const Sizes odd{16, 48, 100, 101, 400, 1000};
  for (const std::size_t least : {1u, 2u, 16u, 17u, 100u, 101u, 102u, 999u, 1000u}) {
    for (const std::size_t most : {1u, 16u, 17u, 99u, 100u, 101u, 700u, 1000u}) {
      if (least > most) continue;
      EXPECT_NEAR(fill_of(odd, least, most), fill_counted(odd, least, most), 1e-12);
    }
  }
  EXPECT_EQ(fill_of({64}, 64, 64), 1.0);
  EXPECT_EQ(fill_of({64}, 16, 16), 0.25);
}

TEST(Fill, OfWhatIsNoTable) {
  expect_invalid_fill({}, 1, 1);
  expect_invalid_fill({64}, 0, 64);
  expect_invalid_fill({64}, 30, 29);
  expect_invalid_fill({64}, 1, 65);
  expect_invalid_fill({64, 64}, 1, 64);
  expect_invalid_fill({64, 32}, 1, 32);
  expect_invalid_fill({0, 32}, 1, 32);
  EXPECT_EQ(tarn_class_fill(nullptr, 1, 1, 1), 0.0);
}

TEST(TablesOfOnesOwn, TakeASizeWhereItBelongs) {
  Sizes table{16, 64, 256, 0, 0, 0};
  std::size_t count = 3;
  for (const std::size_t bytes : {100u, 1u, 300u, 112u, 97u, 256u, 16u}) {
    count = tarn_class_table_add(table.data(), count, table.size(), bytes);
  }
  EXPECT_EQ(count, 5u);
  EXPECT_EQ(table, (Sizes{16, 64, 112, 256, 304, 0}));
  EXPECT_EQ(tarn_class_table_add(table.data(), 5, 6, 128 * kib), 6u);
  errno = 0;
  EXPECT_EQ(tarn_class_table_add(table.data(), 6, 6, 500), 0u);
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_EQ(tarn_class_table_add(table.data(), 6, 6, 250), 6u) << "it is there";
  EXPECT_EQ(table, (Sizes{16, 64, 112, 256, 304, 128 * kib}));
  for (const std::size_t bytes : {std::size_t{0}, 128 * kib + 1, SIZE_MAX}) {
    errno = 0;
    EXPECT_EQ(tarn_class_table_add(table.data(), 2, 6, bytes), 0u);
    EXPECT_EQ(errno, EINVAL);
  }
  Sizes descends{64, 32, 0};
  errno = 0;
  EXPECT_EQ(tarn_class_table_add(descends.data(), 2, 3, 100), 0u);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(descends, (Sizes{64, 32, 0}));
  EXPECT_EQ(tarn_class_table_add(nullptr, 0, 1, 100), 0u);
}

TEST(TablesOfOnesOwn, InCpp) {
  tarn::ClassTable table = tarn::ClassTable::steps(1);
  EXPECT_EQ(table.size(), 14u);
  EXPECT_EQ(table[0], 16u);
  EXPECT_EQ(table[13], 128 * kib);
  EXPECT_TRUE(table.add(396));
  EXPECT_TRUE(table.add(768));
  EXPECT_EQ(table.size(), 16u);
  EXPECT_FALSE(table.add(0));
  EXPECT_FALSE(table.add(128 * kib + 1));
  EXPECT_EQ(table.size(), 16u);
  EXPECT_NEAR(table.fill(257, 400), fill_counted({400}, 257, 400), 1e-12);
  EXPECT_EQ(table.fill(1, 128 * kib + 1), 0.0);
  EXPECT_TRUE(tarn::ClassTable::steps(0).empty());
  EXPECT_TRUE(tarn::ClassTable::steps(64).empty()) << "more than 128";
  tarn::ClassTable full;
  for (std::size_t i = 1; i <= 128; ++i) EXPECT_TRUE(full.add(16 * i));
  EXPECT_FALSE(full.add(16 * 129));
  EXPECT_TRUE(full.add(16 * 128));
  EXPECT_EQ(static_cast<std::size_t>(full.end() - full.begin()), 128u);

  tarn::HeapOptions options;
  options.use(table);
  tarn::Heap heap(options);
  options.use(tarn::ClassTable());
  const tarn::Heap plain(options);
  table = {};
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(usable(heap.allocate(390)), 400u) << "the table was copied";
    EXPECT_EQ(usable(plain.allocate(66)), 80u);
  }
  const std::array<std::size_t, 2> wrong{64, 32};
  options.class_bytes = wrong.data();
  options.class_count = wrong.size();
  errno = 0;
  EXPECT_FALSE(static_cast<bool>(tarn::Heap::try_make(options)));
  EXPECT_EQ(errno, EINVAL);
}

void expect_refused(const std::size_t* class_bytes, std::size_t class_count, int error) {
  tarn_heap_options wanted = options();
  wanted.class_bytes = class_bytes;
  wanted.class_count = class_count;
  errno = 0;
  EXPECT_TRUE(is_none(tarn_heap_create(&wanted)));
  EXPECT_EQ(errno, error);
}
void expect_refused(const Sizes& sizes, int error) {
  expect_refused(sizes.data(), sizes.size(), error);
}

TEST(TableOptions, ThatAreRefused) {
  expect_refused({0}, EINVAL);
  expect_refused({0, 16}, EINVAL);
  expect_refused({8}, EINVAL);
  expect_refused({20}, EINVAL);
  expect_refused({16, 24}, EINVAL);
  expect_refused({16, 396}, EINVAL);
  expect_refused({32, 16}, EINVAL);
  expect_refused({16, 64, 64}, EINVAL);
  expect_refused({16, 64, 48, 128}, EINVAL);
  expect_refused({16, 128 * kib + 16}, EINVAL);
  expect_refused({SIZE_MAX - 15}, EINVAL);
  const std::size_t one = 16;
  expect_refused(nullptr, 1, EINVAL);
  expect_refused(&one, 0, EINVAL);
  Sizes many;
  for (std::size_t i = 1; i <= 129; ++i) many.push_back(16 * i);
  expect_refused(many, ENOSPC);
  expect_refused(many.data(), SIZE_MAX, ENOSPC);
  many.pop_back();
  tarn_heap_options wanted = options();
  wanted.class_bytes = many.data();
  wanted.class_count = many.size();
  const Heap heap(wanted);
  EXPECT_EQ(usable(tarn_heap_allocate(heap, 2033)), 2048u);
}

std::string documented(const char* name, std::size_t count, double fill) {
  std::array<char, 80> row{};
  std::snprintf(row.data(), row.size(), "| %s | %zu | %.1f %% | %.1f %% |", name, count, 100 * fill,
                100 * (1 - fill));
  return row.data();
}

// Each row of the tables in docs/class_tables.md, made here.
TEST(TableDocuments, QuoteWhatIsComputed) {
  std::ifstream file(TARN_ROOT "/docs/class_tables.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string document = text.str();
  ASSERT_FALSE(document.empty());
  const auto expect_row = [&](const std::string& row) {
    EXPECT_NE(document.find(row), std::string::npos) << row;
  };
  for (const unsigned steps : {1u, 2u, 4u, 8u}) {
    const std::string name = std::to_string(steps);
    const Sizes wide = ready_made(steps, 32, 8 * mib, 1);
    expect_row(
        documented((name + ", 32 B to 8 MiB").c_str(), wide.size(), fill_of(wide, 32, 8 * mib)));
    const Sizes own = ready_made(steps, 16, 128 * kib, 16);
    expect_row(documented((name + ", a heap's: 16 B to 128 KiB").c_str(), own.size(),
                          fill_of(own, 1, 128 * kib)));
    expect_row(documented((name + ", the same up to 1 KiB").c_str(),
                          ready_made(steps, 16, kib, 16).size(), fill_of(own, 1, kib)));
  }
}

}  // namespace
}  // namespace heaps
