// What a process has once, where it lacks something: room, a folder, a file, a right.
//
// SPDX-License-Identifier: MIT
#include "platform/os/process.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "child.hpp"

namespace tarn {
namespace {

// In a folder of its own that goes with the test; it is the child's folder.
template <class Body>
void in_child_in_folder(Body body) {
  char folder[] = "/tmp/tarn_process_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  in_unrepaired_child([&] {
    ASSERT_EQ(chdir(folder), 0);
    body(std::string(folder));
  });
  rmdir(folder);
}

TEST(MakeAbsolute, PutsTheFolderInFront) {
  in_child_in_folder([](const std::string& folder) {
    char path[100] = "some/file";
    EXPECT_TRUE(os::make_absolute(path, sizeof path));
    EXPECT_EQ(path, folder + "/some/file");
    const std::string before = path;
    EXPECT_TRUE(os::make_absolute(path, sizeof path)) << "it is one";
    EXPECT_EQ(path, before);
  });
}

TEST(MakeAbsolute, LeavesWhatHasNoRoom) {
  in_child_in_folder([](const std::string& folder) {
    for (const std::size_t room : {folder.size() + 6, folder.size() + 5, std::size_t{5}}) {
      char path[100] = "file";
      const bool fits = room > folder.size() + std::strlen("/file");
      EXPECT_EQ(os::make_absolute(path, room), fits) << room;
      EXPECT_EQ(path, fits ? folder + "/file" : "file");
    }
  });
}

TEST(MakeAbsolute, LeavesWhatIsInAFolderThatHasGone) {
  in_child_in_folder([](const std::string& folder) {
    char path[100] = "before";
    EXPECT_TRUE(os::make_absolute(path, sizeof path));
    std::strcpy(path, "file");
    ASSERT_EQ(rmdir(folder.c_str()), 0);
    errno = 0;
    EXPECT_FALSE(os::make_absolute(path, sizeof path));
    EXPECT_STREQ(path, "file");
    EXPECT_EQ(errno, 0);
  });
}

TEST(ProgramName, IsCut) {
  char whole[100];
  os::program_name(whole, sizeof whole);
  ASSERT_GT(std::strlen(whole), 3u);
  char cut[4] = "???";
  os::program_name(cut, sizeof cut);
  EXPECT_EQ(cut, std::string(whole).substr(0, 3));
}

TEST(WriteError, NeedsNoStandardErrorAndLeavesErrno) {
  in_unrepaired_child([] {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const int kept = dup(STDERR_FILENO);
    close(STDERR_FILENO);
    errno = 7;
    os::write_error("lost", 4);
    EXPECT_EQ(errno, 7);
    dup2(ends[1], STDERR_FILENO);
    os::write_error("read", 4);
    dup2(kept, STDERR_FILENO);
    char text[5] = "";
    EXPECT_EQ(read(ends[0], text, 4), 4);
    EXPECT_STREQ(text, "read");
  });
}

TEST(WriteAll, SaysWhatWasRefused) {
  errno = 0;
  EXPECT_FALSE(os::write_all(-1, "x", 1));
  EXPECT_EQ(errno, EBADF);
  EXPECT_TRUE(os::write_all(-1, "x", 0));
}

// Beyond the limit a write would be a signal.
TEST(MappedFiles, AreNotMadeBeyondTheLimitOfTheProcess) {
  in_child_in_folder([](const std::string& folder) {
    const std::string path = folder + "/account";
    const std::size_t bytes = os::page_bytes();
    auto* const map = static_cast<char*>(os::file_map_create(path.c_str(), bytes));
    ASSERT_NE(map, nullptr);
    map[0] = 'x';
    rlimit limit{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const rlimit small{bytes - 1, limit.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    errno = 0;
    EXPECT_EQ(os::file_map_create((folder + "/other").c_str(), bytes), nullptr);
    EXPECT_EQ(errno, EFBIG);
    EXPECT_NE(access((folder + "/other").c_str(), F_OK), 0);
    errno = 0;
    EXPECT_FALSE(os::file_map_renew(map, path.c_str(), bytes));
    EXPECT_EQ(errno, 0);
    map[0] = 'y';  // Private memory now.
    char first = 0;
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(read(file, &first, 1), 1);
    EXPECT_EQ(first, 'x') << "the file is as it was";
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    EXPECT_TRUE(os::file_map_renew(map, path.c_str(), bytes));
    EXPECT_EQ(map[0], '\0');
    unlink(path.c_str());
  });
}

TEST(MappedFiles, NeedAFolder) {
  errno = 0;
  EXPECT_EQ(os::file_map_create("/tmp/no/such/folder", 100), nullptr);
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace tarn
