// sqlite_edges: what programs do with SQLite besides opening and closing: file systems that come
// and go, closing that is refused, removal that comes too early, no statistics.
//
// SPDX-License-Identifier: MIT
#include <memory>
#include <thread>
#include <vector>

#include "../support/threads.hpp"
#include "sqlite.hpp"
#include "tarn/source/buffer_source.h"

namespace {

using sqlite::number;
using sqlite::run;

class Edges : public sqlite::Sqlite {};

// What an extension does that refuses, and leaves a statement.
sqlite3_stmt* left_statement = nullptr;
int leave_statement(sqlite3* db, char**, const sqlite3_api_routines*) {
  EXPECT_EQ(sqlite3_prepare_v2(db, "SELECT 7", -1, &left_statement, nullptr), SQLITE_OK);
  return SQLITE_ERROR;
}

TEST_F(Edges, StatementsOfOpeningsThatFail) {
  const auto entry = reinterpret_cast<void (*)()>(leave_statement);
  ASSERT_EQ(sqlite3_auto_extension(entry), SQLITE_OK);
  sqlite3* db = nullptr;
  EXPECT_EQ(tarn_sqlite3_open(":memory:", &db, sqlite::usual_flags, nullptr, nullptr),
            SQLITE_ERROR);
  EXPECT_EQ(db, nullptr);
  EXPECT_EQ(sqlite3_cancel_auto_extension(entry), 1);
  sqlite3_reset_auto_extension();
  ASSERT_NE(left_statement, nullptr);
  EXPECT_EQ(sqlite3_step(left_statement), SQLITE_ROW);
  EXPECT_EQ(sqlite3_column_int(left_statement, 0), 7);
  expect_equal_statistics();
  EXPECT_EQ(sqlite3_finalize(left_statement), SQLITE_OK);
  EXPECT_EQ(all().heaps, 2u);
}

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
    ASSERT_EQ(
        tarn_sqlite3_open(file(vfs->zName).c_str(), &db, sqlite::usual_flags, vfs->zName, nullptr),
        SQLITE_OK)
        << vfs->zName;
    EXPECT_EQ(run(db, "CREATE TABLE t(a); INSERT INTO t VALUES (7)"), SQLITE_OK);
    EXPECT_EQ(number(db, "SELECT a FROM t"), 7);
    EXPECT_EQ(tarn_sqlite3_close(db), SQLITE_OK);
    EXPECT_EQ(sqlite3_vfs_unregister(vfs), SQLITE_OK);
  }
}

// Opens what lies beside it under another name, as itself: as it was asked, and not once more.
std::string redirected;
int open_another(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags,
                 int* out_flags) {
  if (name != nullptr) redirected = std::string(name) + ".other";
  return sqlite3_vfs_find(nullptr)->xOpen(vfs, name == nullptr ? nullptr : redirected.c_str(), file,
                                          flags, out_flags);
}

TEST_F(Edges, FileSystemsThatChangeNames) {
  sqlite3_vfs changed = *sqlite3_vfs_find(nullptr);
  changed.zName = "renames";
  changed.xOpen = open_another;
  ASSERT_EQ(sqlite3_vfs_register(&changed, 0), SQLITE_OK);
  sqlite3* const db = open(file("a.db"), nullptr, sqlite::usual_flags, "renames");
  EXPECT_EQ(run(db, "PRAGMA journal_mode = OFF; CREATE TABLE t(a)"), SQLITE_OK);
  EXPECT_EQ(tarn_sqlite3_close(db), SQLITE_OK);
  EXPECT_EQ(access(file("a.db.other").c_str(), R_OK), 0);
  EXPECT_NE(access(file("a.db").c_str(), R_OK), 0);
  EXPECT_EQ(sqlite3_vfs_unregister(&changed), SQLITE_OK);
}

