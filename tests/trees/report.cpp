// Reports of trees: each line as it must be; JSON as a parser reads it, its sums, and all that can
// be in a name; trees too deep and too wide to be shown; writers that fail.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unistd.h>

#include "tarn/tree/tree.hpp"
#include "tarn/tree/tree_report.hpp"

namespace {

using nlohmann::json;
using tarn::tree::report_string;
using tarn::tree::ReportOptions;

ReportOptions as_json(std::size_t depth_max = 0) {
  ReportOptions options;
  options.json = true;
  options.depth_max = depth_max;
  return options;
}

json json_of(const void* node, const ReportOptions& options = as_json()) {
  return json::parse(report_string(node, options));
}

tarn_tree_stats stats_of(const void* node) {
  tarn_tree_stats stats = TARN_TREE_STATS();
  EXPECT_EQ(tarn_tree_get_stats(node, &stats), 0);
  return stats;
}

std::string number(std::size_t n) {  // 12,345
  std::string digits = std::to_string(n);
  for (auto at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

// A node's own line, without what it is indented by.
std::string line(const void* node, const std::string& name, const std::string& more = "") {
  const tarn_tree_stats stats = stats_of(node);
  std::string text = name + ": " + number(stats.usable_bytes) + " bytes, " +
                     number(stats.overhead_bytes) + " overhead";
  if (stats.nodes > 1) {
    text += ", " + number(stats.nodes) + " nodes, depth " + number(stats.depth);
  }
  return text + more + "\n";
}

void* named(void* parent, const char* name, std::size_t bytes = 0) {
  void* const node = tarn_tree_allocate(parent, bytes);
  EXPECT_EQ(tarn_tree_set_name(node, name), 0);
  return node;
}

// book - one - (unnamed), note; book - two - reference to note
struct Book {
  tarn::Tree tree;
  void* book = tree.root();
  void* one = named(book, "one", 1000);
  void* text = tarn_tree_allocate(one, 20000);
  void* note = named(one, "note", 10);
  void* two = named(book, "two", 1);

  Book() {
    tarn_tree_set_static_name(book, "book");
    tarn_tree_reference(two, note);
  }
};

// The totals of each node are its own and its children's; gives the bytes of what is shown.
void expect_sums(const json& node) {
  std::size_t nodes = 1;
  std::size_t usable = node["own_usable_bytes"];
  std::size_t overhead = node["own_overhead_bytes"];
  std::size_t depth = 1;
  bool is_cut = false;
  for (const json& child : node["children"]) {
    if (child["kind"] == "reference") continue;
    nodes += child["nodes"].get<std::size_t>();
    usable += child["usable_bytes"].get<std::size_t>();
    overhead += child["overhead_bytes"].get<std::size_t>();
    if (child["kind"] == "folded") {
      is_cut = true;
      continue;
    }
    depth = std::max(depth, 1 + child["depth"].get<std::size_t>());
    expect_sums(child);
  }
  EXPECT_EQ(node["nodes"], nodes);
  EXPECT_EQ(node["usable_bytes"], usable);
  EXPECT_EQ(node["overhead_bytes"], overhead);
  EXPECT_TRUE(is_cut || node["depth"] == depth) << node["depth"] << " " << depth;
}

TEST(Report, HasALineForEachNodeAndReference) {
  const Book b;
  EXPECT_EQ(report_string(b.book), line(b.book, "book") +                    //
                                       "  " + line(b.one, "one") +           //
                                       "    " + line(b.text, "(unnamed)") +  //
                                       "    " + line(b.note, "note", ", 2 owners") + "  " +
                                       line(b.two, "two") +  //
                                       "    -> note, of one\n");
  // Usable sizes are what the allocator's classes have: the text says what stats say.
  EXPECT_GE(stats_of(b.book).usable_bytes, 21011u);
  EXPECT_EQ(stats_of(b.book).nodes, 5u);
}

TEST(Report, OneNodeAndNone) {
  const tarn::Tree tree;
  EXPECT_EQ(report_string(tree.root()), line(tree.root(), "(unnamed)"));
  EXPECT_EQ(report_string(nullptr), "");
  EXPECT_EQ(report_string(nullptr, as_json()), "null\n");
  const std::string line_of_json = report_string(tree.root(), as_json());
  EXPECT_EQ(line_of_json.find('\n'), line_of_json.size() - 1);
  const json one = json_of(tree.root());
  EXPECT_EQ(one["kind"], "node");
  EXPECT_TRUE(one["name"].is_null());
  EXPECT_EQ(one["owners"], 0);
  EXPECT_EQ(one["children"], json::array());
  expect_sums(one);
}

TEST(Report, InJson) {
  const Book b;
  const json book = json_of(b.book);
  EXPECT_EQ(book["name"], "book");
  EXPECT_EQ(book["references"], 1);
  EXPECT_EQ(book["depth"], 3);
  ASSERT_EQ(book["children"].size(), 2u);
  const json& one = book["children"][0];
  EXPECT_EQ(one["name"], "one");
  EXPECT_EQ(one["own_usable_bytes"], tarn_tree_size(b.one));
  ASSERT_EQ(one["children"].size(), 2u);
  EXPECT_TRUE(one["children"][0]["name"].is_null());
  EXPECT_EQ(one["children"][1]["owners"], 2);
  const json reference = {{"kind", "reference"}, {"name", "note"}, {"owner", "one"}};
  EXPECT_EQ(book["children"][1]["children"], json::array({reference}));
  expect_sums(book);
}

// The parent has gone: what has passed to the reference's owner is its child, and is counted there.
TEST(Report, ANodeThatPassedToAnotherOwner) {
  Book b;
  void* const below = named(b.note, "below note");
  ASSERT_EQ(tarn_tree_dispose(b.one), 0);
  EXPECT_EQ(report_string(b.book), line(b.book, "book") +           //
                                       "  " + line(b.two, "two") +  //
                                       "    " + line(b.note, "note") + "      " +
                                       line(below, "below note"));
  EXPECT_EQ(report_string(b.note), line(b.note, "note") + "  " + line(below, "below note"));
  void* const last = named(b.two, "last");  // After a child that is a reference's.
  EXPECT_EQ(report_string(b.two), line(b.two, "two") + "  " + line(b.note, "note") + "    " +
                                      line(below, "below note") + "  " + line(last, "last"));
  expect_sums(json_of(b.book));
}

// Referenced three times, counted once; a root that is referenced has no parent to be named.
TEST(Report, SharedNodesAreCountedOnce) {
  tarn::Tree tree;
  void* const shared = named(tree.root(), "shared", 1000);
  for (const char* const name : {"a", "b", "c"}) {
    ASSERT_EQ(tarn_tree_reference(named(tree.root(), name), shared), 0);
  }
  const json root = json_of(tree.root());
  expect_sums(root);
  EXPECT_EQ(root["nodes"], 5);
  EXPECT_EQ(root["references"], 3);
  EXPECT_LT(root["usable_bytes"], 2000);

  tarn::Tree other;
  ASSERT_EQ(tarn_tree_reference(other.root(), tree.root()), 0);
  EXPECT_EQ(report_string(other.root()), line(other.root(), "(unnamed)") + "  -> (unnamed)\n");
  const std::string first = report_string(tree.root());
  EXPECT_EQ(first.substr(0, first.find('\n') + 1), line(tree.root(), "(unnamed)", ", 1 owner"));
  EXPECT_TRUE(json_of(other.root())["children"][0]["owner"].is_null());
}

TEST(Report, SmallOnesAreFolded) {
  tarn::Tree tree;
  void* const large = named(tree.root(), "large", 10000);
  std::size_t bytes = 0;
  for (int i = 0; i < 17; ++i) {
    void* const small = named(tree.root(), "small", 100);
    EXPECT_EQ(tarn_tree_allocate(small, 30) == nullptr, false);
    bytes += stats_of(small).usable_bytes;
  }
  ReportOptions options;
  options.bytes_min = 1000;
  EXPECT_EQ(report_string(tree.root(), options),
            line(tree.root(), "(unnamed)") + "  " + line(large, "large") +
                "  + 17 smaller, 34 nodes, " + number(bytes) + " bytes\n");
  options.json = true;
  const json root = json_of(tree.root(), options);
  expect_sums(root);
  EXPECT_EQ(root["children"][1]["what"], "smaller");
  EXPECT_EQ(root["children"][1]["count"], 17);
  EXPECT_EQ(root["children"][1]["nodes"], 34);
  options.bytes_min = stats_of(large).usable_bytes;  // Fewer bytes than that, not as many.
  EXPECT_EQ(json_of(tree.root(), options)["children"][0]["name"], "large");
  options.bytes_min++;
  EXPECT_EQ(json_of(tree.root(), options)["children"].size(), 1u);
}

TEST(Report, SiblingsWithoutNamesAreFolded) {
  tarn::Tree tree;
  void* const root = tree.root();
  std::size_t leaf_bytes = 0;
  std::size_t parent_bytes = 0;
  for (int i = 0; i < 9; ++i) {
    leaf_bytes += tarn_tree_size(tarn_tree_allocate(root, 50));
    void* const parent = tarn_tree_allocate(root, 10);
    named(parent, "below");
    parent_bytes += stats_of(parent).usable_bytes;
  }
  void* const name = named(root, "named");
  EXPECT_EQ(report_string(root), line(root, "(unnamed)") + "  " + line(name, "named") +
                                     "  + 9 unnamed, " + number(leaf_bytes) + " bytes\n" +
                                     "  + 9 unnamed with children, 18 nodes, " +
                                     number(parent_bytes) + " bytes\n");
  ReportOptions options = as_json();
  expect_sums(json_of(root, options));
  EXPECT_EQ(json_of(root, options)["children"].size(), 3u);
  options.alike_min = 10;
  expect_sums(json_of(root, options));
  EXPECT_EQ(json_of(root, options)["children"].size(), 19u);
  options.alike_min = 1;
  EXPECT_EQ(json_of(root, options)["children"].size(), 3u);
}

// With 1 all of them are, and what has a name is shown; references still say where they lead.
TEST(Report, OnlyWhatHasAName) {
  const Book b;
  ReportOptions options;
  options.alike_min = 1;
  const std::string folded = number(tarn_tree_size(b.text));
  EXPECT_EQ(report_string(b.book, options), line(b.book, "book") + "  " + line(b.one, "one") +
                                                "    " + line(b.note, "note", ", 2 owners") +
                                                "    + 1 unnamed, " + folded + " bytes\n" + "  " +
                                                line(b.two, "two") + "    -> note, of one\n");
}

TEST(Report, MemoryOfItsOwn) {
  const tarn::Tree arena = tarn::Tree::with_arena();
  const tarn::Tree heap = tarn::Tree::with_heap();
  for (const tarn::Tree* const tree : {&arena, &heap}) {
    const std::string kind = tree == &arena ? "arena" : "heap";
    void* const below = named(tree->root(), "below", 100);
    EXPECT_EQ(report_string(tree->root()),
              line(tree->root(), "(unnamed)", ", own " + kind) + "  " + line(below, "below"));
    const json root = json_of(tree->root());
    expect_sums(root);
    EXPECT_EQ(root["own_memory"], kind);
    EXPECT_TRUE(root["children"][0]["own_memory"].is_null());
  }
}

TEST(Report, ManyReferencesAreFolded) {
  tarn::Tree tree;
  void* const owner = named(tree.root(), "owner");
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(tarn_tree_reference(owner, named(tree.root(), "x")), 0);
  }
  EXPECT_EQ(report_string(owner), line(owner, "owner") + "  + 1,000 references\n");
  const json folded = json_of(owner)["children"][0];
  EXPECT_EQ(folded["what"], "references");
  EXPECT_EQ(folded["count"], 1000);
  ReportOptions options = as_json();
  options.alike_min = SIZE_MAX;
  EXPECT_EQ(json_of(owner, options)["children"].size(), 1000u);
  EXPECT_EQ(json_of(tree.root(), options)["children"].size(), 1001u);
}

TEST(Report, DeeperOnesAreFolded) {
  const Book b;
  ReportOptions options;
  options.depth_max = 2;
  const std::size_t deeper = stats_of(b.text).usable_bytes + stats_of(b.note).usable_bytes;
  EXPECT_EQ(report_string(b.book, options), line(b.book, "book") +           //
                                                "  " + line(b.one, "one") +  //
                                                "    + 2 deeper, " + number(deeper) + " bytes\n" +
                                                "  " + line(b.two, "two") +  //
                                                "    -> note, of one\n");
  const json cut = json_of(b.book, as_json(1));
  expect_sums(cut);
  EXPECT_EQ(cut["children"].size(), 1u);
  EXPECT_EQ(cut["children"][0]["what"], "deeper");
  EXPECT_EQ(cut["children"][0]["count"], 2);
  EXPECT_EQ(cut["children"][0]["nodes"], 4);
}

TEST(Report, AMillionDeep) {
  tarn::Tree tree;
  const std::size_t depth = 1000000 / TARN_TEST_DIVISOR;
  void* node = tree.root();
  for (std::size_t i = 1; i < depth; ++i) node = tarn_tree_allocate(node, 16);
  const json root = json_of(tree.root());
  EXPECT_EQ(root["depth"], depth);
  const json* at = &root;
  for (int shown = 1; shown < 16; ++shown) at = &(*at)["children"][0];
  EXPECT_EQ((*at)["children"][0]["what"], "deeper");
  EXPECT_EQ((*at)["children"][0]["nodes"], depth - 16);
  const std::string text = report_string(tree.root(), {});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 17);
  // From below: only what is there.
  EXPECT_EQ(report_string(node), line(node, "(unnamed)"));
}

TEST(Report, AHundredThousandWide) {
  tarn::Tree tree;
  const std::size_t width = 100000 / TARN_TEST_DIVISOR;
  for (std::size_t i = 0; i < width; ++i) {
    ASSERT_EQ(tarn_tree_set_static_name(tarn_tree_allocate(tree.root(), 16), "leaf"), 0);
  }
  const std::string text = report_string(tree.root());
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), width + 1);
  ReportOptions options = as_json();
  options.bytes_min = 1000;
  const json root = json_of(tree.root(), options);
  expect_sums(root);
  EXPECT_EQ(root["children"].size(), 1u);
  EXPECT_EQ(root["children"][0]["count"], width);
}

