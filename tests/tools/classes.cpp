// classes: `tarn classes`: the tables are the best there are, requests are counted exactly, and
// what makes no sense is refused.
// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "best_table.hpp"
#include "classes_report.hpp"
#include "command.hpp"
#include "failure.hpp"
#include "size_counts.hpp"
#include "tarn/tarn.h"

namespace tarn::test {

namespace {

SizeCounts counts_of(std::vector<SizeCount> sizes) { return sum_up(std::move(sizes), "test"); }

// The least that any `count` of the rounded sizes reserve: all subsets are tried.
std::uint64_t least_of_all(const SizeCounts& counts, std::size_t count) {
  std::vector<std::size_t> sizes;
  for (const SizeCount& row : counts.sizes) {
    const std::size_t bytes = row.bytes == 0 ? 16 : (row.bytes + 15) / 16 * 16;
    if (sizes.empty() || sizes.back() != bytes) sizes.push_back(bytes);
  }
  std::uint64_t least = UINT64_MAX;
  for (unsigned set = 1u << (sizes.size() - 1); set < 1u << sizes.size(); ++set) {
    if (static_cast<std::size_t>(__builtin_popcount(set)) != count) continue;
    std::vector<std::size_t> table;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if ((set >> i & 1) != 0) table.push_back(sizes[i]);
    }
    least = std::min(least, reserved_bytes(counts, table));
  }
  return least;
}

TEST(BestTables, AreTheBestOfAll) {
  std::mt19937 random(24);
  for (int turn = 0; turn < 300; ++turn) {
    std::vector<SizeCount> sizes(1 + random() % 11);
    const std::uint64_t spread = std::uint64_t{2} << random() % 17;
    const std::uint64_t often = std::uint64_t{1} << turn % 20;
    for (SizeCount& row : sizes) row = {random() % spread, 1 + random() % often};
    const SizeCounts counts = counts_of(sizes);
    if (counts.empty()) continue;
    const BestTables tables(counts, TARN_HEAP_CLASSES_MAX);
    std::uint64_t saved_before = UINT64_MAX;
    for (std::size_t k = 1; k <= tables.count_max(); ++k) {
      const std::vector<std::size_t> table = tables.table(k);
      ASSERT_EQ(table.size(), k);
      EXPECT_EQ(reserved_bytes(counts, table), tables.reserved_bytes(k));
      ASSERT_EQ(tables.reserved_bytes(k), least_of_all(counts, k)) << "turn " << turn;
      tarn_heap_options options = TARN_HEAP_OPTIONS();
      options.class_bytes = table.data();
      options.class_count = k;
      const tarn_heap heap = tarn_heap_create(&options);
      EXPECT_NE(heap.record, nullptr) << "a heap takes it";
      tarn_heap_destroy(heap);
      if (k == 1) continue;
      const std::uint64_t saved = tables.reserved_bytes(k - 1) - tables.reserved_bytes(k);
      EXPECT_LE(saved, saved_before) << "what one more saves never grows";
      saved_before = saved;
    }
  }
}

TEST(BestTables, ManySizesAndManyRequests) {
  std::vector<SizeCount> sizes;
  for (std::uint64_t bytes = 1; bytes <= TARN_HEAP_CLASS_BYTES_MAX; ++bytes) {
    sizes.push_back({bytes, (std::uint64_t{1} << 46) / TARN_HEAP_CLASS_BYTES_MAX});
  }
  const SizeCounts counts = counts_of(sizes);
  const BestTables tables(counts, TARN_HEAP_CLASSES_MAX);
  EXPECT_EQ(tables.count_max(), std::size_t{TARN_HEAP_CLASSES_MAX});
  for (const std::size_t k : {1u, 7u, 128u}) {
    EXPECT_EQ(reserved_bytes(counts, tables.table(k)), tables.reserved_bytes(k));
  }
  // Equally frequent sizes are best served by equal steps.
  const std::vector<std::size_t> table = tables.table(128);
  for (std::size_t i = 0; i < 128; ++i) {
    EXPECT_NEAR(static_cast<double>(table[i]), static_cast<double>(1024 * (i + 1)), 1024);
  }
}

TEST(BestTables, TheKneeIsWhereOneMoreSavesTooLittle) {
  const SizeCounts counts = counts_of({{16, 1000}, {32, 1000}, {1024, 1000}, {1040, 1}});
  const BestTables tables(counts, TARN_HEAP_CLASSES_MAX);
  EXPECT_EQ(tables.count_max(), 4u);
  EXPECT_EQ(tables.knee(0.05), 2u);
  EXPECT_EQ(tables.knee(0.005), 4u);
  EXPECT_EQ(tables.knee(1e9), 1u);
}

TEST(ReadyTables, AreThoseOfTheLibrary) {
  const std::vector<TableFigures> tables = ready_tables(counts_of({{100, 1}}));
  ASSERT_EQ(tables.size(), 5u);
  const std::vector<std::size_t>& common = tables.back().classes;
  std::size_t at = 0;
  for (std::size_t bytes = 1; bytes <= TARN_HEAP_CLASS_BYTES_MAX; bytes += 5) {
    while (common[at] < bytes) ++at;
    void* const p = tarn_malloc(bytes);
    ASSERT_EQ(tarn_malloc_usable_size(p), common[at]) << bytes;
    tarn_free(p);
  }
}

TEST(ReadyTables, TrueAveragesOfS2) {
  const std::vector<TableFigures> tables = uniform_tables(32, 8 << 20);
  ASSERT_EQ(tables.size(), 4u);
  const std::size_t classes[] = {19, 37, 73, 145};
  const double fills[] = {75.0, 85.7, 92.3, 96.0};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(tables[i].classes.size(), classes[i]);
    EXPECT_NEAR(tables[i].fill * 100, fills[i], 0.05);
    const double coarser = i == 0 ? 0 : tables[i - 1].copied;
    EXPECT_GT(tables[i].copied, coarser) << "finer ones copy more";
  }
}