// Any number of them, one after the other.
TEST_F(Edges, FileSystemsComeAndGo) {
  std::vector<sqlite3_vfs> many(100, *sqlite3_vfs_find(nullptr));
  for (sqlite3_vfs& vfs : many) {
    vfs.zName = "one of many";
    vfs.xOpen = open_with_itself;
    ASSERT_EQ(sqlite3_vfs_register(&vfs, 0), SQLITE_OK);
    sqlite3* const db = open(file("many.db"), nullptr, sqlite::usual_flags, "one of many");
    EXPECT_EQ(run(db, "CREATE TABLE IF NOT EXISTS t(a)"), SQLITE_OK);
    EXPECT_EQ(tarn_sqlite3_close(db), SQLITE_OK);
    ASSERT_EQ(sqlite3_vfs_unregister(&vfs), SQLITE_OK);
  }
}

int refuse_to_open(sqlite3_vfs*, const char*, sqlite3_file*, int, int*) { return SQLITE_PERM; }

// Another one at the address of one that is gone is what it is a copy of.
TEST_F(Edges, FileSystemsAtOneAddress) {
  sqlite3_vfs vfs = *sqlite3_vfs_find(nullptr);
  int data = 0;
  vfs.zName = "one address";
  vfs.xOpen = refuse_to_open;
  vfs.pAppData = &data;
  ASSERT_EQ(sqlite3_vfs_register(&vfs, 0), SQLITE_OK);
  sqlite3* db = nullptr;
  EXPECT_EQ(
      tarn_sqlite3_open(file("c.db").c_str(), &db, sqlite::usual_flags, "one address", nullptr),
      SQLITE_PERM);
  ASSERT_EQ(sqlite3_vfs_unregister(&vfs), SQLITE_OK);
  vfs = *sqlite3_vfs_find(nullptr);
  vfs.zName = "the same";
  ASSERT_EQ(sqlite3_vfs_register(&vfs, 0), SQLITE_OK);
  db = open(file("c.db"), nullptr, sqlite::usual_flags, "the same");
  EXPECT_EQ(run(db, "CREATE TABLE t(a)"), SQLITE_OK);
  EXPECT_EQ(tarn_sqlite3_close(db), SQLITE_OK);
  ASSERT_EQ(sqlite3_vfs_unregister(&vfs), SQLITE_OK);
}

// Others register theirs while connections are opened.
TEST_F(Edges, FileSystemsOfOtherThreads) {
  std::thread other([] {
    for (int i = 0; i < 500; ++i) {
      auto vfs = std::make_unique<sqlite3_vfs>(*sqlite3_vfs_find(nullptr));
      vfs->zName = "of another thread";
      ASSERT_EQ(sqlite3_vfs_register(vfs.get(), 0), SQLITE_OK);
      ASSERT_EQ(sqlite3_vfs_unregister(vfs.get()), SQLITE_OK);
    }
  });
  for (int i = 0; i < 100; ++i) {
    sqlite3* const db = open(":memory:");
    EXPECT_EQ(tarn_sqlite3_close(db), SQLITE_OK);
  }
  other.join();
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
  tarn_heap_stats held = TARN_HEAP_STATS();
  ASSERT_EQ(tarn_heap_get_stats(tarn_sqlite3_heap(db), &held), 0);
  EXPECT_EQ(held.live_blocks, stats(db).blocks) << "what was freed has gone";
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
  support::in_threads(4, [] {
    for (int round = 0; round < 300; ++round) {
      sqlite3* db = nullptr;
      ASSERT_EQ(tarn_sqlite3_open(":memory:", &db, sqlite::usual_flags, nullptr, nullptr),
                SQLITE_OK);
      EXPECT_EQ(run(db, "CREATE TABLE t(a)"), SQLITE_OK);
      EXPECT_EQ(sqlite3_close(db), SQLITE_OK);
    }
  });
  EXPECT_EQ(tarn_sqlite3_remove(), SQLITE_OK);
  EXPECT_EQ(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 1), SQLITE_OK);
}

