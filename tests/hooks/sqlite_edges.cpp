// sqlite_edges: what programs do with SQLite besides opening and closing: file systems that come
// and go, closing that is refused, removal that comes too early, no statistics.
//
// SPDX-License-Identifier: MIT
#include <memory>
#include <thread>
#include <vector>

#include "sqlite.hpp"

namespace {

using sqlite::number;
using sqlite::run;

class Edges : public sqlite::Sqlite {};

int open_with_itself(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags,
                     int* out_flags) {
  return sqlite3_vfs_find(nullptr)->xOpen(vfs, name, file, flags, out_flags);
}

// The usual way to a VFS of one's own: a copy of another, with some functions changed.
TEST_F(Edges, CopiesOfFileSystemsOpenFiles) {
  auto copy = std::make_unique<sqlite3_vfs>(*sqlite3_vfs_find(nullptr));
  copy->zName = "copy";
  auto changed = std::make_unique<sqlite3_vfs>(*copy);
  changed->zName = "changed";
  changed->xOpen = open_with_itself;
  for (sqlite3_vfs* const vfs : {copy.get(), changed.get()}) {
    ASSERT_EQ(sqlite3_vfs_register(vfs, 0), SQLITE_OK);
    sqlite3* db = nullptr;
    ASSERT_EQ(tarn_sqlite3_open(file(vfs->zName).c_str(), &db, sqlite::usual_flags, vfs->zName,
                                nullptr), SQLITE_OK) << vfs->zName;
    EXPECT_EQ(run(db, "CREATE TABLE t(a); INSERT INTO t VALUES (7)"), SQLITE_OK);
    EXPECT_EQ(number(db, "SELECT a FROM t"), 7);
    EXPECT_EQ(tarn_sqlite3_close(db), SQLITE_OK);
    EXPECT_EQ(sqlite3_vfs_unregister(vfs), SQLITE_OK);
  }
}

// One that is not registered any more may be gone: it is not written to.
TEST(EdgesOfInstall, LeavesFileSystemsThatAreGone) {
  ASSERT_EQ(tarn_sqlite3_install(nullptr), SQLITE_OK);
  auto gone = std::make_unique<sqlite3_vfs>(*sqlite3_vfs_find(nullptr));
  gone->zName = "gone";
  gone->xOpen = open_with_itself;
  ASSERT_EQ(sqlite3_vfs_register(gone.get(), 0), SQLITE_OK);
  sqlite3* db = nullptr;
  ASSERT_EQ(tarn_sqlite3_open(":memory:", &db, sqlite::usual_flags, "gone", nullptr), SQLITE_OK);
  EXPECT_EQ(tarn_sqlite3_close(db), SQLITE_OK);
  ASSERT_EQ(sqlite3_vfs_unregister(gone.get()), SQLITE_OK);
  const auto seen = gone->xOpen;
  EXPECT_EQ(tarn_sqlite3_remove(), SQLITE_OK);
  EXPECT_EQ(gone->xOpen, seen);
}

// SQLite ends virtual tables before it says that the connection is busy.
TEST_F(Edges, RefusedClosingLeavesNothing) {
  sqlite3* const db = open(":memory:");
  if (run(db, "CREATE VIRTUAL TABLE f USING fts5(a)") != SQLITE_OK) {
    EXPECT_EQ(tarn_sqlite3_close(db), SQLITE_OK);
    GTEST_SKIP() << "no virtual table in this SQLite";
  }
  sqlite3_stmt* statement = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(db, "SELECT 1", -1, &statement, nullptr), SQLITE_OK);
  EXPECT_EQ(tarn_sqlite3_close(db), SQLITE_BUSY);
  expect_equal_statistics();
  EXPECT_EQ(sqlite3_finalize(statement), SQLITE_OK);
  EXPECT_EQ(sqlite3_close(db), SQLITE_OK);
  EXPECT_EQ(all().heaps, 2u);
}

