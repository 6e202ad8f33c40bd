// sqlite_refusals: for every n, the n-th request for memory of SQLite's hook is refused: that one
// alone, or all from there on. SQLite says SQLITE_NOMEM or goes on, and when all is closed nothing
// is left. The hook is compiled here with functions in the place of tarn's.
//
// SPDX-License-Identifier: MIT
#include "tarn/tarn.h"

#include <cerrno>

namespace {

struct Refusals {
  long calls = 0;
  long first = 0;  // 0: none.
  bool goes_on = false;

  bool next() {
    ++calls;
    const bool refused = first != 0 && (goes_on ? calls >= first : calls == first);
    if (refused) errno = ENOMEM;
    return refused;
  }
};
Refusals refusals;

void* tested_malloc(std::size_t bytes) { return refusals.next() ? nullptr : tarn_malloc(bytes); }
void* tested_calloc(std::size_t count, std::size_t bytes) {
  return refusals.next() ? nullptr : tarn_calloc(count, bytes);
}
void* tested_allocate(tarn_heap heap, std::size_t bytes) {
  return refusals.next() ? nullptr : tarn_heap_allocate(heap, bytes);
}
void* tested_allocate_zeroed(tarn_heap heap, std::size_t count, std::size_t bytes) {
  return refusals.next() ? nullptr : tarn_heap_allocate_zeroed(heap, count, bytes);
}
void* tested_reallocate(tarn_heap heap, void* p, std::size_t bytes) {
  return refusals.next() ? nullptr : tarn_heap_reallocate(heap, p, bytes);
}
void* tested_fixed_allocate(tarn_fixed fixed) {
  return refusals.next() ? nullptr : tarn_fixed_allocate(fixed);
}
tarn_fixed tested_fixed(tarn_heap heap, std::size_t bytes, std::size_t alignment) {
  return refusals.next() ? tarn_fixed{} : tarn_heap_fixed(heap, bytes, alignment);
}
tarn_heap tested_create(const tarn_heap_options* options) {
  return refusals.next() ? tarn_heap{} : tarn_heap_create(options);
}

}  // namespace

#define tarn_malloc tested_malloc
#define tarn_calloc tested_calloc
#define tarn_heap_allocate tested_allocate
#define tarn_heap_allocate_zeroed tested_allocate_zeroed
#define tarn_heap_reallocate tested_reallocate
#define tarn_fixed_allocate tested_fixed_allocate
#define tarn_heap_fixed tested_fixed
#define tarn_heap_create tested_create
#include "sqlite.hpp"

namespace {

using sqlite::run;

bool is_no_memory(int result) { return result == SQLITE_NOMEM || result == SQLITE_IOERR_NOMEM; }

TEST(RefusalsOfInstall, LeaveSqliteAsItWas) {
  long n = 1;
  for (;; ++n) {
    refusals = {0, n, false};
    const int result = tarn_sqlite3_install(nullptr);
    const bool is_over = refusals.calls < n;
    refusals = {};
    if (result == SQLITE_OK) {
      ASSERT_EQ(tarn_sqlite3_remove(), SQLITE_OK);
    }
    if (is_over) break;
    ASSERT_TRUE(result == SQLITE_OK || is_no_memory(result)) << result << " at " << n;
    sqlite3_free(sqlite3_malloc(10));  // It is usable, without heaps.
    ASSERT_EQ(sqlite3_shutdown(), SQLITE_OK);
  }
  EXPECT_GT(n, 5);
}

class RefusalsOfAll : public sqlite::Sqlite, public testing::WithParamInterface<bool> {
 protected:
  const tarn_heap_options options = sqlite::heap_options(TARN_MODE_PASSTHROUGH);

  sqlite3* try_to_open(const std::string& name, int flags = sqlite::usual_flags) {
    sqlite3* db = nullptr;
    const int result = tarn_sqlite3_open(name.c_str(), &db, flags, nullptr, &options);
    EXPECT_TRUE(result == SQLITE_OK || is_no_memory(result)) << result << refusals.first;
    EXPECT_EQ(result == SQLITE_OK, db != nullptr);
    return db;
  }

  // Some of everything; closed in another way each time.
  void work(long n) {
    sqlite3* const a = try_to_open(":memory:");
    sqlite3* const b = try_to_open("file:refused?mode=memory&cache=shared",
                                   sqlite::usual_flags | SQLITE_OPEN_SHAREDCACHE);
    run(a, "CREATE TABLE t(a INTEGER PRIMARY KEY, b UNIQUE)");
    run(a,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)"
        "INSERT INTO t(b) SELECT randomblob(900) FROM n");
    run(a, "CREATE TEMP TABLE s AS SELECT hex(b) FROM t ORDER BY b; PRAGMA shrink_memory");
    run(b, "CREATE TABLE u(a, b); INSERT INTO u VALUES (1, zeroblob(3000))");
    if (a != nullptr && b != nullptr) {
      if (sqlite3_backup* const backup = sqlite3_backup_init(b, "temp", a, "main")) {
        sqlite3_backup_step(backup, -1);
        sqlite3_backup_finish(backup);
      }
    }
    sqlite3_stmt* statement = nullptr;
    if (a != nullptr) sqlite3_prepare_v2(a, "SELECT 1", -1, &statement, nullptr);
    if (statement != nullptr && n % 3 == 0) {
      EXPECT_EQ(tarn_sqlite3_close(a), SQLITE_BUSY);
    }
    if (n % 3 == 1) {
      EXPECT_EQ(sqlite3_close_v2(a), SQLITE_OK);
      sqlite3_finalize(statement);
    } else {
      sqlite3_finalize(statement);
      EXPECT_EQ(tarn_sqlite3_close(a), SQLITE_OK);
    }
    EXPECT_EQ(tarn_sqlite3_close(b), SQLITE_OK);
  }
};

TEST_P(RefusalsOfAll, LeaveNothing) {
  constexpr long step = TARN_REFUSAL_STEP;  // Some are left out where it takes long.
  long n = 1;
  for (bool is_over = false; !is_over; n += step) {
    refusals = {0, n, GetParam()};
    work(n);
    is_over = refusals.calls < n;
    refusals = {};
    ASSERT_EQ(all().heaps, 2u) << n;
    ASSERT_EQ(all().blocks, 0u) << n;
    ASSERT_EQ(all().pages, 0u) << n;
    expect_equal_statistics();
    ASSERT_FALSE(HasFailure()) << n;
  }
  EXPECT_GT(n, 500);
}

INSTANTIATE_TEST_SUITE_P(All, RefusalsOfAll, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "from_there_on" : "once");
});

}  // namespace
