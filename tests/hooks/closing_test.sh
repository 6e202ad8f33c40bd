#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# closing_test PROGRAM: no page is visited when a connection is closed, as instructions tell. (A
# heap that ends has some 350 for each 256 KiB: 6 for a page of 4 KiB.)
set -euo pipefail

program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The instructions of close_database, for so many rows and tarn or sqlite.
count() {
  local out=$folder/$2.$1
  valgrind --tool=callgrind --toggle-collect=close_database --callgrind-out-file="$out" \
    "$program" "$1" "$2" >"$folder/log" 2>&1 || { cat "$folder/log"; return 1; }
  awk '/^(summary|totals):/ {print $2; exit}' "$out"
}

few=$(count 100 tarn)
many=$(count 4000 tarn)
sqlite_few=$(count 100 sqlite)
sqlite_many=$(count 4000 sqlite)
pages=$(((4000 - 100) / 2))  # Two rows fit into one.
more=$(((many - few) / pages))
sqlite_more=$(((sqlite_many - sqlite_few) / pages))
echo "closing 100 rows: $few instructions; 4,000: $many, $more more for each page of the" \
  "database (SQLite's own: $sqlite_few, $sqlite_many, $sqlite_more)"
if [ "$more" -ge 16 ]; then
  echo "pages are visited when a connection is closed" >&2
  exit 1
fi
if [ "$sqlite_more" -lt 100 ]; then
  echo "the test does not see what it is about: SQLite's own closing takes no time" >&2
  exit 1
fi
