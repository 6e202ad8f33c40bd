// Files of which a process was killed while it was changing them: usable, less a chunk at most.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "tarn/source/file_source.hpp"

namespace sources {
namespace {

using tarn::FileSource;
using tarn::FileSourceOptions;

class FileKills : public testing::Test {
 protected:
  FileKills() : path_((std::filesystem::temp_directory_path() / "tarn_kills_XXXXXX").string()) {
    close(mkstemp(path_.data()));
    options_.create = true;
    options_.bytes_max = std::size_t{1} << 24;
  }
  ~FileKills() override { unlink(path_.c_str()); }

  std::uint64_t word(std::streamoff at) const {
    std::uint64_t value = 0;
    std::ifstream file(path_, std::ios::binary);
    file.seekg(at).read(reinterpret_cast<char*>(&value), sizeof value);
    return value;
  }
  void set_word(std::streamoff at, std::uint64_t value) {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(at).write(reinterpret_cast<const char*>(&value), sizeof value);
  }

  // Of the head, which is exchanged between versions.
  static constexpr std::uint64_t unfinished = 0x3065'6c69'666e'7274;
  static constexpr std::streamoff busy = 8;
  static constexpr std::streamoff free_bytes = 72;
  static constexpr std::streamoff chunks = 88;

  std::string path_;
  FileSourceOptions options_;
};

TEST_F(FileKills, CountsThatWereNotWrittenAreCountedAnew) {
  {
    FileSource file(path_.c_str(), options_);
    static_cast<void>(file.acquire(100, 16));
  }
  const std::uint64_t known = word(free_bytes);
  // Its list was changed, then it was killed: before the bytes were counted, before the chunk was.
  set_word(free_bytes, known + 160);
  EXPECT_THROW(FileSource(path_.c_str(), options_), tarn::FileError);  // That is another damage.
  set_word(busy, 1);
  {
    FileSource file(path_.c_str(), options_);
    EXPECT_TRUE(file.check());
    EXPECT_EQ(file.stats().free_bytes, known);
    EXPECT_NE(file.acquire(1000, 16).data, nullptr);
  }
  set_word(chunks, 0);
  set_word(busy, 1);
  FileSource file(path_.c_str(), options_);
  EXPECT_TRUE(file.check());
  EXPECT_EQ(word(busy), 0u);
}

// Before the first byte, and before the last one: what creates the file again makes it whole.
TEST_F(FileKills, AFileThatWasNotFinishedIsMadeAnew) {
  FileSourceOptions opened = options_;
  opened.create = false;
  std::filesystem::resize_file(path_, 8192);
  EXPECT_EQ(FileSource(path_.c_str(), opened, std::nothrow).error(), EBADMSG);
  for (const std::uint64_t magic : {std::uint64_t{0}, unfinished}) {
    set_word(0, magic);  // The second time over a file that is whole: its counts are there.
    {
      FileSource file(path_.c_str(), options_);
      EXPECT_TRUE(file.check());
      EXPECT_EQ(file.stats().chunks, 0u);
      EXPECT_NE(file.acquire(1000, 16).data, nullptr);
    }
    EXPECT_TRUE(FileSource(path_.c_str(), opened, std::nothrow));
  }
}

TEST_F(FileKills, SomebodyElsesFileIsNotMadeAnew) {
  std::filesystem::resize_file(path_, 8192);
  set_word(8184, std::uint64_t{1} << 56);
  EXPECT_EQ(FileSource(path_.c_str(), options_, std::nothrow).error(), EBADMSG);
  EXPECT_EQ(word(8184), std::uint64_t{1} << 56);
  EXPECT_EQ(word(0), 0u);
}

TEST_F(FileKills, AnywhereAtAll) {
  for (unsigned round = 0; round < 200; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      FileSource file(path_.c_str(), options_, std::nothrow);
      tarn::Chunk taken[64] = {};
      for (unsigned x = round;;) {
        x = x * 1664525 + 1013904223;
        tarn::Chunk& chunk = taken[(x >> 10) % 64];
        if (chunk.data != nullptr) file.release(chunk);
        chunk = chunk.data != nullptr ? tarn::Chunk{} : file.acquire((x >> 16) % 500, 16);
      }
    }
    usleep(500 + round * 7919 % 3000);
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    FileSource file(path_.c_str(), options_, std::nothrow);
    ASSERT_TRUE(file) << file.why();
    ASSERT_TRUE(file.check());
  }
}

}  // namespace
}  // namespace sources
