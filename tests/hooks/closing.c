/* closing: makes a database of so many rows in memory and closes it:
 * hooks_closing ROWS tarn|sqlite.
 * closing_test.sh counts the instructions of close_database.
 *
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "../check.h"
#include "tarn/hooks/sqlite3.h"

__attribute__((noinline)) int close_database(sqlite3* db, int is_ours);
int close_database(sqlite3* db, int is_ours) {
  return is_ours ? tarn_sqlite3_close(db) : sqlite3_close(db);
}

int main(int argc, char** argv) {
  char sql[400];
  sqlite3* db = NULL;
  CHECK(argc == 3);
  const int is_ours = strcmp(argv[2], "tarn") == 0;
  if (is_ours) {
    CHECK(tarn_sqlite3_install(NULL) == SQLITE_OK);
    CHECK(tarn_sqlite3_open(":memory:", &db, SQLITE_OPEN_READWRITE, NULL, NULL) == SQLITE_OK);
  } else {
    CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK);
  }
  snprintf(sql, sizeof sql,
           "CREATE TABLE t(a INTEGER PRIMARY KEY, b);"
           "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
           "INSERT INTO t(b) SELECT zeroblob(2000) FROM n",
           atoi(argv[1]));
  CHECK(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
  CHECK(close_database(db, is_ours) == SQLITE_OK);
  CHECK(sqlite3_memory_used() == 0);
  if (is_ours) CHECK(tarn_sqlite3_remove() == SQLITE_OK);
  return 0;
}
