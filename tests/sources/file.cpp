// Sources over files and shared memory: what tarn/source/file_source.hpp promises; contents that
// outlive the process, processes that share, and files that cannot grow.
//
// SPDX-License-Identifier: MIT
#include "tarn/source/file_source.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "../support/child.hpp"
#include "sources_conformance.hpp"
#include "tarn/arena/arena.hpp"
#include "tarn/pool/pool.hpp"

namespace sources {
namespace {

using tarn::Chunk;
using tarn::FileSource;
using tarn::FileSourceOptions;
using tarn::SharedMemorySource;

FileSourceOptions created() {
  FileSourceOptions options;
  options.create = true;
  return options;
}

// A folder that goes with the test.
class Folder {
 public:
  Folder() : path_((std::filesystem::temp_directory_path() / "tarn_sources_XXXXXX").string()) {
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const char* name = "file") const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// A name of shared memory that is this process's, gone with the test.
class Name {
 public:
  Name() : name_("/tarn_sources_" + std::to_string(getpid())) {}
  ~Name() { SharedMemorySource::unlink(name_.c_str()); }
  const char* text() const { return name_.c_str(); }

 private:
  std::string name_;
};

// Runs the body in another process; what fails there fails here.
template <class Body>
void in_process(Body body) {
  const int status = support::status_of_child([&] {
    body();
    return testing::Test::HasFailure() ? 1 : 0;
  });
  EXPECT_EQ(status, 0) << "see the child's messages";
}

int error_of(const std::string& path, const FileSourceOptions& options = {}) {
  FileSource source(path.c_str(), options, std::nothrow);
  if (source) {
    EXPECT_EQ(source.error(), 0);
    return 0;
  }
  EXPECT_NE(source.why(), nullptr);
  EXPECT_EQ(source.acquire(1, 1).data, nullptr);
  EXPECT_TRUE(source.check());
  return source.error();
}

struct OfAFile {
  static constexpr std::size_t bytes_max = 50'000;
  static constexpr std::size_t alignment_max = std::size_t{1} << 21;
  static constexpr std::size_t chunks = 20;
  Folder folder;
  FileSource source{folder.file().c_str(), created()};
  bool nothing_lost() const {
    const auto stats = source.stats();
    return source.check() && stats.chunks == 0 && stats.free_bytes + 128 == stats.file_bytes;
  }
};
struct OfSharedMemory {
  static constexpr std::size_t bytes_max = 50'000;
  static constexpr std::size_t alignment_max = 4096;
  static constexpr std::size_t chunks = 20;
  Name name;
  SharedMemorySource source{name.text(), created()};
  bool nothing_lost() const { return source.check() && source.stats().chunks == 0; }
};

TEST(FileSource, ContentsAreThereWhenItIsOpenedAgain) {
  Folder folder;
  std::size_t offset = 0;
  std::size_t root = 0;
  {
    FileSource file(folder.file().c_str(), created());
    EXPECT_EQ(file.root(), nullptr);
    static_cast<void>(file.acquire(100, 16));
    const Chunk text = file.acquire(3'000'000, 4096);
    ASSERT_NE(text.data, nullptr);
    std::memset(text.data, 'x', text.bytes);
    const Chunk last = file.acquire(16, 16);
    std::strcpy(static_cast<char*>(last.data), "the root");
    offset = file.offset(text.data);
    root = file.offset(last.data);
    EXPECT_TRUE(file.set_root(last.data));
    EXPECT_TRUE(file.sync());
    EXPECT_EQ(std::filesystem::file_size(folder.file()), file.stats().file_bytes);
  }
  FileSource file(folder.file().c_str());
  EXPECT_EQ(file.stats().chunks, 3u);
  EXPECT_STREQ(static_cast<char*>(file.root()), "the root");
  EXPECT_EQ(file.offset(file.root()), root);
  auto* const text = static_cast<char*>(file.at(offset, 3'000'000));
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(text) % 4096, 0u);
  EXPECT_EQ(text[0], 'x');
  EXPECT_EQ(text[2'999'999], 'x');
  const std::uint64_t before = file.stats().free_bytes;
  file.release({text, 3'000'000 / 16 * 16});
  EXPECT_EQ(file.stats().free_bytes, before + 3'000'000);
  EXPECT_TRUE(file.check());
}

TEST(FileSource, OffsetsAndAddressesThatAreNotInIt) {
  Folder folder;
  FileSource file(folder.file().c_str(), created());
  int elsewhere = 0;
  EXPECT_EQ(file.offset(&elsewhere), SIZE_MAX);
  EXPECT_EQ(file.offset(nullptr), SIZE_MAX);
  EXPECT_FALSE(file.set_root(&elsewhere));
  EXPECT_EQ(file.at(0, 1), nullptr) << "the head is not to be had";
  EXPECT_EQ(file.at(127, 1), nullptr);
  EXPECT_NE(file.at(128, 4096 - 128), nullptr);
  EXPECT_EQ(file.at(128, 4096 - 127), nullptr);
  EXPECT_EQ(file.at(4096, 1), nullptr);
  EXPECT_EQ(file.at(SIZE_MAX, 1), nullptr);
  EXPECT_EQ(file.at(128, SIZE_MAX), nullptr);
  EXPECT_FALSE(file.owns(nullptr));
  const Chunk chunk = file.acquire(100, 16);
  EXPECT_TRUE(file.owns(chunk.data));
  file.release(chunk);
  EXPECT_FALSE(file.owns(chunk.data));
}

TEST(FileSource, APrivateOneChangesNothing) {
  Folder folder;
  {
    FileSource file(folder.file().c_str(), created());
    const Chunk chunk = file.acquire(100, 16);
    std::strcpy(static_cast<char*>(chunk.data), "as it was");
    file.set_root(chunk.data);
  }
  const auto size = std::filesystem::file_size(folder.file());
  {
    FileSourceOptions options;
    options.is_private = true;
    const int descriptor = open(folder.file().c_str(), O_RDONLY);
    FileSource file(descriptor, options);
    close(descriptor);
    EXPECT_STREQ(static_cast<char*>(file.root()), "as it was");
    std::strcpy(static_cast<char*>(file.root()), "changed");
    for (int i = 0; i < 100; ++i) {
      const Chunk chunk = file.acquire(10'000, 16);
      ASSERT_NE(chunk.data, nullptr);
      std::memset(chunk.data, 1, chunk.bytes);
    }
    EXPECT_TRUE(file.check());
    EXPECT_FALSE(file.sync());
    EXPECT_EQ(errno, EINVAL);
  }
  EXPECT_EQ(std::filesystem::file_size(folder.file()), size);
  FileSource file(folder.file().c_str());
  EXPECT_STREQ(static_cast<char*>(file.root()), "as it was");
  EXPECT_EQ(file.stats().chunks, 1u);
}

TEST(FileSource, NeverLongerThanItMayBe) {
  Folder folder;
  FileSourceOptions options = created();
  options.bytes_max = 100'000;
  FileSource file(folder.file().c_str(), options);
  std::vector<Chunk> chunks;
  for (;;) {
    const Chunk chunk = file.acquire(1000, 16);
    if (chunk.data == nullptr) break;
    chunks.push_back(chunk);
  }
  EXPECT_EQ(errno, EFBIG);
  EXPECT_GE(chunks.size(), 96u) << "to the last byte of 24 pages";
  EXPECT_LE(std::filesystem::file_size(folder.file()), 100'000u);
  EXPECT_EQ(file.acquire(1 << 20, 16).data, nullptr);
  EXPECT_TRUE(file.check());
  for (const Chunk& chunk : chunks) file.release(chunk);
  EXPECT_NE(file.acquire(90'000, 16).data, nullptr);

  FileSourceOptions smaller;
  smaller.bytes_max = 8192;
  EXPECT_EQ(error_of(folder.file(), smaller), EFBIG);
}

// A limit of the process, under which a write would be a signal.
TEST(FileSource, GrowsToTheLimitOfTheProcess) {
  Folder folder;
  in_process([&] {
    FileSource file(folder.file().c_str(), created());
    const rlimit limit{200'000, RLIM_INFINITY};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    std::size_t chunks = 0;
    while (file.acquire(10'000, 16).data != nullptr) ++chunks;
    EXPECT_EQ(errno, EFBIG);
    EXPECT_GE(chunks, 18u);
    EXPECT_LE(chunks, 20u);
    EXPECT_TRUE(file.check());
    EXPECT_EQ(error_of(folder.file("other"), created()), 0);
    const rlimit none{100, RLIM_INFINITY};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
    EXPECT_EQ(error_of(folder.file("third"), created()), EFBIG);
    const rlimit all{RLIM_INFINITY, RLIM_INFINITY};  // For what a child may write when it ends.
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &all), 0);
  });
  FileSource file(folder.file().c_str());
  EXPECT_TRUE(file.check());
}

// On a real one, where such a thing may be mounted; tests/unit has it in any case.
TEST(FileSource, StorageThatIsFull) {
  Folder folder;
  in_process([&] {
    const std::string place = std::filesystem::path(folder.file()).parent_path().string();
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return;
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return;
    if (mount("tarn", place.c_str(), "tmpfs", 0, "size=256k") != 0) return;
    FileSource file(folder.file().c_str(), created());
    std::size_t chunks = 0;
    for (;; ++chunks) {
      const Chunk chunk = file.acquire(10'000, 16);
      if (chunk.data == nullptr) break;
      std::memset(chunk.data, 1, chunk.bytes);
    }
    EXPECT_EQ(errno, ENOSPC);
    EXPECT_GE(chunks, 20u);
    EXPECT_TRUE(file.check());
    EXPECT_EQ(error_of(folder.file("other"), created()), ENOSPC);
  });
}

TEST(FileSource, SaysWhatIsWrong) {
  Folder folder;
  const std::string path = folder.file();
  EXPECT_EQ(error_of(path), ENOENT);
  EXPECT_EQ(error_of(folder.file("no/folder"), created()), ENOENT);
  EXPECT_EQ(error_of("", created()), EINVAL);
  EXPECT_EQ(error_of(std::filesystem::path(path).parent_path().string()), EISDIR);
  EXPECT_EQ(error_of("/dev/null"), EINVAL);
  EXPECT_EQ(error_of(folder.file(std::string(300, 'x').c_str()), created()), ENAMETOOLONG);
  ASSERT_EQ(error_of(path, created()), 0);
  FileSourceOptions exclusive = created();
  exclusive.exclusive = true;
  EXPECT_EQ(error_of(path, exclusive), EEXIST);
  exclusive.create = false;
  EXPECT_EQ(error_of(path, exclusive), EINVAL);
  FileSourceOptions tiny = created();
  tiny.bytes_max = 100;
  EXPECT_EQ(error_of(path, tiny), EINVAL);
  tiny.bytes_max = SIZE_MAX;
  EXPECT_EQ(error_of(path, tiny), EINVAL);
  try {
    FileSource missing(folder.file("missing").c_str());
    FAIL();
  } catch (const tarn::FileError& error) {
    EXPECT_EQ(error.number(), ENOENT);
    EXPECT_STREQ(error.what(), "there is no file of this name");
  }
}

TEST(FileSource, MissingRights) {
  Folder folder;
  ASSERT_EQ(error_of(folder.file(), created()), 0);
  const int descriptor = open(folder.file().c_str(), O_RDONLY);
  FileSource reading(descriptor, {}, std::nothrow);
  EXPECT_FALSE(reading);
  EXPECT_EQ(reading.error(), EACCES);
  close(descriptor);
  FileSource closed(descriptor, {}, std::nothrow);
  EXPECT_EQ(closed.error(), EBADF);
  in_process([&] {
    std::filesystem::permissions(folder.file(), std::filesystem::perms::owner_read);
    if (geteuid() == 0) {
      std::filesystem::permissions(std::filesystem::path(folder.file()).parent_path(),
                                   std::filesystem::perms::all);
      ASSERT_EQ(setuid(65534), 0);
    }
    EXPECT_EQ(error_of(folder.file()), EACCES);
  });
}

TEST(FileSource, DamagedFilesAreRefused) {
  Folder folder;
  const std::string path = folder.file();
  {
    FileSource file(path.c_str(), created());
    const Chunk chunk = file.acquire(10'000, 16);
    static_cast<void>(file.acquire(16, 16));
    file.release(chunk);
  }
  std::ifstream input(path, std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(input)), {});
  const auto with = [&](const std::string& contents) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << contents;
    return error_of(path, created());
  };
  EXPECT_EQ(with(good), 0);
  EXPECT_EQ(with(good.substr(0, 100)), EBADMSG);
  EXPECT_EQ(with(good.substr(0, 4096)), EBADMSG);
  EXPECT_EQ(with("text that is no such file" + std::string(5000, ' ')), EBADMSG);
  EXPECT_EQ(with(""), 0) << "an empty file may be made one";
  // Each word of the head, and the first gap's: nothing crashes, and what matters is seen.
  int refused = 0;
  for (std::size_t at = 0; at < 144; at += 8) {
    std::string wrong = good;
    std::memset(wrong.data() + at, 0x7f, 8);
    const int error = with(wrong);
    EXPECT_TRUE(error == 0 || error == EBADMSG) << at;
    refused += error == EBADMSG;
  }
  EXPECT_GE(refused, 7);
}

TEST(FileSource, PoolsAndArenasLiveInIt) {
  Folder folder;
  FileSource file(folder.file().c_str(), created());
  {
    tarn::Pool pool(100, file);
    for (int i = 0; i < 20'000; ++i) std::memset(pool.allocate(), 1, 100);
    tarn::Arena arena(file);
    for (int i = 0; i < 20'000; ++i) std::memset(arena.allocate(100), 1, 100);
    EXPECT_TRUE(pool.check() && arena.check() && file.check());
    EXPECT_GT(file.stats().file_bytes, 4'000'000u);
  }
  EXPECT_EQ(file.stats().chunks, 0u);
}

TEST(FileSource, APoolInASmallFile) {
  Folder folder;
  FileSourceOptions options = created();
  options.bytes_max = 20'000;
  FileSource file(folder.file().c_str(), options);
  tarn::Pool pool(24, file);
  std::size_t blocks = 0;
  while (void* const p = pool.try_allocate()) {
    std::memset(p, 1, 24);
    ++blocks;
  }
  EXPECT_GT(blocks, (pool.get()->state & 3) == 0 ? 500u : 100u);
  EXPECT_TRUE(file.check());
}

TEST(SharedMemory, IsMadeAttachedAndUnlinked) {
  Name name;
  EXPECT_EQ(SharedMemorySource(name.text(), {}, std::nothrow).error(), ENOENT);
  FileSourceOptions options = created();
  options.exclusive = true;
  SharedMemorySource made(name.text(), options);
  EXPECT_EQ(SharedMemorySource(name.text(), options, std::nothrow).error(), EEXIST);
  SharedMemorySource attached(name.text());
  const Chunk chunk = made.acquire(64, 16);
  std::strcpy(static_cast<char*>(chunk.data), "seen");
  EXPECT_STREQ(static_cast<char*>(attached.at(made.offset(chunk.data), 64)), "seen");
  EXPECT_TRUE(SharedMemorySource::unlink(name.text()));
  EXPECT_FALSE(SharedMemorySource::unlink(name.text()));
  EXPECT_EQ(errno, ENOENT);
  EXPECT_NE(attached.acquire(64, 16).data, nullptr) << "who has it goes on";
  for (const char* const wrong : {"name", "/", "", "/a/b"}) {
    SharedMemorySource source(wrong, created(), std::nothrow);
    EXPECT_EQ(source.error(), EINVAL) << wrong;
  }
  const std::string long_name = "/" + std::string(300, 'x');
  SharedMemorySource too_long(long_name.c_str(), created(), std::nothrow);
  EXPECT_TRUE(too_long.error() == EINVAL || too_long.error() == ENAMETOOLONG);
}

// Takes and releases, with at most 100 chunks out, and keeps one as the root. 20,000 rounds.
void work(SharedMemorySource& source, char mark) {
  std::deque<Chunk> chunks;
  for (std::size_t i = 0; i < 20'000; ++i) {
    const Chunk chunk = source.acquire(16 + i * 7 % 1000, 16);
    ASSERT_NE(chunk.data, nullptr);
    std::memset(chunk.data, mark, chunk.bytes);
    chunks.push_back(chunk);
    if (i % 3 == 0) std::swap(chunks.front(), chunks.back());
    if (chunks.size() <= 100) continue;
    const Chunk old = chunks.front();
    for (std::size_t at = 0; at < old.bytes; ++at) {
      ASSERT_EQ(static_cast<char*>(old.data)[at], mark) << "round " << i;
    }
    source.release(old);
    chunks.pop_front();
  }
  source.set_root(chunks.back().data);
  chunks.pop_back();
  for (const Chunk& chunk : chunks) source.release(chunk);
}

// Both work at the same time; without the lock the list of gaps would not survive it.
TEST(SharedMemory, TwoProcesses) {
  Name name;
  SharedMemorySource mine(name.text(), created());
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  char byte = 0;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    SharedMemorySource source(name.text());
    if (write(ready[1], &byte, 1) != 1) _exit(2);
    work(source, 'c');
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  close(ready[1]);
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  work(mine, 'p');
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  close(ready[0]);
  EXPECT_TRUE(mine.check());
  EXPECT_EQ(mine.stats().chunks, 2u);
  EXPECT_EQ(mine.stats().acquired, 40'000u);
  ASSERT_NE(mine.root(), nullptr);
  const char mark = *static_cast<char*>(mine.root());
  EXPECT_TRUE(mark == 'c' || mark == 'p');
}

// A process that ends while it has the lock leaves it free.
TEST(SharedMemory, AKilledProcessBlocksNobody) {
  Name name;
  SharedMemorySource mine(name.text(), created());
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      SharedMemorySource source(name.text());
      for (;;) source.release(source.acquire(1000, 16));
    }
    usleep(2000 + static_cast<unsigned>(round) * 500);
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    const Chunk chunk = mine.acquire(100, 16);
    if (chunk.data == nullptr) {  // It was in the middle of it: that is seen, and said.
      EXPECT_EQ(errno, EBADMSG);
      return;
    }
    mine.release(chunk);
  }
}

TEST(FileSourceDeathTest, ADoubleRelease) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Folder folder;
  FileSource file(folder.file().c_str(), created());
  const Chunk chunk = file.acquire(64, 1);
  static_cast<void>(file.acquire(64, 1));
  file.release(chunk);
  EXPECT_EXIT(file.release(chunk), testing::KilledBySignal(SIGABRT),
              "tarn: double free: tarn_file_source_release");
}

}  // namespace
}  // namespace sources

namespace conformance {
using Mapped = testing::Types<sources::OfAFile, sources::OfSharedMemory>;
INSTANTIATE_TYPED_TEST_SUITE_P(Mapped, Sources, Mapped);
}  // namespace conformance