class Classes : public CommandTest {
 protected:
  void expect_refused(const std::vector<std::string>& words, const std::string& reason) {
    const Result result = run(words);
    EXPECT_EQ(result.exit_status(), 2) << result.errors;
    EXPECT_TRUE(contains(result.errors, reason));
    EXPECT_EQ(result.output, "");
  }
  nlohmann::json json_of(const std::vector<std::string>& words) {
    const Result result = run(words);
    EXPECT_EQ(result.exit_status(), 0) << result.errors;
    return nlohmann::json::parse(result.output);
  }
};

TEST_F(Classes, FileIsReadAsItMayBeWritten) {
  write_file("sizes", "# sizes\n100\n\n  40 3 # thrice\n40,2\r\n0\n131073 2\n100;7");
  const auto json = json_of({"classes", "--json", "-", "sizes"});
  EXPECT_EQ(json["format"], "tarn-classes");
  EXPECT_EQ(json["requests"], 14);
  EXPECT_EQ(json["sizes"], 3);
  EXPECT_EQ(json["asked_bytes"], 40 * 5 + 100 * 8);
  EXPECT_EQ(json["large_requests"], 2);
  EXPECT_EQ(json["best"]["class_bytes"], nlohmann::json({16, 48, 112}));
  EXPECT_NEAR(json["best"]["fill"], 1000.0 / (16 + 48 * 5 + 112 * 8), 1e-9);
  EXPECT_EQ(json["others"].size(), 5u);
}

TEST_F(Classes, TextAndCodeSayTheSame) {
  write_file("sizes", "10 5\n400 9\n4000 2\n");
  const Result text = run({"classes", "--classes", "2", "sizes"});
  EXPECT_EQ(text.exit_status(), 0);
  EXPECT_TRUE(contains(text.output, "\n  400, 4000\n"));
  EXPECT_TRUE(contains(text.output, "best of 2 "));
  EXPECT_TRUE(contains(text.output, "8 steps a doubling"));
  const Result c = run({"classes", "--classes", "2", "--code", "c", "sizes"});
  EXPECT_TRUE(contains(c.output, "static const size_t class_bytes[] = {\n    400, 4000};\n"));
  const Result cpp = run({"classes", "--classes", "2", "--code", "c++", "sizes"});
  EXPECT_TRUE(contains(cpp.output, "constexpr std::size_t class_bytes[] = {\n    400, 4000};\n"));
  input = (folder() / "sizes").string();
  EXPECT_EQ(run({"classes", "--classes", "2", "-"}).output, text.output);
  const Result saved = run({"classes", "--save", "-", "-"});
  EXPECT_TRUE(contains(saved.output, "10 5\n400 9\n4000 2\n"));
}

