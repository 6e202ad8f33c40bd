// statistics: mallinfo, mallinfo2, malloc_stats, malloc_info, malloc_trim and mallopt.
//
// Only the drop-in has these: they are the C library's own names, and the figures are compared
// with what this test holds itself, never with exact internals.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "family.h"
#include "pattern.h"

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

struct mallinfo2 snapshot() {
  return mallinfo2();
}

std::size_t bytes_in_use() {
  const struct mallinfo2 info = snapshot();
  return info.uordblks + info.hblkhd;
}

std::size_t resident_bytes() {
  std::size_t total = 0;
  std::size_t resident = 0;
  std::FILE* statm = std::fopen("/proc/self/statm", "r");
  if (statm == nullptr || std::fscanf(statm, "%zu %zu", &total, &resident) != 2) return 0;
  std::fclose(statm);
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::vector<void*> take(std::size_t count, std::size_t size) {
  std::vector<void*> blocks(count);
  for (void*& block : blocks) {
    block = malloc(size);
    if (block != nullptr) pattern_fill(block, size, 1);
  }
  return blocks;
}

void give(std::vector<void*>& blocks) {
  for (void* block : blocks) free(block);
  blocks.clear();
}

TEST(Statistics, BytesInUseFollowSmallBlocks) {
  const std::size_t before = bytes_in_use();
  std::vector<void*> blocks = take(64 * 1024, 1000);
  const std::size_t during = bytes_in_use();
  give(blocks);
  const std::size_t after = bytes_in_use();
  EXPECT_GE(during, before + 50 * mebibyte);
  EXPECT_LE(during, before + 100 * mebibyte);
  EXPECT_LE(after, before + 10 * mebibyte);
}

TEST(Statistics, BytesInUseFollowLargeBlocks) {
  const std::size_t before = bytes_in_use();
  std::vector<void*> blocks = take(16, 8 * mebibyte);
  const std::size_t during = bytes_in_use();
  give(blocks);
  const std::size_t after = bytes_in_use();
  EXPECT_GE(during, before + 120 * mebibyte);
  EXPECT_LE(after, before + 10 * mebibyte);
}

TEST(Statistics, TheOldStructureAgreesWhereItCan) {
  std::vector<void*> blocks = take(1000, 1000);
  const struct mallinfo2 wide = snapshot();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const struct mallinfo narrow = mallinfo();
#pragma GCC diagnostic pop
  EXPECT_EQ(static_cast<std::size_t>(narrow.uordblks), wide.uordblks);
  EXPECT_EQ(static_cast<std::size_t>(narrow.hblkhd), wide.hblkhd);
  EXPECT_GE(wide.uordblks + wide.hblkhd, 1000000u);
  give(blocks);
}

TEST(Statistics, TrimGivesFreeMemoryBack) {
  malloc_trim(0);
  const std::size_t before = resident_bytes();
  std::vector<void*> blocks = take(128 * 1024, 1000);
  const std::size_t during = resident_bytes();
  ASSERT_GE(during, before + 100 * mebibyte);
  give(blocks);
  const int released = malloc_trim(0);
  EXPECT_TRUE(released == 0 || released == 1);
  EXPECT_LE(resident_bytes(), before + 40 * mebibyte);
  void* block = malloc(100);
  EXPECT_NE(block, nullptr);
  free(block);
}

TEST(Statistics, TrimTakesEveryPad) {
  for (const std::size_t pad : {std::size_t{0}, std::size_t{1}, mebibyte, std::size_t{SIZE_MAX}}) {
    const int released = malloc_trim(opaque(pad));
    EXPECT_TRUE(released == 0 || released == 1) << pad;
  }
}

TEST(Statistics, KnownParametersAreAccepted) {
  EXPECT_EQ(mallopt(M_MXFAST, 64), 1);
  EXPECT_EQ(mallopt(M_TRIM_THRESHOLD, 1 << 20), 1);
  EXPECT_EQ(mallopt(M_TOP_PAD, 65536), 1);
  EXPECT_EQ(mallopt(M_MMAP_THRESHOLD, 1 << 20), 1);
  EXPECT_EQ(mallopt(M_MMAP_MAX, 1000), 1);
  EXPECT_EQ(mallopt(M_CHECK_ACTION, 3), 1);
  EXPECT_EQ(mallopt(M_PERTURB, 0), 1);
  EXPECT_EQ(mallopt(M_ARENA_TEST, 2), 1);
  EXPECT_EQ(mallopt(M_ARENA_MAX, 4), 1);
  void* block = malloc(100);
  EXPECT_NE(block, nullptr);
  free(block);
}

// What `print` writes to the standard error stream's descriptor.
template <class Print>
std::string error_output(Print print) {
  std::fflush(stderr);
  const int saved = dup(STDERR_FILENO);
  std::FILE* file = std::tmpfile();
  if (saved < 0 || file == nullptr) return {};
  dup2(fileno(file), STDERR_FILENO);
  print();
  std::fflush(stderr);
  dup2(saved, STDERR_FILENO);
  close(saved);
  std::string text;
  std::rewind(file);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

TEST(Statistics, StatsPrintNumbersOnStandardError) {
  void* block = malloc(1000);
  const std::string text = error_output([] { malloc_stats(); });
  free(block);
  ASSERT_FALSE(text.empty());
  EXPECT_EQ(text.back(), '\n');
  EXPECT_NE(text.find_first_of("0123456789"), std::string::npos) << text;
}

// Just enough of XML to tell a well-formed document from a broken one: tags nest and close, and
// attributes are quoted. Returns the name of the root, or nothing.
std::string root_of_well_formed(const std::string& text) {
  std::vector<std::string> open;
  std::string root;
  std::size_t at = 0;
  while ((at = text.find('<', at)) != std::string::npos) {
    const std::size_t end = text.find('>', at);
    if (end == std::string::npos) return {};
    const std::string tag = text.substr(at + 1, end - at - 1);
    at = end;
    if (tag.empty() || tag[0] == '?' || tag[0] == '!') continue;
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0) return {};
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return {};
      open.pop_back();
      continue;
    }
    const std::string name = tag.substr(0, tag.find_first_of(" \t\n/"));
    if (root.empty())
      root = name;
    else if (open.empty())
      return {};
    if (tag.back() != '/') open.push_back(name);
  }
  return open.empty() ? root : std::string{};
}

