#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# paging_test: bench/paging refuses what it cannot use, and makes both tables and the JSON.
#
#   paging_test.sh BUILD_FOLDER          (status 3: this machine cannot limit memory)
set -euo pipefail

build=$1
paging=$(dirname "$0")/../paging
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "paging_test: $*" >&2
  exit 1
}

refused() {  # refused STATUS WORD OPTION...: it ends so, and says what to do.
  local expected=$1 word=$2 status=0
  shift 2
  "$paging" "$@" >/dev/null 2>"$folder/err" || status=$?
  [ $status -eq "$expected" ] || fail "$*: status $status: $(cat "$folder/err")"
  grep -q -- "$word" "$folder/err" || fail "$*: $(cat "$folder/err")"
}

refused 2 'give a number' --rounds 0
refused 2 'give at least' --iterations 10
refused 2 'give NAME=PATH' --library some
refused 2 'give NAME=PATH' --library some="$folder/no/such"
refused 1 'build the target lists' --build "$folder"

status=0
"$paging" --rounds 1 --iterations 100000 --build "$build" --output "$folder/paging.json" \
  --swap-dir "$folder" >"$folder/out" || status=$?
[ $status -ne 3 ] || exit 3
[ $status -eq 0 ] || fail "status $status"
[ "$(grep -c 'A heap per list reaches' "$folder/out")" -eq 3 ] || fail "$(cat "$folder/out")"
python3 - "$folder/paging.json" <<'CHECK'
import json, sys
free, first, second = json.load(open(sys.argv[1]))["conditions"]
assert set(free["samples"]) == {"glibc", "tarn", "heap", "bump"}, free["samples"].keys()
assert free["limit_bytes"] == 0 and first["limit_bytes"] > second["limit_bytes"] > 8 << 20
for samples in second["samples"].values():
    assert samples[0]["faults_major"] > 100, samples[0]
CHECK
[ -z "$(find "$folder" -name '*.swap')" ] || fail "left a swap file"
