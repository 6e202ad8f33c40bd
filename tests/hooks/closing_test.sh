#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# closing_test PROGRAM: no page is visited when a connection is closed, as instructions tell. (A
# heap that ends has some 350 for each 256 KiB: 6 for a page of 4 KiB; below 16 MiB it has smaller
# pieces.)
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

# For each page of the database, between so many rows and so many; two rows fit into one.
slope() {
  echo $((($(count "$3" "$1") - $(count "$2" "$1")) / (($3 - $2) / 2)))
}

ours=$(slope tarn 4000 12000)
theirs=$(slope sqlite 100 2000)
echo "closing: $ours instructions for each page of the database, SQLite's own: $theirs"
if [ "$ours" -ge 16 ]; then
  echo "pages are visited when a connection is closed" >&2
  exit 1
fi
if [ "$theirs" -lt 100 ]; then
  echo "the test does not see what it is about: SQLite's own closing takes no time" >&2
  exit 1
fi
