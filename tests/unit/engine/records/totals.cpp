// The process's counters, and the account file that they are written to.
//
// SPDX-License-Identifier: MIT
#include "engine/records/totals.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "engine/store/store.hpp"
#include "platform/settings/settings.hpp"

namespace tarn {

struct TotalsAccess {
  static void set_peak(Totals& of, std::uint64_t count) { of.threads_peak_.store(count); }
};

namespace {

class TotalsTest : public testing::Test {
 protected:
  const tarn_account& filled() {
    totals_.fill(&account_);
    return account_;
  }
  Totals totals_;
  tarn_account account_{};
};

TEST_F(TotalsTest, BeginAtZero) {
  EXPECT_EQ(filled().live_bytes, 0u);
  EXPECT_EQ(account_.live_bytes_peak, 0u);
  EXPECT_EQ(account_.large_allocations, 0u);
  EXPECT_EQ(account_.threads_started, 0u);
  EXPECT_EQ(totals_.account_file(), nullptr);
}

TEST_F(TotalsTest, LiveBytesAndTheirPeak) {
  totals_.add_live(1000);
  totals_.add_live(-400);
  EXPECT_EQ(filled().live_bytes, 600u);
  EXPECT_EQ(account_.live_bytes_peak, 1000u);
  totals_.add_live(500);
  EXPECT_EQ(filled().live_bytes_peak, 1100u);
}

// Threads tell what they freed before others tell that it was allocated.
TEST_F(TotalsTest, AreNeverShownBelowZero) {
  totals_.add_live(-300);
  totals_.add_large(-4096);
  EXPECT_EQ(filled().live_bytes, 0u);
  EXPECT_EQ(account_.large_live_blocks, 0u);
  EXPECT_EQ(account_.large_live_bytes, 0u);
  totals_.add_large(4096);
  totals_.add_live(1300);
  EXPECT_EQ(filled().live_bytes, 1000u) << "and nothing was lost";
  EXPECT_EQ(account_.live_bytes_peak, 1000u);
}

TEST_F(TotalsTest, LargeBlocksAreCountedAndLiveToo) {
  totals_.add_large(100'000);
  totals_.add_large(50'000);
  totals_.resize_large(25'000);
  totals_.add_large(-100'000);
  EXPECT_EQ(filled().large_allocations, 2u);
  EXPECT_EQ(account_.large_live_blocks, 1u);
  EXPECT_EQ(account_.large_live_bytes, 75'000u);
  EXPECT_EQ(account_.large_live_bytes_peak, 175'000u);
  EXPECT_EQ(account_.live_bytes, 75'000u);
  EXPECT_EQ(account_.live_bytes_peak, 175'000u);
}

TEST_F(TotalsTest, ThreadsAndTheMostAtATime) {
  for (int i = 0; i < 3; ++i) totals_.count_thread_started();
  totals_.count_thread_ended();
  totals_.count_thread_started();
  EXPECT_EQ(totals_.threads_started(), 4u);
  EXPECT_EQ(totals_.threads_peak(), 3u);
  totals_.set_threads_alive(1);  // In the child of a fork.
  totals_.count_thread_ended();
  totals_.count_thread_ended();
  totals_.count_thread_started();
  EXPECT_EQ(totals_.threads_peak(), 3u) << "there are none fewer than none";
  EXPECT_EQ(filled().threads_started, 5u);
  EXPECT_EQ(account_.threads_peak, 3u);
}

#ifdef TARN_DEBUG
TEST_F(TotalsTest, CheckFindsAPeakThatIsNone) {
  EXPECT_TRUE(totals_.check());
  for (int i = 0; i < 3; ++i) totals_.count_thread_started();
  EXPECT_TRUE(totals_.check());
  TotalsAccess::set_peak(totals_, 2);
  EXPECT_FALSE(totals_.check()) << "three are alive";
  TotalsAccess::set_peak(totals_, 4);
  EXPECT_FALSE(totals_.check()) << "no more than three were started";
  TotalsAccess::set_peak(totals_, 3);
  EXPECT_TRUE(totals_.check());
}
#endif

TEST_F(TotalsTest, MemoryIsWhatTheStoreSays) {
  Span* const span = store.take(3, 1);
  ASSERT_NE(span, nullptr);
  const StoreTotals of_store = store.totals();
  EXPECT_EQ(filled().committed_bytes, of_store.committed_bytes);
  EXPECT_GE(account_.committed_bytes, 3 * slice_bytes);
  EXPECT_EQ(account_.reserved_bytes, of_store.reserved_bytes);
  EXPECT_EQ(account_.committed_bytes_peak, of_store.committed_bytes_peak);
  EXPECT_EQ(account_.os_map_calls, of_store.map_calls);
  store.give(span);
}

TEST_F(TotalsTest, ThreadsAddUp) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        totals_.add_large(64);
        totals_.add_large(-64);
        totals_.add_live(2);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(filled().live_bytes, 8000u);
  EXPECT_EQ(account_.large_allocations, 4000u);
  EXPECT_EQ(account_.large_live_bytes, 0u);
  EXPECT_GE(account_.large_live_bytes_peak, 64u);
  EXPECT_LE(account_.large_live_bytes_peak, 4 * 64u);
  EXPECT_LE(account_.live_bytes_peak, 8000u + 4 * 64u);
}

// The settings are the process's: each test puts them back as they were.
class AccountFileTest : public TotalsTest {
 protected:
  AccountFileTest() {
    std::string name = testing::TempDir() + "tarn_totals_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~AccountFileTest() override {
    settings = before_;
    std::filesystem::remove_all(folder_);
  }
  void set_folder(const std::string& folder) {
    ASSERT_EQ(settings.read(("account=" + folder).c_str()), 0u);
  }
  std::string file() const { return folder_ + "/" + std::to_string(getpid()); }

  std::string folder_;
  Settings before_ = settings;
};

TEST_F(AccountFileTest, WithoutAFolderThereIsNone) {
  totals_.open_account();
  totals_.renew_account();
  EXPECT_EQ(totals_.account_file(), nullptr);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(AccountFileTest, SaysWhatTheCountersSay) {
  set_folder(folder_);
  totals_.add_live(100);
  totals_.open_account();
  ASSERT_NE(totals_.account_file(), nullptr);
  ASSERT_EQ(std::filesystem::file_size(file()), sizeof(tarn_account));
  totals_.add_large(5000);
  std::FILE* const opened = std::fopen(file().c_str(), "rb");
  ASSERT_NE(opened, nullptr);
  EXPECT_EQ(std::fread(&account_, sizeof account_, 1, opened), 1u);
  std::fclose(opened);
  EXPECT_EQ(account_.magic, TARN_ACCOUNT_MAGIC);
  EXPECT_EQ(account_.bytes, sizeof(tarn_account));
  EXPECT_EQ(account_.state, static_cast<decltype(account_.state)>(TARN_ACCOUNT_RUNNING));
  EXPECT_EQ(account_.pid, static_cast<decltype(account_.pid)>(getpid()));
  EXPECT_EQ(account_.live_bytes, 5100u);
  EXPECT_EQ(account_.large_live_blocks, 1u);
}

TEST_F(AccountFileTest, AFolderThatIsNotThereIsReportedAndTheCountersGoOn) {
  set_folder(folder_ + "/none");
  testing::internal::CaptureStderr();
  totals_.open_account();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("tarn: account: cannot create " + folder_ + "/none/"), std::string::npos)
      << said;
  EXPECT_EQ(totals_.account_file(), nullptr);
  totals_.add_live(10);
  EXPECT_EQ(filled().live_bytes, 10u);
  totals_.renew_account();
  EXPECT_EQ(totals_.account_file(), nullptr);
}

}  // namespace
}  // namespace tarn
