# sqlite: a million inserts with an index, then sums, a sort, deletions and an integrity check.
#
# SPDX-License-Identifier: MIT
needs=sqlite3

run_case() {
  cat > script << 'END'
CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, value INTEGER);
CREATE INDEX by_name ON t(name);
BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
INSERT INTO t SELECT i, 'name ' || (i * 7919 % 1000003), i % 1000 FROM n;
COMMIT;
SELECT count(*), sum(value), min(name), max(length(name)) FROM t;
SELECT count(DISTINCT name) FROM t;
SELECT name FROM t ORDER BY value DESC, name LIMIT 1;
SELECT length(group_concat(name)) FROM (SELECT name FROM t LIMIT 100000);
DELETE FROM t WHERE id % 3 = 0;
UPDATE t SET name = name || ' again' WHERE id % 5 = 0;
SELECT count(*), sum(value) FROM t;
VACUUM;
PRAGMA integrity_check;
END
  sqlite3 :memory: < script > plain
  on_tarn sqlite3 :memory: < script > result || fail "sqlite3 failed"
  cmp plain result || fail "the answers differ: $(cat result)"
  expect "the first sum" "$(sed -n 1p result | cut -d '|' -f 1-2)" "1000000|499500000"
  expect "the integrity" "$(tail -n 1 result)" ok
  expect_account sqlite3
}