TEST(Report, DoesNotChangeTheTree) {
  Book b;
  const std::string before = report_string(b.book, as_json());
  EXPECT_EQ(report_string(b.book, as_json()), before);
  EXPECT_EQ(tarn_tree_check(b.book), 1);
}

TEST(Report, NamesOfAllKinds) {
  tarn::Tree tree;
  const auto text_of = [&](const char* name) {
    EXPECT_EQ(tarn_tree_set_name(tree.root(), name), 0);
    const std::string text = report_string(tree.root());
    return text.substr(0, text.rfind(": "));
  };
  EXPECT_EQ(text_of("two\nlines\x1b\x7f"), "two\\x0alines\\x1b\\x7f");
  EXPECT_EQ(text_of("a\\b \"c\""), "a\\x5cb \"c\"");
  EXPECT_EQ(text_of("é€😀"), "é€😀");
  EXPECT_EQ(text_of("\xc2\x9b"), "\\xc2\\x9b");  // A control character of two bytes.
  EXPECT_EQ(text_of("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(text_of(""), "");

  const auto name_of = [&](const std::string& name) {
    EXPECT_EQ(tarn_tree_set_name(tree.root(), name.c_str()), 0);
    return json_of(tree.root())["name"].get<std::string>();
  };
  const std::string bad = "\xef\xbf\xbd";     // U+FFFD.
  EXPECT_EQ(name_of("\xc0\xaf"), bad + bad);  // Longer than need be.
  EXPECT_EQ(name_of("\xe0\x80\x80"), bad + bad + bad);
  EXPECT_EQ(name_of("\xed\xa0\x80"), bad + bad + bad);  // Half of a pair.
  EXPECT_EQ(name_of("\xf4\x90\x80\x80"), bad + bad + bad + bad);
  EXPECT_EQ(name_of("\xe2\x82"), bad + bad);  // Ends too early.
  EXPECT_EQ(name_of("\xe2\x82 x"), bad + bad + " x");
  EXPECT_EQ(name_of("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(name_of("\xf4\x8f\xbf\xbf"), "\xf4\x8f\xbf\xbf");
  std::string all;
  for (int c = 1; c < 128; ++c) all += static_cast<char>(c);
  EXPECT_EQ(name_of(all), all);
  const std::string long_name(10000, '"');  // Longer than any buffer.
  EXPECT_EQ(name_of(long_name), long_name);
}

// Whatever bytes are in a name, a parser takes it.
TEST(Report, AnyBytesAsAName) {
  tarn::Tree tree;
  std::uint64_t state = 42;
  for (int round = 0; round < 2000; ++round) {
    std::string name;
    for (int i = 0; i < 40; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const auto byte = static_cast<unsigned char>(state >> 33);
      if (byte != 0) name += static_cast<char>(i % 2 == 0 ? byte | 0x80 : byte);
    }
    ASSERT_EQ(tarn_tree_set_name(tree.root(), name.c_str()), 0);
    ASSERT_NO_THROW(json_of(tree.root())) << name;
    const std::string text = report_string(tree.root());
    ASSERT_NO_THROW(json(text).dump()) << name;  // UTF-8 throughout.
  }
}

TEST(Report, StopsWhereAWriterFails) {
  tarn::Tree tree;
  for (int i = 0; i < 100; ++i) named(tree.root(), "child");
  int pieces = 0;
  ASSERT_TRUE(tarn::tree::report(tree.root(), [&](std::string_view) { ++pieces; }));
  ASSERT_GT(pieces, 3);
  for (int last = 1; last <= pieces; ++last) {
    int calls = 0;
    const bool done = tarn::tree::report(tree.root(), [&](std::string_view piece) {
      EXPECT_LE(piece.size(), 512u);
      errno = EPIPE;
      return ++calls < last;
    });
    EXPECT_FALSE(done);
    EXPECT_EQ(errno, EPIPE);
    EXPECT_EQ(calls, last);
  }
  EXPECT_EQ(tarn_tree_check(tree.root()), 1);
}

TEST(Report, PassesOnWhatAWriterThrows) {
  const Book b;
  const auto thrower = [](std::string_view) { throw std::runtime_error("full"); };
  EXPECT_THROW(tarn::tree::report(b.book, thrower), std::runtime_error);
}

TEST(Report, ToStreams) {
  const Book b;
  std::ostringstream stream;
  EXPECT_TRUE(tarn::tree::report(stream, b.book));
  EXPECT_EQ(stream.str(), report_string(b.book));
  stream.setstate(std::ios::badbit);
  EXPECT_FALSE(tarn::tree::report(stream, b.book));

  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(tarn_tree_report_to_file(b.book, nullptr, file), 0);
  std::fflush(file);
  EXPECT_EQ(tarn_tree_report_to(b.book, nullptr, fileno(file)), 0);
  std::string both(2 * stream.str().size() + 1, ' ');
  std::rewind(file);
  both.resize(std::fread(both.data(), 1, both.size(), file));
  EXPECT_EQ(both, stream.str() + stream.str());
  std::fclose(file);
  errno = 0;
  EXPECT_EQ(tarn_tree_report_to(b.book, nullptr, -1), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST(Report, OptionsThatMakeNoSense) {
  const Book b;
  const auto refused = [&](tarn_tree_report_options options) {
    errno = 0;
    const auto write = [](void*, const char*, std::size_t) { return ADD_FAILURE(), 0; };
    return tarn_tree_report(b.book, &options, write, nullptr) == -1 && errno == EINVAL;
  };
  EXPECT_TRUE(refused({sizeof(tarn_tree_report_options) - 1, 0, 0, 0, 0}));
  EXPECT_TRUE(refused({sizeof(tarn_tree_report_options), 2, 0, 0, 0}));
  EXPECT_TRUE(refused({sizeof(tarn_tree_report_options), -1, 0, 0, 0}));
  EXPECT_TRUE(refused({sizeof(tarn_tree_report_options), 0, TARN_TREE_REPORT_DEPTH_MAX + 1, 0, 0}));
  EXPECT_EQ(tarn_tree_report(b.book, nullptr, nullptr, nullptr), -1);
  EXPECT_NE(report_string(b.book, as_json(TARN_TREE_REPORT_DEPTH_MAX)), "");
}

}  // namespace