TEST_F(Edges, ConnectionsOfSqlitesOwnKeepItInstalled) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
  ASSERT_EQ(run(db, "CREATE TABLE t(a); INSERT INTO t VALUES (7)"), SQLITE_OK);
  ASSERT_EQ(tarn_sqlite3_remove(), SQLITE_BUSY);
  EXPECT_EQ(number(db, "SELECT a FROM t"), 7);
  EXPECT_EQ(sqlite3_close(db), SQLITE_OK);
}

// Without statistics SQLite frees under no mutex, while others end what is closed and empty.
TEST(EdgesOfInstall, ClosesInManyThreadsWithoutStatistics) {
  ASSERT_EQ(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0), SQLITE_OK);
  ASSERT_EQ(tarn_sqlite3_install(nullptr), SQLITE_OK);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < 300; ++round) {
        sqlite3* db = nullptr;
        ASSERT_EQ(tarn_sqlite3_open(":memory:", &db, sqlite::usual_flags, nullptr, nullptr),
                  SQLITE_OK);
        EXPECT_EQ(run(db, "CREATE TABLE t(a)"), SQLITE_OK);
        EXPECT_EQ(sqlite3_close(db), SQLITE_OK);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(tarn_sqlite3_remove(), SQLITE_OK);
  EXPECT_EQ(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 1), SQLITE_OK);
}

// Those that find no memory are closed by SQLite itself, while others end what is closed and empty.
TEST_F(Edges, OpeningsThatFailInManyThreads) {
  std::vector<std::thread> threads;
  int failures[4] = {};
  int refused[4] = {};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned round = 0; round < 1000; ++round) {
        tarn_heap_options options = sqlite::heap_options();
        options.ceiling_bytes = 20'480 + 4096 * (round % 3);  // Too little.
        sqlite3* db = nullptr;
        const int result =
            tarn_sqlite3_open(":memory:", &db, sqlite::usual_flags, nullptr, &options);
        ++(result == SQLITE_NOMEM && db == nullptr ? refused[t] : failures[t]);
        tarn_sqlite3_close(db);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int failed : failures) EXPECT_EQ(failed, 0);
  for (const int count : refused) EXPECT_EQ(count, 1000);
  EXPECT_EQ(all().heaps, 2u);
}

// Asking SQLite for one of its static mutexes leaves those alone that somebody holds.
TEST_F(Edges, StaticMutexesAreMadeOnce) {
  sqlite3_mutex* const mutex = sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_APP1);
  sqlite3_mutex_enter(mutex);
  EXPECT_EQ(sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_APP1), mutex);
  EXPECT_NE(sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_APP2), mutex);
  std::thread([mutex] { EXPECT_EQ(sqlite3_mutex_try(mutex), SQLITE_BUSY); }).join();
  sqlite3_mutex_leave(mutex);
  std::thread([mutex] {
    EXPECT_EQ(sqlite3_mutex_try(mutex), SQLITE_OK);
    sqlite3_mutex_leave(mutex);
  }).join();
}

void open_plainly(sqlite3_context* context, int, sqlite3_value**) {
  auto** const made = static_cast<sqlite3**>(sqlite3_user_data(context));
  tarn_sqlite3_begin_shared();
  const int result = sqlite3_open_v2(":memory:", made, sqlite::usual_flags, nullptr);
  tarn_sqlite3_end_shared();
  sqlite3_result_int(context, result);
}

TEST_F(Edges, ConnectionsThatCallbacksOpenPlainlyLiveOn) {
  sqlite3* const db = open(":memory:");
  sqlite3* made = nullptr;
  ASSERT_EQ(sqlite3_create_function(db, "plain", 0, SQLITE_UTF8, &made, open_plainly, nullptr,
                                    nullptr), SQLITE_OK);
  EXPECT_EQ(number(db, "SELECT plain()"), SQLITE_OK);
  EXPECT_EQ(tarn_heap_of(made).id, tarn_sqlite3_heap(nullptr).id);
  ASSERT_EQ(tarn_sqlite3_close(db), SQLITE_OK);
  EXPECT_EQ(run(made, "CREATE TABLE t(a); INSERT INTO t VALUES (7)"), SQLITE_OK);
  EXPECT_EQ(number(made, "SELECT a FROM t"), 7);
  EXPECT_EQ(sqlite3_close(made), SQLITE_OK);
}

}  // namespace
