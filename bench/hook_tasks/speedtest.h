/* speedtest: included in front of SQLite's speedtest1.c, which then has a heap for its connection
 * (tarn/hooks/sqlite3.h). At the end it says on standard error whether SQLite's statistics were
 * tarn's. TARN_SPEEDTEST_CEILING, in bytes, is the heap's ceiling.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_BENCH_SPEEDTEST_H
#define TARN_BENCH_SPEEDTEST_H

#include <stdio.h>
#include <stdlib.h>
#include <tarn/hooks/sqlite3.h>

static inline int speedtest_initialize(void) { return tarn_sqlite3_install(NULL); }

static inline int speedtest_open(const char* name, sqlite3** db, int flags, const char* vfs) {
  const char* const ceiling = getenv("TARN_SPEEDTEST_CEILING");
  tarn_heap_options options = TARN_HEAP_OPTIONS(.name = "speedtest");
  if (ceiling != NULL) options.ceiling_bytes = strtoull(ceiling, NULL, 10);
  return tarn_sqlite3_open(name, db, flags, vfs, &options);
}

static inline int speedtest_close(sqlite3* db) {
  tarn_sqlite3_stats totals = TARN_SQLITE3_STATS();
  tarn_heap_stats heap = TARN_HEAP_STATS();
  sqlite3_int64 blocks = 0;
  sqlite3_int64 bytes = 0;
  sqlite3_int64 most = 0;
  tarn_sqlite3_get_totals(&totals);
  tarn_heap_get_stats(tarn_sqlite3_heap(db), &heap);
  sqlite3_status64(SQLITE_STATUS_MALLOC_COUNT, &blocks, &most, 0);
  sqlite3_status64(SQLITE_STATUS_MEMORY_USED, &bytes, &most, 0);
  fprintf(stderr, "statistics %s: %lld blocks of %lld bytes; %llu KiB committed at most\n",
          totals.blocks == (uint64_t)blocks && totals.block_bytes == (uint64_t)bytes ? "equal"
                                                                                     : "differ",
          (long long)blocks, (long long)bytes,
          (unsigned long long)heap.committed_bytes_peak / 1024);
  return tarn_sqlite3_close(db);
}

#define sqlite3_initialize speedtest_initialize
#define sqlite3_open_v2 speedtest_open
#define sqlite3_close speedtest_close

#endif
