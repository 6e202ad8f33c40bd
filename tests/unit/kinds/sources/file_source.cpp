// file_source where something is wrong: the device is full, or the options, or what lies in the
// file; another process has made it longer than this one may map. No chunk, errno says why, and
// nothing else has changed.
//
// SPDX-License-Identifier: MIT
#include "tarn/source/file_source.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "platform/os/fake/fake.hpp"
#include "tarn/source/buffer_source.h"

namespace tarn {
namespace {

class FullDevice : public testing::Test {
 protected:
  FullDevice() : file_(memfd_create("full", 0)) {
    options_.bytes = sizeof options_;
    options_.descriptor = file_;
    options_.flags = TARN_FILE_DESCRIPTOR | TARN_FILE_CREATE;
  }
  ~FullDevice() override {
    os::fake::limit_file_bytes(0);
    os::fake::fail_at(0, false);
    close(file_);
  }

  int file_;
  tarn_file_source_options options_{};
  tarn_file_source source_{};
};

TEST_F(FullDevice, NothingFitsAtFirst) {
  os::fake::limit_file_bytes(1000);
  EXPECT_EQ(tarn_file_source_init(&source_, &options_), -1);
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_STREQ(source_.why, "the storage is full");
  os::fake::limit_file_bytes(0);
  EXPECT_EQ(tarn_file_source_init(&source_, &options_), 0);
  tarn_file_source_destroy(&source_);
}

TEST_F(FullDevice, FillsUpAndGoesOn) {
  ASSERT_EQ(tarn_file_source_init(&source_, &options_), 0);
  os::fake::limit_file_bytes(90'000);  // Not where growth by quarters comes to.
  std::vector<tarn_chunk> chunks;
  for (;;) {
    const tarn_chunk chunk = tarn_file_source_acquire(&source_, 1000, 16);
    if (chunk.data == nullptr) break;
    std::memset(chunk.data, 1, chunk.bytes);
    chunks.push_back(chunk);
  }
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_GE(chunks.size(), 84u) << "21 pages, by single ones at the end";
  EXPECT_EQ(tarn_file_source_check(&source_), 1);
  tarn_file_source_release(&source_, chunks.back());
  EXPECT_EQ(tarn_file_source_acquire(&source_, 1000, 16).data, chunks.back().data);
  os::fake::limit_file_bytes(0);
  EXPECT_NE(tarn_file_source_acquire(&source_, 100'000, 16).data, nullptr);
  EXPECT_EQ(tarn_file_source_check(&source_), 1);
  tarn_file_source_destroy(&source_);
}

// A private source grows by memory, which may be refused.
TEST_F(FullDevice, APrivateOneWithoutMemory) {
  ASSERT_EQ(tarn_file_source_init(&source_, &options_), 0);
  tarn_file_source_destroy(&source_);
  options_.flags = TARN_FILE_DESCRIPTOR | TARN_FILE_PRIVATE;
  ASSERT_EQ(tarn_file_source_init(&source_, &options_), 0);
  os::fake::fail_at(1, true);
  EXPECT_EQ(tarn_file_source_acquire(&source_, 10'000, 16).data, nullptr);
  EXPECT_EQ(errno, ENOMEM);
  os::fake::fail_at(0, false);
  const tarn_chunk chunk = tarn_file_source_acquire(&source_, 10'000, 16);
  ASSERT_NE(chunk.data, nullptr);
  std::memset(chunk.data, 1, chunk.bytes);
  EXPECT_EQ(tarn_file_source_check(&source_), 1);
  tarn_file_source_destroy(&source_);
}

// How a source begins with these options, which are wrong.
const char* why_not(const tarn_file_source_options* options) {
  tarn_file_source source;
  errno = 0;
  EXPECT_EQ(tarn_file_source_init(&source, options), -1);
  EXPECT_EQ(errno, EINVAL) << source.why;
  return source.why;
}

TEST_F(FullDevice, OptionsThatMakeNoSense) {
  EXPECT_STREQ(why_not(nullptr), "there are no options");
  const auto with = [this](auto change) {
    tarn_file_source_options changed = options_;
    change(changed);
    return why_not(&changed);
  };
  EXPECT_STREQ(with([](auto& o) { o.flags |= 1u << 20; }), "unknown options");
  EXPECT_STREQ(with([](auto& o) { o.flags |= TARN_FILE_PRIVATE; }),
               "a private source does not write to the file, so it cannot create it");
  EXPECT_STREQ(with([](auto& o) { o.flags |= TARN_FILE_EXCLUSIVE; }),
               "exclusive makes sense with create, and not with a descriptor");
  const char* const sizes = "sizes or rights that make no sense";
  EXPECT_STREQ(with([](auto& o) { o.file_bytes = SIZE_MAX; }), sizes);
  EXPECT_STREQ(with([](auto& o) { o.chunk_bytes = SIZE_MAX; }), sizes);
  EXPECT_STREQ(with([](auto& o) { o.mode = 01777; }), sizes);
  EXPECT_STREQ(with([](auto& o) { o.bytes_max = 100; }), sizes);
  EXPECT_STREQ(with([](auto& o) { o.file_bytes = 2 * (o.bytes_max = 1 << 20); }), sizes);
  options_.flags = TARN_FILE_CREATE;
  EXPECT_STREQ(with([](auto&) {}), "there is no name");
  for (const char* const name : {"x", "/", "/x/y"}) {
    EXPECT_STREQ(with([name](auto& o) {
                   o.name = name;
                   o.flags |= TARN_FILE_SHARED_MEMORY;
                 }),
                 "a name of shared memory is a slash and what follows it, without another one");
  }
}

TEST_F(FullDevice, NamesAndRoomThatTheSystemRefuses) {
  options_.bytes_max = PTRDIFF_MAX / 4;
  EXPECT_EQ(tarn_file_source_init(&source_, &options_), -1);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_STREQ(source_.why, "there is no address space for it");
  options_.flags = TARN_FILE_CREATE;
  options_.name = "/dev/null/below";
  EXPECT_EQ(tarn_file_source_init(&source_, &options_), -1);
  EXPECT_EQ(errno, ENOTDIR);
  EXPECT_STREQ(source_.why, "part of the path is no folder");
}

TEST(FileSourceOptions, SayRightsAndChunks) {
  char path[] = "/tmp/tarn_file_XXXXXX";
  close(mkstemp(path));
  ASSERT_EQ(unlink(path), 0);
  tarn_file_source_options options = TARN_FILE_SOURCE_OPTIONS();
  options.name = path;
  options.flags = TARN_FILE_CREATE;
  options.mode = 0400 | 0200 | 0100;
  options.chunk_bytes = 12'345;
  tarn_file_source source;
  ASSERT_EQ(tarn_file_source_init(&source, &options), 0);
  EXPECT_EQ(tarn_file_source_get(&source).chunk_bytes, 12'345u);
  struct stat about {};
  EXPECT_EQ(stat(path, &about), 0);
  EXPECT_EQ(about.st_mode & 0777u, 0700u);
  EXPECT_EQ(tarn_file_source_get_stats(&source, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
  tarn_file_source_destroy(&source);
  unlink(path);
}

TEST(FileSourceOptions, ASourceThatDidNotBeginHasNothing) {
  tarn_file_source source;
  ASSERT_EQ(tarn_file_source_init(&source, nullptr), -1);
  char byte = 0;
  tarn_file_source_stats stats = TARN_FILE_SOURCE_STATS();
  EXPECT_EQ(tarn_file_source_acquire(&source, 10, 16).data, nullptr);
  tarn_file_source_release(&source, {&byte, 1});
  EXPECT_EQ(tarn_file_source_offset(&source, &byte), SIZE_MAX);
  EXPECT_EQ(tarn_file_source_at(&source, 128, 1), nullptr);
  EXPECT_EQ(tarn_file_source_set_root(&source, nullptr), -1);
  EXPECT_EQ(tarn_file_source_root(&source), nullptr);
  EXPECT_EQ(tarn_file_source_sync(&source), -1);
  EXPECT_EQ(tarn_file_source_owns(&source, &byte), 0);
  EXPECT_EQ(tarn_file_source_get_stats(&source, &stats), -1);
  EXPECT_EQ(tarn_file_source_check(&source), 1);
  tarn_file_source_destroy(&source);
}

TEST_F(FullDevice, AFileThatGrewBeyondWhatItMayMap) {
  options_.bytes_max = 64 << 10;
  ASSERT_EQ(tarn_file_source_init(&source_, &options_), 0);
  const tarn_chunk own = tarn_file_source_acquire(&source_, 100, 16);
  tarn_file_source other{};
  options_.bytes_max = 0;
  ASSERT_EQ(tarn_file_source_init(&other, &options_), 0);
  const tarn_chunk far = tarn_file_source_acquire(&other, 200'000, 16);
  ASSERT_NE(far.data, nullptr);
  errno = 0;
  EXPECT_EQ(tarn_file_source_acquire(&source_, 100, 16).data, nullptr);
  EXPECT_EQ(errno, EFBIG);
  tarn_file_source_release(&source_, own);  // It cannot; the chunk stays out.
  tarn_file_source_stats stats = TARN_FILE_SOURCE_STATS();
  EXPECT_EQ(tarn_file_source_get_stats(&source_, &stats), -1);
  EXPECT_EQ(tarn_file_source_at(&source_, 150'000, 1), nullptr);
  EXPECT_EQ(tarn_file_source_owns(&source_, own.data), 0);
  EXPECT_EQ(tarn_file_source_check(&source_), 0);
  ASSERT_EQ(tarn_file_source_get_stats(&other, &stats), 0);
  EXPECT_EQ(stats.chunks, 2u);
  EXPECT_EQ(tarn_file_source_check(&other), 1);
  tarn_file_source_destroy(&other);
  tarn_file_source_destroy(&source_);
}

// The words of a file's head that a test changes, by their place in the file.
enum Word : std::size_t {
  word_magic = 0,
  word_busy = 8,
  word_gaps_first = 64,
  word_gaps_free = 72,
  word_gaps_free_min = 80,
  word_gaps_chunks = 88,
};

// Chunks and three gaps, as a process left them that died at its work.
class DeadUser : public FullDevice {
 protected:
  DeadUser() {
    EXPECT_EQ(tarn_file_source_init(&source_, &options_), 0);
    for (tarn_chunk& chunk : chunks_) chunk = tarn_file_source_acquire(&source_, 1024, 16);
    tarn_file_source_release(&source_, chunks_[1]);
    tarn_file_source_release(&source_, chunks_[3]);
    before_ = stats();
    EXPECT_EQ(before_.chunks, 3u);
  }
  ~DeadUser() override { tarn_file_source_destroy(&source_); }

  std::size_t& word(std::size_t at) const {
    return *reinterpret_cast<std::size_t*>(source_.start + at);
  }
  tarn_gap& gap() const {  // The first one.
    return *reinterpret_cast<tarn_gap*>(source_.start + 128 + word(word_gaps_first));
  }
  tarn_file_source_stats stats() const {
    tarn_file_source_stats stats = TARN_FILE_SOURCE_STATS();
    EXPECT_EQ(tarn_file_source_get_stats(&source_, &stats), 0);
    return stats;
  }
  // Nothing can be done with the file while the word is wrong.
  void expect_refused(std::size_t& wrong, std::size_t value, const char* what) {
    const std::size_t right = std::exchange(wrong, value);
    word(word_busy) = 1;
    errno = 0;
    EXPECT_EQ(tarn_file_source_acquire(&source_, 16, 16).data, nullptr) << what;
    EXPECT_EQ(errno, EBADMSG) << what;
    EXPECT_EQ(tarn_file_source_check(&source_), 0) << what;
    wrong = right;
    EXPECT_EQ(tarn_file_source_check(&source_), 1) << what;
    EXPECT_EQ(word(word_busy), 0u);
  }

  tarn_chunk chunks_[5];
  tarn_file_source_stats before_{};
};

TEST_F(DeadUser, LeavesCountsThatAreCountedAnew) {
  word(word_busy) = 1;
  word(word_gaps_free) += 160;
  EXPECT_EQ(stats().free_bytes, before_.free_bytes);
  EXPECT_EQ(stats().chunks, 3u);
  EXPECT_EQ(tarn_file_source_check(&source_), 1);

  word(word_busy) = 1;
  word(word_gaps_free) = word(word_gaps_free_min) = 0;
  EXPECT_EQ(stats().free_bytes, before_.free_bytes);
  EXPECT_EQ(word(word_gaps_free_min), 0u) << "what was the least may have been";

  word(word_busy) = 1;
  word(word_gaps_free) += 160;
  word(word_gaps_chunks) = 0;
  EXPECT_EQ(stats().chunks, 2u) << "three gaps have two chunks between them at least";
  EXPECT_EQ(tarn_file_source_check(&source_), 1);
}

TEST_F(DeadUser, LeavesAChunkThatNobodyHas) {
  const std::size_t next = gap().next;
  word(word_busy) = 1;
  word(word_gaps_first) = next;  // Taken, but for the counts.
  word(word_gaps_chunks) = 0;
  EXPECT_EQ(stats().free_bytes, before_.free_bytes - 1024);
  EXPECT_GE(stats().chunks, 1u);
  const tarn_chunk more = tarn_file_source_acquire(&source_, 1024, 16);
  EXPECT_EQ(more.data, chunks_[3].data) << "the next gap, and not the lost one";
  EXPECT_EQ(tarn_file_source_check(&source_), 1);
}

TEST_F(DeadUser, LeavesNoGapsThatCanBeFollowed) {
  const std::size_t bytes = static_cast<std::size_t>(before_.file_bytes) - 128;
  expect_refused(word(word_gaps_first), bytes + 16, "the first one is behind the end");
  expect_refused(word(word_gaps_first), bytes, "the first one is at the end");
  expect_refused(gap().bytes, 0, "it is empty");
  expect_refused(gap().bytes, bytes, "it goes beyond the end");
  expect_refused(gap().next, word(word_gaps_first), "a circle");
}

TEST_F(DeadUser, ACheckLooksAtTheFirstWords) {
  const std::size_t magic = std::exchange(word(word_magic), 1);
  EXPECT_EQ(tarn_file_source_check(&source_), 0);
  word(word_magic) = magic;
  EXPECT_EQ(tarn_file_source_check(&source_), 1);
}

}  // namespace
}  // namespace tarn
