// sqlite: what the tests of tarn/hooks/sqlite3.h have in common.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "tarn/hooks/sqlite3.h"

namespace sqlite {

constexpr int usual_flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;

inline tarn_heap_options heap_options(int mode = TARN_MODE_FAST) {
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.mode = mode;
  return options;
}

// Each test has SQLite to itself, over heaps; at the end nothing may be left in them.
class Sqlite : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(tarn_sqlite3_install(nullptr), SQLITE_OK);
    char name[] = "/tmp/tarn-sqlite-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
  }
  void TearDown() override {
    expect_equal_statistics();
    EXPECT_EQ(tarn_sqlite3_remove(), SQLITE_OK);
    EXPECT_EQ(std::system(("rm -rf " + folder).c_str()), 0);
  }

  std::string file(const char* name) const { return folder + "/" + name; }

  sqlite3* open(const std::string& name, const tarn_heap_options* options = nullptr,
                int flags = usual_flags, const char* vfs = nullptr) {
    sqlite3* db = nullptr;
    EXPECT_EQ(tarn_sqlite3_open(name.c_str(), &db, flags, vfs, options), SQLITE_OK) << name;
    // Nobody waits for the disk.
    EXPECT_EQ(sqlite3_exec(db, "PRAGMA synchronous = OFF", nullptr, nullptr, nullptr), SQLITE_OK);
    return db;
  }

  // SQLite's numbers are ours, exactly.
  static void expect_equal_statistics() {
    sqlite3_int64 blocks = 0;
    sqlite3_int64 bytes = 0;
    sqlite3_int64 most = 0;
    ASSERT_EQ(sqlite3_status64(SQLITE_STATUS_MALLOC_COUNT, &blocks, &most, 0), SQLITE_OK);
    ASSERT_EQ(sqlite3_status64(SQLITE_STATUS_MEMORY_USED, &bytes, &most, 0), SQLITE_OK);
    EXPECT_EQ(bytes, sqlite3_memory_used());
    const tarn_sqlite3_stats totals = all();
    EXPECT_EQ(totals.blocks, static_cast<std::uint64_t>(blocks));
    EXPECT_EQ(totals.block_bytes, static_cast<std::uint64_t>(bytes));
  }

  static tarn_sqlite3_stats all() {
    tarn_sqlite3_stats totals = TARN_SQLITE3_STATS();
    EXPECT_EQ(tarn_sqlite3_get_totals(&totals), 0);
    return totals;
  }
  static tarn_sqlite3_stats stats(sqlite3* db) {
    tarn_sqlite3_stats made = TARN_SQLITE3_STATS();
    EXPECT_EQ(tarn_sqlite3_get_stats(db, &made), 0);
    return made;
  }

  std::string folder;
};

inline int run(sqlite3* db, const char* sql) {
  return sqlite3_exec(db, sql, nullptr, nullptr, nullptr);
}

// The first column of the first row, as a number; -1: none.
inline long long number(sqlite3* db, const char* sql) {
  sqlite3_stmt* statement = nullptr;
  long long result = -1;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, nullptr) != SQLITE_OK) return result;
  if (sqlite3_step(statement) == SQLITE_ROW) result = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return result;
}

// A table t of so many rows with so many bytes each.
inline int fill(sqlite3* db, int rows, int bytes) {
  char sql[300];
  std::snprintf(sql, sizeof sql,
                "CREATE TABLE IF NOT EXISTS t(a INTEGER PRIMARY KEY, b);"
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
                "INSERT INTO t(b) SELECT randomblob(%d) FROM n;",
                rows, bytes);
  return run(db, sql);
}

inline bool is_sound(sqlite3* db) {
  return number(db,
                "SELECT count(*) FROM pragma_integrity_check"
                " WHERE integrity_check = 'ok'") == 1;
}

}  // namespace sqlite
