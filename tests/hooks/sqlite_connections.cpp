// sqlite_connections: a heap for each connection: statistics, ceilings, ends.
//
// SPDX-License-Identifier: MIT
#include "sqlite.hpp"

namespace {

using sqlite::fill;
using sqlite::heap_options;
using sqlite::is_sound;
using sqlite::number;
using sqlite::run;

class Connections : public sqlite::Sqlite {};

TEST(Install, IsRefusedWhenSqliteIsInUse) {
  ASSERT_EQ(sqlite3_initialize(), SQLITE_OK);
  testing::internal::CaptureStderr();
  EXPECT_EQ(tarn_sqlite3_install(nullptr), SQLITE_MISUSE);
  sqlite3* db = nullptr;
  EXPECT_EQ(tarn_sqlite3_open(":memory:", &db, sqlite::usual_flags, nullptr, nullptr),
            SQLITE_MISUSE);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "tarn: tarn_sqlite3_install: SQLite is in use already: call this before all others\n"
            "tarn: tarn_sqlite3_open: call tarn_sqlite3_install first\n");
  EXPECT_EQ(tarn_sqlite3_remove(), SQLITE_MISUSE);
  ASSERT_EQ(sqlite3_shutdown(), SQLITE_OK);
}

TEST(Install, LeavesSqliteAsItWas) {
  ASSERT_EQ(tarn_sqlite3_install(nullptr), SQLITE_OK);
  EXPECT_EQ(tarn_sqlite3_install(nullptr), SQLITE_MISUSE);
  ASSERT_EQ(tarn_sqlite3_remove(), SQLITE_OK);
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
  void* const p = sqlite3_malloc(100);
  EXPECT_EQ(tarn_heap_of(p).id, 0u) << "it is SQLite's own malloc again";
  sqlite3_free(p);
  EXPECT_EQ(sqlite3_close(db), SQLITE_OK);
  ASSERT_EQ(sqlite3_shutdown(), SQLITE_OK);
  tarn_heap_options options = heap_options();
  char region[65536];
  options.region = region;
  options.region_bytes = sizeof region;
  EXPECT_EQ(tarn_sqlite3_install(&options), SQLITE_MISUSE);
}

TEST_F(Connections, HaveTheirBlocks) {
  sqlite3* const a = open(":memory:");
  sqlite3* const b = open(file("b.db"));
  expect_equal_statistics();
  const auto empty = stats(b);
  ASSERT_EQ(fill(a, 5000, 400), SQLITE_OK);
  expect_equal_statistics();
  EXPECT_GT(stats(a).page_bytes, 2'000'000u);
  EXPECT_EQ(stats(b).pages, empty.pages);
  sqlite3_stmt* statement = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(a, "SELECT * FROM t ORDER BY b", -1, &statement, nullptr),
            SQLITE_OK);
  EXPECT_EQ(tarn_heap_of(statement).id, tarn_sqlite3_heap(a).id);
  EXPECT_EQ(tarn_heap_of(a).id, tarn_sqlite3_heap(a).id);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(sqlite3_step(statement), SQLITE_ROW);
  expect_equal_statistics();
  sqlite3_finalize(statement);
  void* const p = sqlite3_malloc(10);  // No connection's.
  EXPECT_EQ(tarn_heap_of(p).id, tarn_sqlite3_heap(nullptr).id);
  sqlite3_free(p);
  expect_equal_statistics();
  ASSERT_EQ(tarn_sqlite3_close(a), SQLITE_OK);
  expect_equal_statistics();
  ASSERT_EQ(fill(b, 100, 100), SQLITE_OK);
  expect_equal_statistics();
  ASSERT_EQ(tarn_sqlite3_close(b), SQLITE_OK);
  EXPECT_EQ(all().blocks, 0u);
  EXPECT_EQ(all().pages, 0u);
}