TEST_F(Classes, UniformSizes) {
  const Result text = run({"classes", "--uniform", "32:8M"});
  for (const char* const cell :
       {"75.0 %", "85.7 %", "92.3 %", "96.0 %", " 19 ", " 37 ", " 73 ", " 145 "}) {
    EXPECT_TRUE(contains(text.output, cell));
  }
  EXPECT_EQ(json_of({"classes", "--uniform", "1K:1K", "--json", "-"})["tables"][0]["class_bytes"],
            nlohmann::json({1024}));
}

TEST_F(Classes, BadInputIsRefusedWithItsLine) {
  const std::map<std::string, std::string> files = {
      {"", "sizes: there is no size in it"},
      {"# 12\n", "there is no size in it"},
      {"12\n13 x\n", "sizes:2: 'x' is no number of requests"},
      {"12 0\n", "sizes:1: '0' is no number of requests"},
      {"12 -1\n", "'-1' is no number"},
      {"-12\n", "sizes:1: '-12' is no size in bytes"},
      {"1e3\n", "'1e3' is no size"},
      {"99999999999999999999\n", "is no size"},
      {"1\n2\n3 4 5\n", "sizes:3: '5' is one word too many"},
      {"1 70368744177664\n2 1\n", "more than 70368744177664 requests"},
      {"131073\n", "asks for nothing that a class could serve"},
      {std::string("\x1b[31m\0\n", 7), "'?[31m?' is no size"},
  };
  for (const auto& [content, reason] : files) {
    write_file("sizes", content);
    expect_refused({"classes", "sizes"}, reason);
  }
  expect_refused({"classes", "no/such"}, "cannot read 'no/such': No such file");
  expect_refused({"classes", "."}, "cannot read '.': Is a directory");
}

TEST_F(Classes, BadCommandLinesAreRefused) {
  expect_refused({"classes"}, "name a file with sizes, or a program after --");
  expect_refused({"classes", "--"}, "name a program");
  expect_refused({"classes", "a", "b"}, "one file is enough, 'b' is too many");
  expect_refused({"classes", "--frob", "a"}, "no option --frob; see `tarn classes --help`");
  expect_refused({"classes", "a", "--", "true"}, "exclude each other");
  expect_refused({"classes", "--uniform", "1:2", "a"}, "exclude each other");
  expect_refused({"classes", "--classes", "0", "a"}, "not in range 1 to 128");
  expect_refused({"classes", "--classes", "129", "a"}, "not in range 1 to 128");
  expect_refused({"classes", "--code", "rust", "a"}, "rust");
  for (const char* const range : {"8", "8:3", "0:3", "a:b", "1:", ":1", "1:9999G", "1:2:3"}) {
    expect_refused({"classes", "--uniform", range}, "--uniform takes LEAST:MOST");
  }
  expect_refused({"classes", "--uniform", "1:2", "--code", "c"}, "leave it or");
  expect_refused({"classes", "--library", "x", "a"}, "--library is for a program");
  expect_refused({"classes", "--json", "-", "--save", "-", "a"}, "need a file each");
  expect_refused({"classes", "--json", "b", "--save", "b", "a"}, "need a file each");
  expect_refused({"classes", "--json", "-", "--code", "c", "a"}, "--code goes to stdout");
  expect_refused({"classes", "--save", "-", "--code", "c", "a"}, "--code goes to stdout");
  EXPECT_TRUE(contains(run({"classes", "--help"}).output, "tarn classes [OPTIONS] FILE"));
  EXPECT_TRUE(contains(run({"--help"}).output, "classes"));
}

