// sqlite_sharing: what connections share is nobody's: whichever is closed first, the others go on.
// In all modes of heaps: passthrough shows a use after the end to AddressSanitizer.
//
// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "../support/threads.hpp"
#include "sqlite.hpp"

namespace {

using sqlite::fill;
using sqlite::heap_options;
using sqlite::is_sound;
using sqlite::number;
using sqlite::run;

class Sharing : public sqlite::Sqlite, public testing::WithParamInterface<int> {
 protected:
  tarn_heap_options options = heap_options(GetParam());
};

// Closing a file while another connection has a lock on it: the unix VFS keeps the descriptor, and
// what belongs to it, for those who come later.
TEST_P(Sharing, OneFileClosedInAnyOrder) {
  for (int order = 0; order < 2; ++order) {
    sqlite3* const a = open(file("one.db"), &options);
    sqlite3* const b = open(file("one.db"), &options);
    ASSERT_EQ(fill(a, 200, 500), SQLITE_OK);
    sqlite3_stmt* reading = nullptr;  // b holds a lock,
    ASSERT_EQ(sqlite3_prepare_v2(b, "SELECT * FROM t", -1, &reading, nullptr), SQLITE_OK);
    ASSERT_EQ(sqlite3_step(reading), SQLITE_ROW);
    if (order == 0) {
      ASSERT_EQ(tarn_sqlite3_close(a), SQLITE_OK);  // while a goes.
      sqlite3* const c = open(file("one.db"), &options);
      ASSERT_EQ(number(c, "SELECT count(*) FROM t"), 200);
      ASSERT_EQ(tarn_sqlite3_close(c), SQLITE_OK);
      ASSERT_EQ(sqlite3_step(reading), SQLITE_ROW);
      sqlite3_finalize(reading);
      EXPECT_TRUE(is_sound(b));
      ASSERT_EQ(tarn_sqlite3_close(b), SQLITE_OK);
    } else {
      sqlite3_finalize(reading);
      ASSERT_EQ(tarn_sqlite3_close(b), SQLITE_OK);
      ASSERT_EQ(run(a, "DELETE FROM t"), SQLITE_OK);
      ASSERT_EQ(tarn_sqlite3_close(a), SQLITE_OK);
    }
    expect_equal_statistics();
  }
}

TEST_P(Sharing, OneWriteAheadLog) {
  sqlite3* const a = open(file("wal.db"), &options);
  ASSERT_EQ(run(a, "PRAGMA journal_mode = WAL"), SQLITE_OK);
  sqlite3* const b = open(file("wal.db"), &options);
  ASSERT_EQ(fill(a, 500, 500), SQLITE_OK);
  EXPECT_EQ(number(b, "SELECT count(*) FROM t"), 500);
  ASSERT_EQ(tarn_sqlite3_close(a), SQLITE_OK);
  ASSERT_EQ(fill(b, 500, 500), SQLITE_OK);
  sqlite3* const c = open(file("wal.db"), &options);
  ASSERT_EQ(tarn_sqlite3_close(b), SQLITE_OK);
  EXPECT_EQ(number(c, "SELECT count(*) FROM t"), 1000);
  EXPECT_TRUE(is_sound(c));
  ASSERT_EQ(tarn_sqlite3_close(c), SQLITE_OK);
}

TEST_P(Sharing, OneCache) {
  const int flags = sqlite::usual_flags | SQLITE_OPEN_SHAREDCACHE;
  for (int order = 0; order < 2; ++order) {
    sqlite3* a = open("file:shared?mode=memory&cache=shared", &options, flags);
    sqlite3* b = open("file:shared?mode=memory&cache=shared", &options, flags);
    ASSERT_EQ(fill(a, 2000, 300), SQLITE_OK);
    ASSERT_EQ(run(b,
                  "CREATE INDEX i ON t(b); CREATE TRIGGER r AFTER DELETE ON t BEGIN SELECT 1;"
                  "END; CREATE VIEW v AS SELECT * FROM t; ANALYZE"),
              SQLITE_OK);
    EXPECT_EQ(number(a, "SELECT count(*) FROM v"), 2000);
    EXPECT_EQ(stats(a).pages + stats(b).pages, 0u) << "the cache is everybody's";
    EXPECT_GT(stats(nullptr).pages, 100u);
    if (order != 0) std::swap(a, b);
    ASSERT_EQ(tarn_sqlite3_close(a), SQLITE_OK);
    EXPECT_EQ(number(b, "SELECT count(*) FROM v WHERE b > x'80'") >= 0, true);
    ASSERT_EQ(run(b, "DELETE FROM t WHERE a % 2; DROP INDEX i; DROP TRIGGER r"), SQLITE_OK);
    EXPECT_TRUE(is_sound(b));
    ASSERT_EQ(tarn_sqlite3_close(b), SQLITE_OK);
    EXPECT_EQ(all().blocks, 0u);
  }
}

TEST_P(Sharing, OneNamedMemoryFile) {
  sqlite3* const a = open("file:/shared?vfs=memdb", &options);
  sqlite3* const b = open("file:/shared?vfs=memdb", &options);
  ASSERT_EQ(fill(a, 1000, 300), SQLITE_OK);
  ASSERT_EQ(tarn_sqlite3_close(a), SQLITE_OK);
  EXPECT_EQ(number(b, "SELECT count(*) FROM t"), 1000);
  EXPECT_TRUE(is_sound(b));
  ASSERT_EQ(tarn_sqlite3_close(b), SQLITE_OK);
}

// Both connections' mutexes are held: pages are the caches', all else is everybody's, such as the
// write-ahead log of the source, which is opened by the first step.
TEST_P(Sharing, BackupsBetweenConnections) {
  for (int order = 0; order < 2; ++order) {
    sqlite3* from = open(file("from.db"), &options);
    ASSERT_EQ(run(from, "PRAGMA journal_mode = WAL; DROP TABLE IF EXISTS t"), SQLITE_OK);
    ASSERT_EQ(fill(from, 2000, 300), SQLITE_OK);
    ASSERT_EQ(tarn_sqlite3_close(from), SQLITE_OK);
    from = open(file("from.db"), &options);
    sqlite3* const to = open(":memory:", &options);
    sqlite3_backup* const backup = sqlite3_backup_init(to, "main", from, "main");
    ASSERT_NE(backup, nullptr);
    while (sqlite3_backup_step(backup, 10) == SQLITE_OK) {
    }
    ASSERT_EQ(sqlite3_backup_finish(backup), SQLITE_OK);
    ASSERT_EQ(tarn_sqlite3_close(order == 0 ? from : to), SQLITE_OK);
    sqlite3* const left = order == 0 ? to : from;
    EXPECT_EQ(number(left, "SELECT count(*) FROM t"), 2000);
    EXPECT_TRUE(is_sound(left));
    ASSERT_EQ(tarn_sqlite3_close(left), SQLITE_OK);
  }
}

// A function of one connection opens, uses and leaves another, which outlives it.
struct Inner {
  const tarn_heap_options* options;
  sqlite3* db;
  char* text;
};
void call_inside(sqlite3_context* context, int, sqlite3_value**) {
  auto* const inner = static_cast<Inner*>(sqlite3_user_data(context));
  tarn_sqlite3_open(":memory:", &inner->db, sqlite::usual_flags, nullptr, inner->options);
  tarn_sqlite3_begin_shared();
  inner->text = sqlite3_mprintf("kept %d", 7);
  tarn_sqlite3_end_shared();
  sqlite3_result_int(context, fill(inner->db, 500, 100));
}

TEST_P(Sharing, ConnectionsThatAreMadeInCallbacks) {
  sqlite3* const db = open(":memory:", &options);
  Inner inner{&options, nullptr, nullptr};
  ASSERT_EQ(
      sqlite3_create_function(db, "inside", 0, SQLITE_UTF8, &inner, call_inside, nullptr, nullptr),
      SQLITE_OK);
  EXPECT_EQ(number(db, "SELECT inside()"), SQLITE_OK);
  EXPECT_EQ(tarn_heap_of(inner.db).id, tarn_sqlite3_heap(inner.db).id);
  ASSERT_EQ(tarn_sqlite3_close(db), SQLITE_OK);
  EXPECT_EQ(number(inner.db, "SELECT count(*) FROM t"), 500);
  EXPECT_STREQ(inner.text, "kept 7");
  sqlite3_free(inner.text);
  ASSERT_EQ(tarn_sqlite3_close(inner.db), SQLITE_OK);
}

TEST_P(Sharing, AttachedAndSerializedFiles) {
  sqlite3* const other = open(file("attached.db"), &options);
  ASSERT_EQ(fill(other, 300, 300), SQLITE_OK);
  sqlite3* const db = open(":memory:", &options);
  const std::string attach = "ATTACH '" + file("attached.db") +
                             "' AS x;"
                             "CREATE TABLE main.t AS SELECT * FROM x.t;"
                             "CREATE VIRTUAL TABLE words USING fts5(w);"
                             "INSERT INTO words SELECT hex(b) FROM x.t; DETACH x";
  ASSERT_EQ(run(db, attach.c_str()), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_int64 bytes = 0;
  unsigned char* const image = sqlite3_serialize(db, "main", &bytes, 0);
  ASSERT_NE(image, nullptr);
  sqlite3* const copy = open(":memory:", &options);
  tarn_sqlite3_begin_shared();
  auto* const taken = static_cast<unsigned char*>(sqlite3_malloc64(sqlite3_uint64(bytes)));
  tarn_sqlite3_end_shared();
  std::memcpy(taken, image, std::size_t(bytes));
  sqlite3_free(image);  // Before its connection is closed: it is in there.
  ASSERT_EQ(tarn_sqlite3_close(db), SQLITE_OK);
  ASSERT_EQ(sqlite3_deserialize(copy, "main", taken, bytes, bytes,
                                SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE),
            SQLITE_OK);
  ASSERT_EQ(fill(copy, 300, 300), SQLITE_OK);
  EXPECT_EQ(number(copy, "SELECT count(*) FROM t"), 600);
  EXPECT_TRUE(is_sound(copy));
  ASSERT_EQ(tarn_sqlite3_close(copy), SQLITE_OK);
  ASSERT_EQ(tarn_sqlite3_close(other), SQLITE_OK);
  EXPECT_EQ(all().blocks, 0u);
}

// Threads that open, write, read and close one file, or one shared cache, as they come.
void work(const std::string& name, int flags, const tarn_heap_options* options, int rounds,
          unsigned seed, int* failures) {
  for (int i = 0; i < rounds; ++i) {
    sqlite3* db = nullptr;
    if (tarn_sqlite3_open(name.c_str(), &db, flags, nullptr, options) != SQLITE_OK) {
      ++*failures;
      continue;
    }
    sqlite3_busy_timeout(db, 20'000);
    run(db, "PRAGMA synchronous = OFF");
    const bool writes = (unsigned(i) + seed) % 2 == 0;
    const int result = run(db, writes ? "INSERT INTO t(b) VALUES (randomblob(3000))"
                                      : "SELECT max(b), count(*) FROM t ORDER BY b");
    // One that shares a cache is not made to wait.
    const bool shares = (flags & SQLITE_OPEN_SHAREDCACHE) != 0;
    if (result != SQLITE_OK && !(shares && (result & 0xff) == SQLITE_LOCKED)) ++*failures;
    if (tarn_sqlite3_close(db) != SQLITE_OK) ++*failures;
  }
}

TEST_P(Sharing, ThreadsThatComeAndGo) {
  const int rounds = GetParam() == TARN_MODE_FAST ? 60 : 20;
  for (const bool shares : {false, true}) {
    const int flags = sqlite::usual_flags | (shares ? SQLITE_OPEN_SHAREDCACHE : 0);
    const std::string name = shares ? file("cache.db") : file("threads.db");
    sqlite3* const first = open(name, &options);
    ASSERT_EQ(run(first, "PRAGMA journal_mode = WAL"), SQLITE_OK);
    ASSERT_EQ(fill(first, 50, 300), SQLITE_OK);
    std::vector<std::thread> threads;
    int failures[3] = {};
    for (unsigned t = 0; t < 3; ++t) {
      threads.emplace_back(work, name, flags, &options, rounds, t, &failures[t]);
    }
    std::atomic<bool> is_over = false;
    std::thread watcher([&] {  // Somebody who looks on.
      while (!is_over) {
        EXPECT_GE(all().heaps, 4u);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    for (auto& thread : threads) thread.join();
    is_over = true;
    watcher.join();
    for (const int failed : failures) EXPECT_EQ(failed, 0);
    EXPECT_TRUE(is_sound(first));
    expect_equal_statistics();
    ASSERT_EQ(tarn_sqlite3_close(first), SQLITE_OK);
    EXPECT_EQ(all().blocks, 0u);
    EXPECT_EQ(all().pages, 0u);
  }
}

// SQLite's own threads have no mutex: what they allocate is everybody's, and goes as usual.
TEST_P(Sharing, ThreadsThatSort) {
  sqlite3* const db = open(file("sorted.db"), &options);
  ASSERT_EQ(run(db, "PRAGMA threads = 3; PRAGMA cache_size = 50; PRAGMA temp_store = FILE"),
            SQLITE_OK);
  ASSERT_EQ(fill(db, 20'000, 100), SQLITE_OK);
  EXPECT_EQ(number(db,
                   "SELECT count(*) FROM (SELECT b, lag(b) OVER (ORDER BY b) AS a FROM t)"
                   " WHERE a > b"),
            0);
  ASSERT_EQ(run(db, "CREATE INDEX i ON t(b)"), SQLITE_OK);
  EXPECT_TRUE(is_sound(db));
  expect_equal_statistics();
  ASSERT_EQ(tarn_sqlite3_close(db), SQLITE_OK);
  EXPECT_EQ(all().blocks, 0u);
}

// What a connection registers for all.
int extension_calls = 0;
int extend(sqlite3* db, char**, const sqlite3_api_routines*) {
  ++extension_calls;
  return run(db, "CREATE TEMP TABLE extended(a)");
}
void register_inside(sqlite3_context* context, int, sqlite3_value**) {
  sqlite3_result_int(context, sqlite3_auto_extension(reinterpret_cast<void (*)()>(extend)));
}
TEST_P(Sharing, ExtensionsForAll) {
  extension_calls = 0;
  sqlite3* const first = open(":memory:", &options);
  ASSERT_EQ(sqlite3_create_function(first, "register", 0, SQLITE_UTF8, nullptr, register_inside,
                                    nullptr, nullptr),
            SQLITE_OK);
  EXPECT_EQ(number(first, "SELECT register()"), SQLITE_OK);
  ASSERT_EQ(tarn_sqlite3_close(first), SQLITE_OK);
  sqlite3* const second = open(":memory:", &options);
  EXPECT_EQ(extension_calls, 1);
  EXPECT_EQ(number(second, "SELECT count(*) FROM extended"), 0);
  ASSERT_EQ(tarn_sqlite3_close(second), SQLITE_OK);
  sqlite3_reset_auto_extension();
}

// One connection, several threads: its mutex orders them.
TEST_P(Sharing, OneConnectionOfSeveralThreads) {
  sqlite3* const db = open(":memory:", &options);
  ASSERT_EQ(fill(db, 50, 300), SQLITE_OK);
  int failures[3] = {};
  support::each_in_threads(failures, [db](int& failed) {
    for (int i = 0; i < 100; ++i) {
      if (run(db, "INSERT INTO t(b) VALUES (randomblob(2000)); SELECT count(*) FROM t")) ++failed;
    }
  });
  for (const int failed : failures) EXPECT_EQ(failed, 0);
  EXPECT_EQ(number(db, "SELECT count(*) FROM t"), 350);
  expect_equal_statistics();
  ASSERT_EQ(tarn_sqlite3_close(db), SQLITE_OK);
}

INSTANTIATE_TEST_SUITE_P(Modes, Sharing,
                         testing::Values(TARN_MODE_FAST, TARN_MODE_CHECKED, TARN_MODE_PASSTHROUGH),
                         [](const auto& info) {
                           return std::string(info.param == TARN_MODE_FAST      ? "fast"
                                              : info.param == TARN_MODE_CHECKED ? "checked"
                                                                                : "passthrough");
                         });

}  // namespace
