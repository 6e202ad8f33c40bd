/* tenants: SQL with a heap for each connection. One of them asks for too much and gets
 * SQLITE_NOMEM, while the others do not notice. Each is closed at once.
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <tarn/hooks/sqlite3.h>

static const char rows[] =
    "CREATE TABLE notes(id INTEGER PRIMARY KEY, text);"
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
    "INSERT INTO notes(text) SELECT 'note ' || i || hex(zeroblob(100)) FROM n";

static sqlite3* open_tenant(const char* name) {
  const tarn_heap_options options = TARN_HEAP_OPTIONS(.name = name, .ceiling_bytes = 4 << 20);
  sqlite3* db = NULL;
  const int result = tarn_sqlite3_open(":memory:", &db, SQLITE_OPEN_READWRITE, NULL, &options);
  if (result != SQLITE_OK) fprintf(stderr, "%s: %s\n", name, sqlite3_errstr(result));
  return db;
}

static void fill(sqlite3* db, int count) {
  char* const sql = sqlite3_mprintf(rows, count);
  const int result = sqlite3_exec(db, sql, NULL, NULL, NULL);
  tarn_sqlite3_stats stats = TARN_SQLITE3_STATS();
  sqlite3_free(sql);
  tarn_sqlite3_get_stats(db, &stats);
  printf("%s: %s; %llu pages, %llu other blocks, %llu KiB of 4096\n",
         tarn_heap_name(tarn_sqlite3_heap(db)), sqlite3_errstr(result),
         (unsigned long long)stats.pages, (unsigned long long)stats.blocks,
         (unsigned long long)stats.committed_bytes / 1024);
}

int main(void) {
  if (tarn_sqlite3_install(NULL) != SQLITE_OK) return 1;
  sqlite3* const modest = open_tenant("modest");
  sqlite3* const greedy = open_tenant("greedy");
  if (modest == NULL || greedy == NULL) return 1;
  fill(modest, 2000);
  fill(greedy, 200000);

  tarn_sqlite3_stats totals = TARN_SQLITE3_STATS();
  tarn_sqlite3_get_totals(&totals);
  printf("all: %llu bytes in blocks, as SQLite says: %lld\n",
         (unsigned long long)totals.block_bytes, (long long)sqlite3_memory_used());
  tarn_sqlite3_close(greedy);
  tarn_sqlite3_close(modest);
  printf("left: %lld bytes\n", (long long)sqlite3_memory_used());
  return tarn_sqlite3_remove() == SQLITE_OK ? 0 : 1;
}
