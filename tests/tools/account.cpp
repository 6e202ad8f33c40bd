// account: files that processes left, the broken and the foreign ones included.
// SPDX-License-Identifier: MIT
#include <sys/stat.h>

#include <cstring>

#include "account_folder.hpp"
#include "command.hpp"
#include "run_record.hpp"

namespace tarn::test {

namespace {

class Account : public CommandTest {
 protected:
  static tarn_account sample() {
    tarn_account account{};
    account.magic = TARN_ACCOUNT_MAGIC;
    account.bytes = sizeof account;
    account.pid = 42;
    std::strcpy(account.program, "sample");
    account.live_bytes_peak = 777;
    account.class_count = TARN_ACCOUNT_CLASSES;
    return account;
  }

  std::optional<tarn_account> read_back(const tarn_account& account,
                                        std::size_t bytes = sizeof(tarn_account)) {
    std::string content(reinterpret_cast<const char*>(&account), sizeof account);
    content.resize(bytes, 'x');
    write_file("42", content);
    refusal.clear();
    return read_account((folder() / "42").string(), refusal);
  }

  std::string refusal;
};

TEST_F(Account, SoundOneIsRead) {
  const auto account = read_back(sample());
  ASSERT_TRUE(account) << refusal;
  EXPECT_EQ(account->live_bytes_peak, 777u);
  EXPECT_STREQ(account->program, "sample");
}

TEST_F(Account, OneOfALaterTarnIsRead) {
  tarn_account later = sample();
  later.bytes = sizeof later + 64;
  EXPECT_TRUE(read_back(later, sizeof later + 64)) << refusal;
}

TEST_F(Account, BrokenOnesAreRefusedWithAReason) {
  tarn_account account = sample();
  account.magic ^= 1;
  EXPECT_FALSE(read_back(account));
  EXPECT_TRUE(contains(refusal, "not an account"));

  account = sample();
  account.magic = 0;
  EXPECT_FALSE(read_back(account));
  EXPECT_EQ(refusal, "never finished");

  account = sample();
  account.bytes = sizeof account - 8;
  EXPECT_FALSE(read_back(account));
  EXPECT_TRUE(contains(refusal, "older tarn"));

  account = sample();
  account.class_count = TARN_ACCOUNT_CLASSES + 1;
  EXPECT_FALSE(read_back(account));
  EXPECT_TRUE(contains(refusal, "size classes"));
}

TEST_F(Account, ShortOnesAreRefusedAtEveryLength) {
  for (std::size_t bytes = 0; bytes < sizeof(tarn_account); bytes += 97) {
    EXPECT_FALSE(read_back(sample(), bytes)) << bytes;
    EXPECT_NE(refusal, "");
  }
}

TEST_F(Account, NameWithoutAnEndIsCut) {
  tarn_account account = sample();
  std::memset(account.program, 'a', sizeof account.program);
  const auto read = read_back(account);
  ASSERT_TRUE(read);
  EXPECT_EQ(std::strlen(read->program), sizeof account.program - 1);
}

TEST_F(Account, LinksAndPipesAreNotFollowed) {
  ASSERT_TRUE(read_back(sample()));
  std::filesystem::create_symlink(folder() / "42", folder() / "link");
  EXPECT_FALSE(read_account((folder() / "link").string(), refusal));
  ASSERT_EQ(::mkfifo((folder() / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(read_account((folder() / "pipe").string(), refusal));
}

TEST_F(Account, FolderIsPrivateSortedAndRemoved) {
  std::filesystem::path path;
  {
    const AccountFolder accounts;
    path = accounts.path();
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    tarn_account account = sample();
    for (const std::uint64_t pid : {1u, 2u, 3u}) {
      account.pid = pid;
      account.live_bytes_peak = pid == 2 ? 900 : 100;
      write_file("one", std::string(reinterpret_cast<const char*>(&account), sizeof account));
      std::filesystem::copy_file(folder() / "one", path / std::to_string(pid));
    }
    write_file("one", "rubbish");
    std::filesystem::copy_file(folder() / "one", path / "4");
    const Accounts read = accounts.read();
    ASSERT_EQ(read.processes.size(), 3u);
    EXPECT_EQ(read.processes[0].pid, 2u);
    ASSERT_EQ(read.refused.size(), 1u);
    EXPECT_TRUE(contains(read.refused[0], "process 4"));
    ASSERT_NE(read.of(3), nullptr);
    EXPECT_EQ(read.of(9), nullptr);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Slack, ComesFromTheSample) {
  EXPECT_DOUBLE_EQ(slack_of({64, 1000, 0, 10, 480}), 0.25);
  EXPECT_LT(slack_of({64, 1000, 0, 0, 0}), 0);
  // Counters of a running process are not read at one instant: no negative slack.
  EXPECT_DOUBLE_EQ(slack_of({16, 10, 0, 1, 400}), 0);
}

}  // namespace

}  // namespace tarn::test