std::string information(int options, int* result) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* stream = open_memstream(&text, &size);
  if (stream == nullptr) return {};
  *result = malloc_info(options, stream);
  std::fclose(stream);
  const std::string copy(text, size);
  free(text);
  return copy;
}

TEST(Statistics, InformationIsAWellFormedDocument) {
  std::vector<void*> blocks = take(1000, 100);
  int result = -1;
  const std::string text = information(0, &result);
  EXPECT_EQ(result, 0);
  EXPECT_EQ(root_of_well_formed(text), "malloc") << text;
  EXPECT_NE(text.find("version="), std::string::npos);
  give(blocks);
}

TEST(Statistics, InformationRefusesUnknownOptions) {
  int result = 0;
  const std::string text = information(static_cast<int>(opaque(1)), &result);
  EXPECT_EQ(result, EINVAL);
  EXPECT_TRUE(text.empty()) << text;
}

TEST(Statistics, TheParserOfThisTestSeesBrokenDocuments) {
  EXPECT_EQ(root_of_well_formed("<a b=\"1\"><c/></a>"), "a");
  EXPECT_EQ(root_of_well_formed("<a><b></a></b>"), "");
  EXPECT_EQ(root_of_well_formed("<a>"), "");
  EXPECT_EQ(root_of_well_formed("<a b=\"1></a>"), "");
  EXPECT_EQ(root_of_well_formed("nothing"), "");
}

}  // namespace