TEST_F(Connections, StopAtTheirCeiling) {
  tarn_heap_options options = heap_options();
  options.ceiling_bytes = 4 << 20;
  options.name = "tenant";
  sqlite3* const a = open(":memory:", &options);
  sqlite3* const b = open(":memory:");
  EXPECT_STREQ(tarn_heap_name(tarn_sqlite3_heap(a)), "tenant");
  EXPECT_EQ(fill(a, 20'000, 400), SQLITE_NOMEM);
  EXPECT_EQ(sqlite3_errcode(a), SQLITE_NOMEM);
  EXPECT_EQ(fill(b, 20'000, 400), SQLITE_OK) << "others go on";
  tarn_heap_stats held = TARN_HEAP_STATS();
  ASSERT_EQ(tarn_heap_get_stats(tarn_sqlite3_heap(a), &held), 0);
  EXPECT_LE(held.committed_bytes_peak, options.ceiling_bytes);
  EXPECT_GT(held.committed_bytes_peak, options.ceiling_bytes / 2);
  EXPECT_LE(stats(a).committed_bytes, options.ceiling_bytes);
  expect_equal_statistics();
  EXPECT_EQ(run(a, "DROP TABLE IF EXISTS t"), SQLITE_OK) << "it is usable, and sound";
  EXPECT_EQ(fill(a, 1000, 400), SQLITE_OK);
  EXPECT_TRUE(is_sound(a));
  ASSERT_EQ(tarn_sqlite3_close(a), SQLITE_OK);
  EXPECT_EQ(number(b, "SELECT count(*) FROM t"), 20'000);
  ASSERT_EQ(tarn_sqlite3_close(b), SQLITE_OK);
}

// A file larger than the ceiling: pages are used again, and no query fails.
TEST_F(Connections, ReadFilesLargerThanTheCeiling) {
  sqlite3* const writer = open(file("large.db"));
  ASSERT_EQ(fill(writer, 20'000, 700), SQLITE_OK);
  ASSERT_EQ(tarn_sqlite3_close(writer), SQLITE_OK);
  tarn_heap_options options = heap_options();
  options.ceiling_bytes = 2 << 20;
  sqlite3* const db = open(file("large.db"), &options);
  ASSERT_EQ(run(db, "PRAGMA cache_size = 100000"), SQLITE_OK);
  EXPECT_EQ(number(db, "SELECT sum(length(b)) FROM t"), 14'000'000);
  EXPECT_TRUE(is_sound(db));
  EXPECT_LE(stats(db).committed_bytes, options.ceiling_bytes);
  expect_equal_statistics();
  ASSERT_EQ(tarn_sqlite3_close(db), SQLITE_OK);
}

TEST_F(Connections, UsePagesAgainFromTheSoftMarkOn) {
  tarn_heap_options options = heap_options();
  options.soft_mark_bytes = 1 << 20;
  sqlite3* const db = open(file("soft.db"), &options);
  ASSERT_EQ(run(db, "PRAGMA cache_size = 100000"), SQLITE_OK);
  ASSERT_EQ(fill(db, 10'000, 700), SQLITE_OK);
  EXPECT_EQ(number(db, "SELECT sum(length(b)) FROM t"), 7'000'000);
  EXPECT_LE(stats(db).page_bytes, options.soft_mark_bytes + 65536);
  EXPECT_GT(stats(db).page_bytes, options.soft_mark_bytes / 2);
  EXPECT_TRUE(is_sound(db));
  ASSERT_EQ(tarn_sqlite3_close(db), SQLITE_OK);
}

// The cache's own ways: limits, shrinking, moved and truncated pages.
TEST_F(Connections, KeepPagesInOrder) {
  sqlite3* const db = open(file("pages.db"));
  ASSERT_EQ(run(db, "PRAGMA cache_size = 50; PRAGMA auto_vacuum = FULL; VACUUM"), SQLITE_OK);
  ASSERT_EQ(fill(db, 5000, 900), SQLITE_OK);
  EXPECT_LE(stats(db).pages, 60u);
  ASSERT_EQ(run(db,
                "DELETE FROM t WHERE a % 3 = 0; UPDATE t SET b = randomblob(50) WHERE a % 2;"
                "PRAGMA cache_size = 2000; CREATE INDEX i ON t(b)"),
            SQLITE_OK);
  EXPECT_TRUE(is_sound(db));
  const auto before = stats(db);
  EXPECT_GT(before.pages, 60u);
  ASSERT_EQ(run(db, "PRAGMA shrink_memory"), SQLITE_OK);
  EXPECT_LT(stats(db).pages, 20u);
  ASSERT_EQ(run(db, "VACUUM; DROP INDEX i; PRAGMA cache_size = 10"), SQLITE_OK);
  EXPECT_TRUE(is_sound(db));
  ASSERT_EQ(run(db,
                "BEGIN; DELETE FROM t; SAVEPOINT s; CREATE TABLE u AS SELECT 1;"
                "ROLLBACK TO s; ROLLBACK"),
            SQLITE_OK);
  EXPECT_EQ(number(db, "SELECT count(*) FROM t"), 3334);
  ASSERT_EQ(run(db, "PRAGMA page_size = 1024; PRAGMA journal_mode = DELETE; VACUUM"), SQLITE_OK);
  EXPECT_TRUE(is_sound(db));
  expect_equal_statistics();
  ASSERT_EQ(tarn_sqlite3_close(db), SQLITE_OK);
}

TEST_F(Connections, AreBusyWithStatements) {
  sqlite3* const db = open(":memory:");
  sqlite3_stmt* statement = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(db, "SELECT 1", -1, &statement, nullptr), SQLITE_OK);
  EXPECT_EQ(tarn_sqlite3_close(db), SQLITE_BUSY);
  expect_equal_statistics();
  EXPECT_EQ(tarn_sqlite3_remove(), SQLITE_BUSY);
  EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
  sqlite3_finalize(statement);
  EXPECT_EQ(tarn_sqlite3_close(db), SQLITE_OK);
  EXPECT_EQ(tarn_sqlite3_close(nullptr), SQLITE_OK);
}

// Programs that close by themselves, zombies too.
TEST_F(Connections, MayBeOpenedAndClosedByOthers) {
  sqlite3* db = open(":memory:");
  ASSERT_EQ(fill(db, 100, 100), SQLITE_OK);
  EXPECT_EQ(sqlite3_close(db), SQLITE_OK);
  EXPECT_EQ(all().heaps, 2u) << "its heaps have gone";
  db = open(":memory:");
  sqlite3_stmt* statement = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(db, "SELECT 1", -1, &statement, nullptr), SQLITE_OK);
  EXPECT_EQ(sqlite3_close_v2(db), SQLITE_OK);
  EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
  expect_equal_statistics();
  sqlite3_finalize(statement);
  EXPECT_EQ(all().blocks, 0u);
  EXPECT_EQ(all().heaps, 2u);
  db = open(":memory:");  // What it has handed out keeps the heap.
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(db, "SELECT * FROM missing", nullptr, nullptr, &message), SQLITE_ERROR);
  EXPECT_EQ(sqlite3_close(db), SQLITE_OK);
  EXPECT_EQ(all().heaps, 4u);
  EXPECT_STREQ(message, "no such table: missing");
  expect_equal_statistics();
  sqlite3_free(message);
  db = open(":memory:");  // Sweeps.
  EXPECT_EQ(all().heaps, 4u);
  EXPECT_EQ(tarn_sqlite3_close(db), SQLITE_OK);
  ASSERT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);  // In what is everybody's.
  EXPECT_EQ(tarn_heap_of(db).id, tarn_sqlite3_heap(nullptr).id);
  ASSERT_EQ(fill(db, 100, 100), SQLITE_OK);
  EXPECT_GT(stats(nullptr).pages, 0u);
  EXPECT_EQ(tarn_sqlite3_close(db), SQLITE_OK);
}

TEST_F(Connections, ThatFailToOpenLeaveNothing) {
  sqlite3* db = nullptr;
  EXPECT_EQ(tarn_sqlite3_open((folder + "/none/a.db").c_str(), &db, sqlite::usual_flags, nullptr,
                              nullptr),
            SQLITE_CANTOPEN);
  EXPECT_EQ(db, nullptr);
  EXPECT_EQ(tarn_sqlite3_open(":memory:", &db, sqlite::usual_flags, "no such vfs", nullptr),
            SQLITE_ERROR);
  tarn_heap_options options = heap_options();
  options.bytes = 3;
  EXPECT_EQ(tarn_sqlite3_open(":memory:", &db, sqlite::usual_flags, nullptr, &options),
            SQLITE_MISUSE);
  options = heap_options();
  options.ceiling_bytes = 4096;
  EXPECT_EQ(tarn_sqlite3_open(":memory:", &db, sqlite::usual_flags, nullptr, &options),
            SQLITE_NOMEM);
  EXPECT_EQ(db, nullptr);
  EXPECT_EQ(all().blocks, 0u);
  EXPECT_EQ(all().heaps, 2u);
}

// Every ceiling from too little to enough: SQLITE_NOMEM, or all went well, and nothing is left.
TEST_F(Connections, SurviveEveryCeiling) {
  int refused = 0;
  int served = 0;
  for (std::size_t ceiling = 40'960; ceiling < 9'000'000; ceiling += ceiling / 8 + 4096) {
    tarn_heap_options options = heap_options();
    options.ceiling_bytes = ceiling;
    sqlite3* db = nullptr;
    int result =
        tarn_sqlite3_open(file("every.db").c_str(), &db, sqlite::usual_flags, nullptr, &options);
    const char* const steps[] = {"PRAGMA synchronous = OFF; DROP TABLE IF EXISTS t",
                                 "CREATE TABLE t(a INTEGER PRIMARY KEY, b UNIQUE)",
                                 "BEGIN",
                                 "INSERT INTO t(b) VALUES (randomblob(9000)), (randomblob(90000))",
                                 "COMMIT",
                                 "CREATE TEMP TABLE s AS SELECT a, hex(b) AS h FROM t ORDER BY b",
                                 "SELECT group_concat(h) FROM s GROUP BY a"};
    for (const char* const step : steps) {
      if (result == SQLITE_OK) result = run(db, step);
    }
    EXPECT_TRUE(result == SQLITE_OK || result == SQLITE_NOMEM || result == SQLITE_IOERR_NOMEM)
        << result << " at " << ceiling;
    ++(result == SQLITE_OK ? served : refused);
    expect_equal_statistics();
    EXPECT_EQ(tarn_sqlite3_close(db), SQLITE_OK);
    EXPECT_EQ(all().pages, 0u) << ceiling;
  }
  EXPECT_GT(refused, 3);
  EXPECT_GT(served, 3);
}

}  // namespace