// Those that find no memory are closed by SQLite itself, while others end what is closed and empty.
TEST_F(Edges, OpeningsThatFailInManyThreads) {
  int failures[4] = {};
  int refused[4] = {};
  support::in_threads(4, [&](int t) {
    for (unsigned round = 0; round < 1000; ++round) {
      tarn_heap_options options = sqlite::heap_options();
      options.ceiling_bytes = 20'480 + 4096 * (round % 3);  // Too little.
      sqlite3* db = nullptr;
      const int result = tarn_sqlite3_open(":memory:", &db, sqlite::usual_flags, nullptr, &options);
      ++(result == SQLITE_NOMEM && db == nullptr ? refused[t] : failures[t]);
      tarn_sqlite3_close(db);
    }
  });
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
  ASSERT_EQ(
      sqlite3_create_function(db, "plain", 0, SQLITE_UTF8, &made, open_plainly, nullptr, nullptr),
      SQLITE_OK);
  EXPECT_EQ(number(db, "SELECT plain()"), SQLITE_OK);
  EXPECT_EQ(tarn_heap_of(made).id, tarn_sqlite3_heap(nullptr).id);
  ASSERT_EQ(tarn_sqlite3_close(db), SQLITE_OK);
  EXPECT_EQ(run(made, "CREATE TABLE t(a); INSERT INTO t VALUES (7)"), SQLITE_OK);
  EXPECT_EQ(number(made, "SELECT a FROM t"), 7);
  EXPECT_EQ(sqlite3_close(made), SQLITE_OK);
}

// A callback of one connection opens another, and what is done for each that is opened uses the
// first: that has what it allocates, or everybody.
sqlite3* first_of_all = nullptr;
int note_opening(sqlite3*, char**, const sqlite3_api_routines*) {
  return first_of_all == nullptr ? SQLITE_OK : run(first_of_all, "CREATE TEMP TABLE noted(a)");
}
void open_within(sqlite3_context* context, int, sqlite3_value**) {
  auto* const made = static_cast<sqlite3**>(sqlite3_user_data(context));
  const tarn_heap_options options = sqlite::heap_options(TARN_MODE_PASSTHROUGH);
  sqlite3_result_int(context,
                     tarn_sqlite3_open(":memory:", made, sqlite::usual_flags, nullptr, &options));
}

TEST_F(Edges, OpeningsInCallbacksUseTheFirst) {
  const tarn_heap_options options = sqlite::heap_options(TARN_MODE_PASSTHROUGH);
  ASSERT_EQ(sqlite3_auto_extension(reinterpret_cast<void (*)()>(note_opening)), SQLITE_OK);
  sqlite3* const db = open(":memory:", &options);
  sqlite3* made = nullptr;
  ASSERT_EQ(
      sqlite3_create_function(db, "within", 0, SQLITE_UTF8, &made, open_within, nullptr, nullptr),
      SQLITE_OK);
  first_of_all = db;
  EXPECT_EQ(number(db, "SELECT within()"), SQLITE_OK);
  first_of_all = nullptr;
  sqlite3_reset_auto_extension();
  EXPECT_EQ(tarn_sqlite3_close(made), SQLITE_OK);
  EXPECT_EQ(run(db, "INSERT INTO noted VALUES (7)"), SQLITE_OK) << "its table has not gone";
  EXPECT_EQ(number(db, "SELECT a FROM noted"), 7);
  EXPECT_EQ(tarn_sqlite3_close(db), SQLITE_OK);
}

// Options are read while a connection is opened, what they lead to as well.
TEST_F(Edges, SourcesOfOptionsMayGo) {
  tarn_buffer_source buffer;
  std::vector<unsigned char> memory(8 << 20);
  tarn_buffer_source_init(&buffer, memory.data(), memory.size());
  sqlite3* db = nullptr;
  {
    auto source = std::make_unique<tarn_source>(tarn_buffer_source_get(&buffer));
    tarn_heap_options options = sqlite::heap_options();
    options.source = source.get();
    db = open(":memory:", &options);
    *source = {};
  }
  EXPECT_EQ(sqlite::fill(db, 1000, 400), SQLITE_OK) << "pages have a heap of their own";
  EXPECT_GT(stats(db).heaps, 2u);
  EXPECT_TRUE(sqlite::is_sound(db));
  EXPECT_EQ(tarn_sqlite3_close(db), SQLITE_OK);
}

}  // namespace