TEST_F(Classes, WhatCannotBeWrittenIsSaid) {
  write_file("sizes", "10 5\n");
  expect_refused({"classes", "--save", "no/such", "sizes"},
                 "--save: cannot write 'no/such': No such file");
  expect_refused({"classes", "--save", "no/such", "--", "touch", "ran"}, "--save: cannot write");
  EXPECT_FALSE(std::filesystem::exists(folder() / "ran")) << "nothing is counted in vain";
  const Result full = run({"classes", "--save", "/dev/full", "sizes"});
  EXPECT_EQ(full.exit_status(), 125);
  EXPECT_TRUE(contains(full.errors, "--save: cannot write '/dev/full': No space left"));
  const std::string command = std::string(TARN_COMMAND) + " classes sizes >/dev/full";
  EXPECT_EQ(WEXITSTATUS(std::system(("cd " + folder().string() + " && " + command).c_str())), 125);
  // A file may be read and written at once; one that is not to be written stays as it is.
  EXPECT_EQ(run({"classes", "--save", "sizes", "sizes"}).exit_status(), 0);
  EXPECT_EQ(read_file("sizes"), "# size in bytes, requests\n10 5\n");
  write_file("wrong", "x\n");
  EXPECT_EQ(run({"classes", "--save", "sizes", "wrong"}).exit_status(), 2);
  EXPECT_EQ(read_file("sizes"), "# size in bytes, requests\n10 5\n");
  EXPECT_EQ(run({"classes", "--save", "fresh", "wrong"}).exit_status(), 2);
  EXPECT_FALSE(std::filesystem::exists(folder() / "fresh"));
}

TEST_F(Classes, WhatCannotBeCountedIsSaid) {
  expect_refused({"classes", "--library", TARN_FAKE_LIBRARY, "--", "true"},
                 "libtarn_sizes.so, which counts sizes");
}

#if defined(TARN_REAL_LIBRARY)

TEST_F(Classes, EachRequestOfAProgramIsCounted) {
  const Result result = run({"classes", "--save", "sizes", "--", TARN_SIZES_SUBJECT});
  EXPECT_EQ(result.exit_status(), 7) << result.errors;
  EXPECT_TRUE(contains(result.errors, "best of "));
  EXPECT_EQ(result.output, "");
  const SizeCounts counts = read_sizes((folder() / "sizes").string());
  std::map<std::uint64_t, std::uint64_t> found;
  for (const SizeCount& row : counts.sizes) found[row.bytes] = row.count;
  const std::map<std::uint64_t, std::uint64_t> asked = {
      {20001, 2}, {20003, 1}, {20005, 2}, {20007, 1}, {20009, 2},
      {20011, 2}, {20013, 1}, {20015, 1}, {20017, 1}, {64 * 331, 1}};
  for (const auto& [bytes, count] : asked) EXPECT_EQ(found[bytes], 2 * count) << bytes;
  EXPECT_TRUE(contains(read_file("sizes"), "# and 2 above 131072"));
  EXPECT_EQ(leftovers(), std::vector<std::string>());
}

TEST_F(Classes, AProgramKeepsItsStatusAndOutput) {
  const Result said = run({"classes", "--json", "json", "--", TARN_SUBJECT, "say", "hello"});
  EXPECT_EQ(said.output, "hello\n");
  EXPECT_EQ(said.exit_status(), 0);
  EXPECT_GT(nlohmann::json::parse(read_file("json"))["requests"], 0);
  const Result apart = run({"classes", "--json", "-", "--", TARN_SUBJECT, "say", "hello"});
  EXPECT_GT(nlohmann::json::parse(apart.output)["requests"], 0);
  EXPECT_TRUE(apart.errors.starts_with("hello\n")) << apart.errors;
  EXPECT_EQ(run({"classes", "--", TARN_SUBJECT, "exit", "37"}).exit_status(), 37);
  EXPECT_EQ(run({"classes", "--", TARN_SUBJECT, "die", "15"}).signal(), 15);
  EXPECT_EQ(run({"classes", "--", "surely-no-such-program"}).exit_status(), 127);
  const Result fixed = run({"classes", "--", TARN_SUBJECT_STATIC, "exit", "0"});
  EXPECT_EQ(fixed.exit_status(), 125);
  EXPECT_TRUE(contains(fixed.errors, "was not counted"));
  const Result cut = run({"classes", "--", TARN_SUBJECT, "cut_sizes"});
  EXPECT_EQ(cut.exit_status(), 125) << cut.signal();
  EXPECT_TRUE(contains(cut.errors, "was not counted"));
  EXPECT_EQ(leftovers(), std::vector<std::string>());
}

#endif

}  // namespace

}  // namespace tarn::test
